"""How a model that reads a fixed number of clips goes through a video of any length.

It reads overlapping windows; then windows four times as long, of clips four times as long, and so on until
one window is the whole video. A moment is taken from windows that have all of it: a short one from short
windows, in fine steps of time, a long one from long windows.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vidsum.types import TimeArray

_GROWTH = 4
"""From one length of windows to the next: some window has a moment whole that takes up an eighth of it."""


@dataclass(frozen=True, eq=False)
class Windows:
    """All windows of a video, short ones first."""

    rows: tuple[slice, ...]
    """The clips of the video's grid in each of W windows."""
    intervals_s: TimeArray
    """[W, N, 2] the stretch of each proposal."""
    is_whole: npt.NDArray[np.bool_]
    """[W, N] False where a moment may go on outside the window, or there is no video."""


def windows_of(shares: TimeArray, shortest: int, n_rows: int, step_s: float, duration_s: float) -> Windows:
    """The windows of a video and what the proposals mean in them.

    Args:
        shares: [N, 2] of a window that each proposal begins and ends at.
        shortest: clips of the grid in the shortest windows.
        n_rows: clips of the grid.
        step_s: seconds of one of them.
        duration_s: of the video; the last clip of the grid may reach beyond it.
    """
    rows: list[slice] = []
    of_length = []
    longest = max(1, shortest)
    while not rows or rows[-1] != slice(0, n_rows):
        stretches = _stretches(n_rows, longest)
        rows += stretches
        of_length.append(_is_whole(shares, len(stretches)))
        longest *= _GROWTH
    starts_s = np.array([one.start for one in rows]) * step_s
    lengths_s = np.array([one.stop - one.start for one in rows]) * step_s
    intervals = starts_s[:, None, None] + shares * lengths_s[:, None, None]
    intervals = np.minimum(intervals, duration_s)
    is_in_video = intervals[..., 1] > intervals[..., 0]
    return Windows(tuple(rows), intervals, np.concatenate(of_length) & is_in_video)


def _stretches(n_rows: int, longest: int) -> list[slice]:
    """Windows of `longest` rows, spread evenly: a moment of up to half of that is strictly inside one."""
    if n_rows <= longest:
        return [slice(0, n_rows)]
    n_windows = int(np.ceil((n_rows - longest) / max(1, longest // 2 - 1))) + 1
    starts = np.linspace(0, n_rows - longest, n_windows).round().astype(np.int64)
    return [slice(int(start), int(start) + longest) for start in starts]


def _is_whole(shares: TimeArray, n_windows: int) -> npt.NDArray[np.bool_]:
    """[W, N] whether a proposal touches no edge of its window but where the video begins or ends."""
    number = np.arange(n_windows)[:, None]
    begins = (shares[:, 0] > 0) | (number == 0)
    ends = (shares[:, 1] < 1 - 1e-9) | (number == n_windows - 1)
    whole: npt.NDArray[np.bool_] = begins & ends
    return whole
