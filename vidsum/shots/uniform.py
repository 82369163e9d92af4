"""Shots of equal length."""

import math

import numpy as np

from vidsum.errors import UsageError
from vidsum.types import TimeArray


def equal_edges(
    duration_s: float,
    shot_s: float,
    *,
    max_shots: int | None = None,
    min_shot_s: float = 0.0,
    max_shot_s: float = math.inf,
) -> TimeArray:
    """Edges of equal shots: as many as make their length nearest to `shot_s` within the limits.

    A video shorter than `min_shot_s` is one shot.

    Returns:
        [S + 1] seconds, from 0 to `duration_s`.

    Raises:
        UsageError: no number of shots obeys the limits.
    """
    most = max(1, math.floor(duration_s / min_shot_s + 1e-9)) if min_shot_s > 0 else math.inf
    most = min(most, max_shots or math.inf)
    fewest = max(1, math.ceil(duration_s / max_shot_s - 1e-9))
    if fewest > most:
        raise UsageError(
            f"{duration_s:g} s cannot be cut into equal shots within the limits: "
            f"at least {fewest} would be needed, at most {most} are allowed"
        )
    count = int(min(max(round(duration_s / shot_s), fewest), most))
    return np.linspace(0.0, duration_s, count + 1)
