"""How a model that reads only so many clips goes through a video of any length.

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
_SAME = 1e-9
"""Shares of a window that differ by less are the same."""


@dataclass(frozen=True, eq=False)
class Windows:
    """All windows of a video, short ones first, and what stretches of them mean."""

    rows: tuple[slice, ...]
    """The clips of the video's grid in each of W windows."""
    intervals_s: TimeArray
    """[W, N, 2] the stretch of each proposal."""
    is_whole: npt.NDArray[np.bool_]
    """[W, N] False where a moment may go on outside the window, or there is no video."""


def windows_of(shares: TimeArray, shortest: int, n_rows: int, step_s: float, duration_s: float) -> Windows:
    """The windows of a video, for a model whose proposals are the same in each.

    Args:
        shares: [N, 2] of a window that each proposal begins and ends at.
        shortest: clips of the grid in the shortest windows.
        n_rows: clips of the grid.
        step_s: seconds of one of them.
        duration_s: of the video; the last clip of the grid may reach beyond it.
    """
    return placed(stretches_of(shortest, n_rows), shares, step_s, duration_s)


def stretches_of(shortest: int, n_rows: int) -> tuple[slice, ...]:
    """The clips of the grid in each window, short windows first; the last window is the whole video."""
    rows: list[slice] = []
    longest = max(1, shortest)
    while not rows or rows[-1] != slice(0, n_rows):
        rows += _stretches(n_rows, longest)
        longest *= _GROWTH
    return tuple(rows)


def placed(
    rows: tuple[slice, ...],
    shares: TimeArray,
    step_s: float,
    duration_s: float,
    margins: TimeArray | float = _SAME,
) -> Windows:
    """Windows, and where in the video the proposals of a model are.

    Args:
        rows: of `stretches_of`.
        shares: [N, 2] of a window that each proposal begins and ends at, or [W, N, 2] where those of each
            window are others.
        step_s: seconds of a clip of the grid.
        duration_s: of the video.
        margins: share of a window, or [W, 1] of each, within which a proposal touches the window's edge.
    """
    begins, ends = np.array([(one.start, one.stop) for one in rows]).T[..., None]
    intervals = (begins * step_s)[..., None] + shares * ((ends - begins) * step_s)[..., None]
    intervals = np.minimum(intervals, duration_s)
    has_begun = (shares[..., 0] > margins) | (begins == 0)
    has_ended = (shares[..., 1] < 1 - margins) | (ends == ends.max())
    is_in_video = intervals[..., 1] > intervals[..., 0]
    return Windows(rows, intervals, has_begun & has_ended & is_in_video)


def _stretches(n_rows: int, longest: int) -> list[slice]:
    """Windows of `longest` rows, spread evenly: a moment of up to half of that is strictly inside one."""
    if n_rows <= longest:
        return [slice(0, n_rows)]
    n_windows = int(np.ceil((n_rows - longest) / max(1, longest // 2 - 1))) + 1
    starts = np.linspace(0, n_rows - longest, n_windows).round().astype(np.int64)
    return [slice(int(start), int(start) + longest) for start in starts]
