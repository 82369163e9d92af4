"""From the cuts that a detector saw to shots that obey the limits: short shots are joined, long ones
split."""

import math
from itertools import pairwise

import numpy as np

from vidsum.types import TimeArray


def edges_between(
    cuts_s: TimeArray,
    duration_s: float,
    *,
    max_shots: int | None = None,
    min_shot_s: float = 0.0,
    max_shot_s: float = math.inf,
) -> TimeArray:
    """Edges of the shots between cuts.

    While a shot is shorter than `min_shot_s`, or there are more than `max_shots`, the shortest shot (the
    first, if several are) is joined to its shorter neighbour (the one before, if both are equal). After that,
    a shot longer than `max_shot_s` is split into the fewest equal shots that are not.

    Args:
        cuts_s: seconds, in any order; those that are not inside the video are left out.
        duration_s: length of the video.

    Returns:
        [S + 1] seconds, from 0 to `duration_s`.
    """
    inside = np.unique(cuts_s[(cuts_s > 0) & (cuts_s < duration_s)])
    edges = np.concatenate([[0.0], inside, [duration_s]])
    while len(edges) > 2:
        lengths = np.diff(edges)
        shortest = int(lengths.argmin())
        if lengths[shortest] >= min_shot_s and len(lengths) <= (max_shots or math.inf):
            break
        edges = np.delete(edges, shortest if _joins_before(lengths, shortest) else shortest + 1)
    pieces = [
        np.linspace(start, end, max(1, math.ceil((end - start) / max_shot_s - 1e-9)), endpoint=False)
        for start, end in pairwise(edges)
    ]
    return np.concatenate([*pieces, [duration_s]])


def _joins_before(lengths: TimeArray, shot: int) -> bool:
    if shot == 0:
        return False
    return shot == len(lengths) - 1 or bool(lengths[shot - 1] <= lengths[shot + 1])
