"""The path of a crop through a shot: it follows what matters, and moves no quicker than an operator would."""

import numpy as np

from vidsum.types import FloatArray, TimeArray

SPEED = 0.5  # fastest that a crop moves, in its own lengths a second
_MOVING_COST = 0.5  # cost of moving by the length of a crop, in scores times seconds
_EASE_S = 0.8  # a move is smoothed by a mean over this time on either side
_OFF_CENTRE_COST = 1e-6


def plan_path(times_s: TimeArray, scores: FloatArray, share: float) -> FloatArray:
    """Return [T] where a crop begins at each time of a shot, from 0 to 1 of its way.

    It maximises scores less the cost of moving (by Viterbi's algorithm), then eases moves, never quicker than
    `SPEED`. `times_s` [T] rise; `scores` [T, P] are the shares of what matters that P positions show; `share`
    is the length of the crop over the length of the picture.
    """
    n_times, n_positions = scores.shape
    positions = np.linspace(0, 1, n_positions)
    cost = _MOVING_COST * np.abs(positions[:, None] - positions) * (1 - share) / share
    steps_s = np.diff(times_s, append=2 * times_s[-1] - times_s[-2] if n_times > 1 else times_s[0] + 1)
    total = scores[0] * steps_s[0] - _OFF_CENTRE_COST * np.abs(positions - 0.5)
    before = np.zeros((n_times, n_positions), np.intp)
    for number in range(1, n_times):
        reach = _MOVING_COST * SPEED * steps_s[number - 1] + 1e-9
        reachable = np.where(cost <= reach, total - cost, -np.inf)
        before[number] = reachable.argmax(axis=1)
        total = reachable.max(axis=1) + scores[number] * steps_s[number]
    chosen = [int(total.argmax())]
    for number in range(n_times - 1, 0, -1):
        chosen.append(int(before[number, chosen[-1]]))
    around_s = np.linspace(-_EASE_S, _EASE_S, 9)
    path = np.interp(times_s[:, None] + around_s, times_s, positions[chosen[::-1]])
    return np.asarray(path.mean(axis=1))
