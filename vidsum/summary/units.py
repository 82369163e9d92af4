"""Units: the parts of a video that a summary takes or leaves as a whole, and the windows of shots among them.

A window lies in one shot, or in a run of shots that are too short on their own.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np

from vidsum.summary.constraints import VideoFrames, free_cells, join_cells
from vidsum.types import BoolArray, FloatArray, IntArray, Interval, TimeArray

SPOKEN: Final = -1  # the cell of a passage of speech
WORTHLESS: Final = 0.05  # what has less than this fraction of the highest importance (black, frozen)
_RATIO: Final = 1.35  # of one length of windows to the next
_ROUNDING: Final = 1e-9  # sums per frame that differ by less are equal


@dataclass(frozen=True, order=True)
class Unit:
    """Frames [start, end) of a window in a shot, by its number, or of a passage of speech (`SPOKEN`)."""

    start: int
    end: int
    cell: int

    @property
    def size(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, eq=False)
class WindowFinder:
    """A curve whose best windows are looked for."""

    sums: TimeArray  # [F + 1] of the curve before each frame
    places: IntArray  # frames before which a cut may be, ascending
    shortest: int
    least: float = 0.0  # of the curve in the first and the last frame of a window: none begins in black

    @cached_property
    def _starts(self) -> IntArray:
        inside = self.places[self.places < len(self.sums) - 1]
        return inside[self.sums[inside + 1] - self.sums[inside] >= self.least]

    @cached_property
    def _ends(self) -> IntArray:
        inside = self.places[self.places > 0]
        return np.append(0, inside[self.sums[inside] - self.sums[inside - 1] >= self.least])

    def best(self, cell: int, span: tuple[int, int], size: int) -> Unit | None:
        """Return the window in a span of at most `size` frames with the highest sum, the middle one of
        several.
        """
        first, stop = np.searchsorted(self._starts, (span[0], span[1] - self.shortest + 1))
        starts = self._starts[first:stop]
        ends = np.minimum(starts + size, span[1])
        ends = self._ends[np.searchsorted(self._ends, ends, side="right") - 1]
        is_long = ends - starts >= self.shortest
        if not is_long.any():
            return None
        starts, ends = starts[is_long], ends[is_long]
        sums = self.sums[ends] - self.sums[starts]
        equal = np.flatnonzero(sums >= sums.max() - _ROUNDING * size)
        best = equal[len(equal) // 2]
        return Unit(int(starts[best]), int(ends[best]), cell)

    def reached(self, cells: Iterable[tuple[int, int]], longest: int) -> BoolArray:
        """Return [F] which frames lie in any window of at most `longest` frames in a cell."""
        steps = np.zeros(len(self.sums), np.int64)
        for low, high in cells:
            first, stop = np.searchsorted(self._starts, (low, high))
            starts = self._starts[first:stop]
            latest = np.minimum(starts + longest, high)
            ends = self._ends[np.searchsorted(self._ends, latest, side="right") - 1]
            is_window = ends - starts >= self.shortest
            np.add.at(steps, starts[is_window], 1)
            np.add.at(steps, ends[is_window], -1)
        return np.asarray(np.cumsum(steps)[:-1] > 0)


def frame_curve(curve: FloatArray, sampled: IntArray, edges: IntArray) -> TimeArray:
    """Return [F] a curve at each frame, from the sample before it; in a shot's first frames, from the
    sample after it.

    `curve` [T] is of the samples, at the frames `sampled` [T]; `edges` [S + 1] of the shots are in frames.
    """
    number = np.searchsorted(sampled, np.arange(edges[-1]), side="right") - 1
    after = np.searchsorted(sampled, edges)
    for first, (start, end) in zip(after.tolist(), pairwise(edges.tolist()), strict=False):
        if first < len(sampled) and sampled[first] < end:
            number[start : sampled[first]] = first
    return curve[np.maximum(number, 0)].astype(np.float64)


def frame_sums(curve: FloatArray, sampled: IntArray, edges: IntArray) -> TimeArray:
    """Return [F + 1] the sum of `frame_curve` before each frame."""
    return np.concatenate([[0.0], np.cumsum(frame_curve(curve, sampled, edges))])


def allowed_cuts(uncut: Sequence[Interval], fps: float, n_frames: int) -> IntArray:
    """Return the frames, up to `n_frames`, before which a cut falls inside none of the parts."""
    is_inside = np.zeros(n_frames + 1, np.bool_)
    for start_s, end_s in uncut:
        first, last = int(start_s * fps) + 1, int(np.ceil(end_s * fps)) - 1
        is_inside[max(first, 0) : max(last + 1, 0)] = True
    is_inside[[0, -1]] = False
    return np.flatnonzero(~is_inside)


def window_lengths(shortest: int, longest: int) -> list[int]:
    """Return the lengths of windows to try: the shortest, the longest, and some between."""
    lengths = [float(shortest)]
    while lengths[-1] * _RATIO < longest:
        lengths.append(lengths[-1] * _RATIO)
    return sorted({*map(round, lengths), longest})


def window_cells(video: VideoFrames, shortest: int) -> dict[int, tuple[int, int]]:
    """Return the frames [start, end) in which windows lie, by their first shot: free shots, and runs of short
    ones.
    """
    cells = free_cells(video)
    is_short = [end - start < shortest for _, (start, end) in cells]
    long = [cell for cell, is_out in zip(cells, is_short, strict=True) if not is_out]
    return dict([*long, *join_cells([cell for cell, is_in in zip(cells, is_short, strict=True) if is_in])])


def shot_windows(video: VideoFrames, windows: WindowFinder, longest: int) -> list[Unit]:
    """Return the windows of the free shots of a video: see `window_units`."""
    return window_units(window_cells(video, windows.shortest), windows, longest)


def window_units(cells: Mapping[int, tuple[int, int]], windows: WindowFinder, longest: int) -> list[Unit]:
    """Return the windows of cells: the best of each length in each stretch of a cell.

    Stretches are twice as long as the window, and begin every window's length.
    """
    units = set[Unit]()
    for number, (start, end) in cells.items():
        for length in window_lengths(windows.shortest, longest):
            firsts = range(start, max(end - length, start + 1), length)
            spans = [(first, min(first + 2 * length, end)) for first in firsts]
            units |= {unit for span in spans if (unit := windows.best(number, span, length))}
    return sorted(units)


def ends_of(units: Sequence[Unit]) -> tuple[IntArray, IntArray]:
    """Return [N] the starts and [N] the ends of units, in frames."""
    frames = np.array([(unit.start, unit.end) for unit in units], np.int64).reshape(-1, 2)
    return frames[:, 0], frames[:, 1]
