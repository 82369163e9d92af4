"""Greedy temporal non-maximum suppression: of moments that overlap too much, the best stays."""

from collections.abc import Iterable

from vidsum.errors import UsageError
from vidsum.intervals import iou
from vidsum.types import Moment


def suppress(moments: Iterable[Moment], max_iou: float, top_k: int) -> list[Moment]:
    """The first `top_k` moments of which none overlaps an earlier one by more than `max_iou`.

    Args:
        moments: best first; no more of them are looked at than needed.
        max_iou: largest intersection over union, in [0, 1], with a moment that stays.
        top_k: most moments to keep.

    Raises:
        UsageError: `max_iou` or `top_k` makes no sense.
    """
    if not 0 <= max_iou <= 1:
        raise UsageError(f"the largest overlap of moments lies in [0, 1], not {max_iou}")
    if top_k < 1:
        raise UsageError(f"top_k must be at least 1, not {top_k}")
    kept: list[Moment] = []
    for moment in moments:
        stretches = [(one.start_s, one.end_s) for one in kept]
        if not kept or iou([(moment.start_s, moment.end_s)], stretches).max() <= max_iou:
            kept.append(moment)
            if len(kept) == top_k:
                break
    return kept
