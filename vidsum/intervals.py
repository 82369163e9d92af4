"""Intervals: one IoU for proposals, non-maximum suppression and evaluation; sets of them as one array."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from vidsum.types import Interval, TimeArray

UnionRule = Literal["hull", "lengths"]
"""The union of two intervals that overlap: last end - first start, as the field's measures of a single moment
have it, or the sum of their lengths less what is common, as QVHighlights' average precision has it."""


def iou(a: npt.ArrayLike, b: npt.ArrayLike, union: UnionRule = "hull") -> TimeArray:
    """Return the temporal intersection over union of each interval of one set with each of another.

    Args:
        a: [N, 2] pairs (start, end), in seconds or any other unit; or many such sets, [..., N, 2].
        b: [M, 2], or [..., M, 2].
        union: how it is computed. The two ways differ by rounding alone, which decides where an IoU is a
            threshold: [0, 4.95] in [0, 9.9] has 0.5 by the hull and less by the lengths.

    Returns:
        [N, M] in [0, 1], or [..., N, M]; 0 for what does not overlap, as an empty or inverted interval.
    """
    left, right = _sets(a)[..., :, None, :], _sets(b)[..., None, :, :]
    common = np.minimum(left[..., 1], right[..., 1]) - np.maximum(left[..., 0], right[..., 0])
    if union == "hull":
        either = np.maximum(left[..., 1], right[..., 1]) - np.minimum(left[..., 0], right[..., 0])
    else:
        either = (left[..., 1] - left[..., 0]) + (right[..., 1] - right[..., 0]) - common
    shares: TimeArray = np.divide(common, either, out=np.zeros_like(common), where=common > 0)
    return shares


def _sets(intervals: npt.ArrayLike) -> TimeArray:
    array: TimeArray = np.asarray(intervals, np.float64)
    return array if array.ndim > 1 else array.reshape(-1, 2)


def stack_intervals(sets: Sequence[Sequence[Interval]], max_count: int | None = None) -> TimeArray:
    """Return sets of intervals as one array [Q, K, 2], padded with empty intervals, whose IoU is 0.

    Each of Q queries has some intervals, or none, of which the first `max_count` are taken.
    """
    length = max(map(len, sets), default=0) if max_count is None else max_count
    empty = [(0.0, 0.0)] * length
    filled = [[*intervals[:length], *empty[len(intervals) :]] for intervals in sets]
    return np.array(filled, np.float64).reshape(len(sets), length, 2)


_FIRST_S = 0.5


def clip_interval(span: Interval, duration_s: float) -> Interval:
    """Return a span clipped to the video; speech before the first picture becomes the first half second."""
    low_s, high_s = span if span[1] > 0 else (0.0, _FIRST_S)
    return max(0.0, low_s), min(high_s, duration_s)
