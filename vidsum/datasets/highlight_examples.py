"""What a model of moments and saliency is trained and judged on: one video and one query."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vidsum.datasets.highlights import CLIP_S
from vidsum.errors import UsageError
from vidsum.types import FloatArray, TimeArray

MOST_SALIENT = 12.0
"""Three annotators who each give a clip 4."""


class Pair(NamedTuple):
    """A video and a query that is asked of it."""

    video: FloatArray
    """[T, Dv] clips, the last two numbers of each its endpoints."""
    words: FloatArray
    """[L, Dq]"""


@dataclass(frozen=True, eq=False)
class HighlightExample:
    """A video and a query as a model takes them, and what it should answer."""

    name: str
    """The video's; errors name it."""
    video: FloatArray
    """[T, Dv] clips, the last two numbers of each its endpoints."""
    words: FloatArray
    """[L, Dq]"""
    windows: FloatArray
    """[n, 2] start and end of the moments as shares of the video; none where the query is true nowhere."""
    saliency: FloatArray
    """[T] from 0 to `MOST_SALIENT`: what the annotators gave each clip, added up; 0 outside the moments."""
    against: Pair | None = None
    """The video beside a query that is not true of it, where a guide makes its rows depend on the query;
    None: the words of any other video's query will do."""

    def __post_init__(self) -> None:
        video, words = list(self.video.shape), list(self.words.shape)
        if len(video) != 2 or len(words) != 2 or 0 in (*video, *words):
            raise UsageError(f"{self.name}: video and words must be two [N, D], not {video} and {words}")
        if self.windows.ndim != 2 or self.windows.shape[1] != 2 or self.saliency.shape != (video[0],):
            raise UsageError(
                f"{self.name}: {video[0]} clips have windows {list(self.windows.shape)} and saliency "
                f"{list(self.saliency.shape)}"
            )


def scores_at(saliency: Sequence[float], times_s: TimeArray) -> FloatArray:
    """[T] what annotators gave the clip of theirs that each time lies in; 0 after the last one that has any.

    Args:
        saliency: as in `MomentQuery.saliency`.
        times_s: [T]
    """
    scores = np.array([*saliency, 0.0], np.float32)
    return scores[np.minimum((times_s / CLIP_S).astype(np.int64), len(scores) - 1)]
