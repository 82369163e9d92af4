"""Grids of clips and sliding windows: how features of any rate, and videos of any length, reach a model.

Features with different clips are resampled to one grid. A model that reads a limited number of clips then
reads overlapping windows of that grid; then windows four times as long, of clips four times as long, until
one window is the whole video. A moment is taken from windows that hold all of it: a short one from short
windows, in fine steps of time, a long one from long windows.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vidsum.results.features import Features
from vidsum.types import FloatArray, TimeArray

_BLOCK = 512  # clips of the grid at a time: sums in float64 of a long video and a thousand classes are large
_GROWTH = 4  # ratio of window lengths: some window holds all of a moment of an eighth of it


@dataclass(frozen=True, eq=False)
class WindowProposals:
    """The W sliding windows of a video, short ones first, and where the N proposals of each lie."""

    intervals_s: TimeArray  # [W, N, 2] start and end of each proposal in the video
    is_whole: npt.NDArray[np.bool_]  # [W, N] False where it may go on outside, or begins after the video


def grid(duration_s: float, step_s: float) -> TimeArray:
    """Return [T] seconds at which the clips of a video begin; T is at least 1."""
    return np.arange(max(1, int(np.ceil(duration_s / step_s - 1e-6))), dtype=np.float64) * step_s


def to_grid(
    rows: FloatArray,
    features: Features,
    times: TimeArray,
    step_s: float,
    convert: Callable[[FloatArray], FloatArray] = np.asarray,
) -> FloatArray:
    """Return rows [N, K] about the features' clips as rows [T, K] about the clips of a grid.

    Each row is the mean of the rows whose clips overlap its clip, weighted by the common time; else the
    nearest row. `convert` makes the averaged values from a few rows at a time: the values of all rows of a
    long video would be large.
    """
    placed = np.empty((len(times), rows.shape[1]), np.float32)
    for start in range(0, len(times), _BLOCK):
        block = slice(start, start + _BLOCK)
        placed[block] = _block_to_grid(rows, features, times[block], step_s, convert)
    return placed


def resample_clips(rows: FloatArray, step_s: float, clip_s: float, most: int) -> FloatArray:
    """Return [T, D + 2] clips of `clip_s`, or at most `most`, of rows [N, D] of `step_s` of a window."""
    return with_endpoints(resample(rows, count_clips(len(rows), step_s, clip_s, most)))


def count_clips(n_rows: int, step_s: float, clip_s: float, most: int) -> int:
    """Return the number of clips that `resample_clips` makes of a window."""
    return max(1, min(most, math.ceil(n_rows * step_s / clip_s - 1e-9)))


def with_endpoints(rows: FloatArray) -> FloatArray:
    """Return [T, D + 2]: row t of clips [T, D], then t / T and (t + 1) / T, as for Moment-DETR."""
    starts = np.arange(len(rows), dtype=np.float32) / np.float32(len(rows))
    return np.column_stack([rows, starts, starts + np.float32(1 / len(rows))])


def sliding_windows(shortest: int, n_rows: int) -> tuple[slice, ...]:
    """Return the rows of the grid in each window: `shortest` rows first, in the last window all `n_rows`."""
    windows: list[slice] = []
    length = max(1, shortest)
    while not windows or windows[-1] != slice(0, n_rows):
        windows += _windows_of_length(length, n_rows)
        length *= _GROWTH
    return tuple(windows)


def place_proposals(
    windows: Sequence[slice],
    fractions: TimeArray,
    step_s: float,
    duration_s: float,
    margins: TimeArray | float,
) -> WindowProposals:
    """Return the proposals of a model by their positions in the video.

    Args:
        windows: from `sliding_windows`, on a grid of clips of `step_s` seconds.
        fractions: [N, 2] of a window at which each proposal starts and ends, or [W, N, 2] where each window
            has its own.
        step_s, duration_s: the last clip of the grid may reach beyond the video's end.
        margins: fraction of a window, or [W, 1] of each, within which a proposal touches the window's edge.
    """
    starts, ends = np.array([(window.start, window.stop) for window in windows]).T[..., None]
    intervals = (starts * step_s)[..., None] + fractions * ((ends - starts) * step_s)[..., None]
    intervals = np.minimum(intervals, duration_s)
    has_begun = (fractions[..., 0] > margins) | (starts == 0)
    has_ended = (fractions[..., 1] < 1 - margins) | (ends == ends.max())
    is_in_video = intervals[..., 1] > intervals[..., 0]
    return WindowProposals(intervals, has_begun & has_ended & is_in_video)


def best_at(intervals_s: TimeArray, scores: FloatArray, times: TimeArray) -> FloatArray:
    """Return [T] the highest of scores [N] whose intervals [N, 2] have the instant; else the lowest."""
    curve = np.full(len(times), scores.min(), np.float32)
    order = np.argsort(scores, kind="stable")
    places = np.searchsorted(times, intervals_s[order]).tolist()
    for (first, after), score in zip(places, scores[order].tolist(), strict=True):
        curve[first:after] = score
    return curve


def clamp_spans(spans: FloatArray, shortest: TimeArray, ends: TimeArray) -> TimeArray:
    """Clip spans [W, N, 2], as fractions of windows, to [0, ends], and lengthen them to `shortest`."""
    starts, stops = np.moveaxis(spans.astype(np.float64), -1, 0).clip(0, ends)
    lengths = np.minimum(np.maximum(stops - starts, shortest), ends)
    starts = ((starts + stops - lengths) / 2).clip(0, ends - lengths)
    return np.stack([starts, starts + lengths], axis=-1)


def merge_curves(windows: Sequence[slice], curves: Sequence[FloatArray]) -> FloatArray:
    """Return [T] the mean of the curves [t] of the shortest windows, whose clips are the finest."""
    n_rows, length = windows[-1].stop, windows[0].stop
    total, count = np.zeros(n_rows), np.zeros(n_rows)
    middles = (np.arange(length) + 0.5) / length  # a clip holds the rows whose middles it has, see `resample`
    for window, curve in zip(windows, curves, strict=True):
        if window.stop - window.start == length:
            total[window] += curve[(middles * len(curve)).astype(np.int64)]
            count[window] += 1
    return np.asarray(total / count, np.float32)


def _block_to_grid(
    rows: FloatArray,
    features: Features,
    times: TimeArray,
    step_s: float,
    convert: Callable[[FloatArray], FloatArray],
) -> TimeArray:
    """Resample rows to a few clips of the grid, in float64; see `to_grid`."""
    starts, ends = features.timestamps, features.timestamps + features.covers_s
    first = np.searchsorted(ends, times, side="right")
    after = np.searchsorted(starts, times + step_s, side="left")
    total, total_s = np.zeros((len(times), rows.shape[1])), np.zeros(len(times))
    for offset in range(int((after - first).max(initial=0))):
        number = np.minimum(first + offset, len(rows) - 1)
        common_s = np.minimum(ends[number], times + step_s) - np.maximum(starts[number], times)
        common_s = np.where(first + offset < after, common_s, 0.0)
        total += common_s[:, None] * convert(rows[number])
        total_s += common_s
    alone = total_s == 0
    nearest = _nearest(times[alone] + step_s / 2, (starts + ends) / 2)
    total[alone], total_s[alone] = convert(rows[nearest]), 1.0
    total /= total_s[:, None]
    return total


def _nearest(times: TimeArray, candidates: TimeArray) -> npt.NDArray[np.int64]:
    """Return [T] index of the increasing `candidates` that is nearest to each of `times`."""
    after = np.searchsorted(candidates, times).clip(1, max(len(candidates) - 1, 1))
    before = after - 1
    after = np.minimum(after, len(candidates) - 1)
    is_before = times - candidates[before] <= candidates[after] - times
    return np.where(is_before, before, after).astype(np.int64)


def _windows_of_length(length: int, n_rows: int) -> list[slice]:
    """Return windows of `length` rows, spread evenly: half of that is strictly inside one."""
    if n_rows <= length:
        return [slice(0, n_rows)]
    n_windows = int(np.ceil((n_rows - length) / max(1, length // 2 - 1))) + 1
    starts = np.linspace(0, n_rows - length, n_windows).round().astype(np.int64)
    return [slice(int(start), int(start) + length) for start in starts]


def resample(features: npt.ArrayLike, n_clips: int) -> FloatArray:
    """Average features into a fixed number of clips, as 2D-TAN, MMN and MRNet do.

    Clip i is the mean of the features from border i up to border i + 1, or the feature at border i where the
    two are one. The borders are round(i * N / n_clips), but at most N - 1: as published, the last feature of
    a longer video goes into no clip.

    From [N, D], N >= 1, of clips of equal length that follow each other over the whole video, to
    [n_clips, D], fewer or more.
    """
    rows = np.asarray(features, np.float32)
    # in float32, and halves to the even number, as PyTorch computes the published borders
    fractions = np.arange(n_clips + 1, dtype=np.float32) / np.float32(n_clips)
    borders = np.minimum(np.rint(fractions * np.float32(len(rows))).astype(np.int64), len(rows) - 1)
    sums = np.add.reduceat(rows, borders, axis=0)[:-1]  # an empty range gives the row that it begins at
    return np.asarray(sums / np.maximum(np.diff(borders), 1)[:, None], np.float32)
