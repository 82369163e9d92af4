"""Edges of shots that keep clear of words, so that a cut never falls inside one."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from vidsum.types import Interval


def inside_words(words: Sequence[Interval], fps: float, n_frames: int) -> npt.NDArray[np.bool_]:
    """[n_frames + 1] whether a cut before each frame, or after the last, would fall inside a word.

    Args:
        words: (start_s, end_s) of each word.
        fps: frames per second.
        n_frames: of the video.
    """
    is_inside = np.zeros(n_frames + 1, np.bool_)
    for start_s, end_s in words:
        first, last = int(start_s * fps) + 1, int(np.ceil(end_s * fps)) - 1
        is_inside[max(first, 0) : max(last + 1, 0)] = True
    is_inside[[0, -1]] = False
    return is_inside


def longest_run(is_inside: npt.NDArray[np.bool_]) -> int:
    """Frames of the longest speech without a place to cut: no shot grows by more (see `clear_of_words`)."""
    free = np.flatnonzero(~is_inside)
    return int(np.diff(free).max(initial=1)) - 1


def clear_of_words(edges: npt.NDArray[np.int64], is_inside: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Edges [S + 1] in frames, each inside a word moved to the nearest frame that is not; at most S + 1."""
    free = np.flatnonzero(~is_inside)
    after = np.searchsorted(free, edges)  # the edges lie between the first and the last free frame
    before = np.maximum(after - 1, 0)
    nearest = np.where(edges - free[before] < free[after] - edges, free[before], free[after])
    return np.unique(nearest)
