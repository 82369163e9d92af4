"""Measures of moment retrieval: recall of the best moments at an IoU, and the mean IoU of the best one."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from vidsum.errors import UsageError
from vidsum.intervals import iou
from vidsum.types import Moment, TimeArray

Comparison = Literal["mmn", "2d-tan"]
COMPARISONS: tuple[Comparison, ...] = ("mmn", "2d-tan")
"""When a moment counts as found: its IoU is at least the threshold (MMN, MRNet), or above it (2D-TAN)."""

TOP = (1, 5)
"""The n of R@n: how many of the best moments may hold the right one."""
THRESHOLDS = (0.1, 0.3, 0.5, 0.7)
"""The IoU of the published tables."""
CURVE = tuple(round(0.05 * step, 2) for step in range(1, 20))
"""The IoU of the curve of R@1."""


@dataclass(frozen=True)
class MomentMeasures:
    """How well the moments of a set of queries were found: shares, not per cent."""

    recall: Mapping[tuple[int, float], float]
    """(n, IoU) -> share of the queries that have a right moment among their n best."""
    miou: float
    """Mean IoU of the best moment."""
    curve: tuple[float, ...]
    """R@1 at each IoU of `CURVE`."""


def best_ious(moments: TimeArray, windows: TimeArray) -> TimeArray:
    """IoU of each moment with that right window of its query that it meets best.

    Args:
        moments: [..., Q, K, 2] of Q queries, best first.
        windows: [Q, W, 2] what is right.

    Returns:
        [..., Q, K]
    """
    best: TimeArray = iou(moments, windows).max(axis=-1, initial=0.0)
    return best


def count_empty(answers: Iterable[Iterable[Moment]]) -> int:
    """How many of the moments of some queries end where they start: their IoU is 0 with whatever is right."""
    return sum(moment.end_s <= moment.start_s for moments in answers for moment in moments)


def measure(ious: TimeArray, comparison: Comparison) -> MomentMeasures:
    """The measures of what `best_ious` gives.

    Args:
        ious: [Q, K] of Q >= 1 queries, or [draws, Q, K]: the mean over draws.
        comparison: one of `COMPARISONS`.

    Raises:
        UsageError: there is no such comparison, or no query.
    """
    if comparison not in COMPARISONS:
        raise UsageError(f"there is no comparison {comparison!r}", hint=", ".join(COMPARISONS))
    if not ious.size:
        raise UsageError("there is no query to evaluate on")
    best_of = {top: ious[..., :top].max(axis=-1) for top in TOP}
    return MomentMeasures(
        recall={(top, at): _share(best_of[top], at, comparison) for top in TOP for at in THRESHOLDS},
        miou=float(ious[..., 0].mean()),
        curve=tuple(_share(ious[..., 0], at, comparison) for at in CURVE),
    )


def _share(ious: TimeArray, threshold: float, comparison: Comparison) -> float:
    return float((ious >= threshold if comparison == "mmn" else ious > threshold).mean())
