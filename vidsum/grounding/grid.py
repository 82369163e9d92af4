"""One grid of clips for features that have different ones."""

import numpy as np
import numpy.typing as npt

from vidsum.types import Features, FloatArray, TimeArray

_BLOCK = 512
"""Clips of the grid at a time: sums in float64 of a long video and a thousand classes are large."""


def grid(duration_s: float, step_s: float) -> TimeArray:
    """[T] seconds at which the clips of a video begin; T is at least 1."""
    return np.arange(max(1, int(np.ceil(duration_s / step_s - 1e-6))), dtype=np.float64) * step_s


def on_grid(rows: FloatArray, features: Features, times: TimeArray, step_s: float) -> FloatArray:
    """Rows [N, K] about the features' clips as rows [T, K] about the clips of a grid.

    Each is the mean of those whose clips share time with it, weighted by the time shared. Where there are
    none, at the end or in a gap, it is the nearest.
    """
    laid = np.empty((len(times), rows.shape[1]), np.float32)
    for start in range(0, len(times), _BLOCK):
        block = slice(start, start + _BLOCK)
        laid[block] = _on_block(rows, features, times[block], step_s)
    return laid


def _on_block(rows: FloatArray, features: Features, times: TimeArray, step_s: float) -> TimeArray:
    """The same in float64, for a few clips of the grid."""
    begins, ends = features.timestamps, features.timestamps + features.covers_s
    first = np.searchsorted(ends, times, side="right")
    after = np.searchsorted(begins, times + step_s, side="left")
    total, shared = np.zeros((len(times), rows.shape[1])), np.zeros(len(times))
    for offset in range(int((after - first).max(initial=0))):
        number = np.minimum(first + offset, len(rows) - 1)
        common = np.minimum(ends[number], times + step_s) - np.maximum(begins[number], times)
        common = np.where(first + offset < after, common, 0.0)
        total += common[:, None] * rows[number]
        shared += common
    alone = shared == 0
    total[alone], shared[alone] = rows[_nearest(times[alone] + step_s / 2, (begins + ends) / 2)], 1.0
    total /= shared[:, None]
    return total


def _nearest(times: TimeArray, of: TimeArray) -> npt.NDArray[np.int64]:
    """[T] number of the one of the increasing times `of` that is nearest to each of `times`."""
    after = np.searchsorted(of, times).clip(1, max(len(of) - 1, 1))
    before = after - 1
    after = np.minimum(after, len(of) - 1)
    return np.where(times - of[before] <= of[after] - times, before, after).astype(np.int64)
