"""Edges of shots within limits: equal shots, or shots between detected cuts, joined and split where needed.

`max_shots`, `min_shot_s` and `max_shot_s` are the limits. Edges are [S + 1] seconds, from 0 to `duration_s`.
"""

import math
from itertools import pairwise

import numpy as np

from vidsum.errors import UsageError
from vidsum.types import TimeArray


def equal_edges(
    duration_s: float,
    shot_s: float,
    max_shots: int | None = None,
    min_shot_s: float = 0.0,
    max_shot_s: float = math.inf,
) -> TimeArray:
    """Edges of equal shots: as many as make their length nearest to `shot_s` within the limits.

    A video shorter than `min_shot_s` is one shot. Raises UsageError where no number obeys the limits.
    """
    most = max(1, math.floor(duration_s / min_shot_s + 1e-9)) if min_shot_s > 0 else math.inf
    most = min(most, max_shots or math.inf)
    fewest = max(1, math.ceil(duration_s / max_shot_s - 1e-9))
    if fewest > most:
        counts = f"at least {fewest} would be needed, at most {most} are allowed"
        raise UsageError(f"{duration_s:g} s cannot be cut into equal shots within the limits: {counts}")
    count = int(min(max(round(duration_s / shot_s), fewest), most))
    return np.linspace(0.0, duration_s, count + 1)


def edges_between(
    cuts_s: TimeArray,
    duration_s: float,
    max_shots: int | None = None,
    min_shot_s: float = 0.0,
    max_shot_s: float = math.inf,
) -> TimeArray:
    """Edges of the shots between cuts.

    While a shot is shorter than `min_shot_s`, or there are more than `max_shots`, the shortest shot (the
    first, if several are) is joined to its shorter neighbour (the one before, if both are equal). After that,
    a shot longer than `max_shot_s` is split into the fewest equal shots that are not. `cuts_s` may be in any
    order; those outside the video are left out.
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
