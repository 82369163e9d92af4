"""Runs: sequences of clips, or of pieces of a video, above a threshold."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Run(NamedTuple):
    """A sequence of clips."""

    first: int
    last: int
    """The last clip, inside the run."""

    @property
    def length(self) -> int:
        """Number of clips."""
        return self.last + 1 - self.first


def runs_of(passes: npt.NDArray[np.bool_], apart: int) -> list[Run]:
    """Runs of the clips that pass; runs at most `apart` clips from each other are joined."""
    clips = np.flatnonzero(passes)
    if not len(clips):
        return []
    breaks = np.flatnonzero(np.diff(clips) > apart)
    starts = clips[np.concatenate([[0], breaks + 1])]
    ends = clips[np.concatenate([breaks, [len(clips) - 1]])]
    return [Run(first, last) for first, last in zip(starts.tolist(), ends.tolist(), strict=True)]
