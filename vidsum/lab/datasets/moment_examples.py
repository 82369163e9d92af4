"""Examples for models that find moments, and the scores that annotators gave clips."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vidsum.lab.datasets.timed_sentences import CLIP_S
from vidsum.types import FloatArray, TimeArray

MOST_SALIENT = 12.0  # three annotators who each give a clip 4


@dataclass(frozen=True, eq=False)
class MomentExample:
    """A video with its queries, as MRNet takes them."""

    name: str  # the video's; errors name it
    video: FloatArray  # [T, Dv] clips of equal length
    queries: FloatArray  # [M, Dq]
    windows: FloatArray
    """[M, 2] fractions of the video, or [M, W, 2] of up to W moments of a query, padded with (0, 0)."""


class Pair(NamedTuple):
    video: FloatArray  # [T, Dv] clips, the last two numbers of each its endpoints
    words: FloatArray  # [L, Dq]


@dataclass(frozen=True, eq=False)
class HighlightExample:
    """A video and a query as the DETR models take them, and what they should answer."""

    name: str
    video: FloatArray  # [T, Dv] clips, the last two numbers of each its endpoints
    words: FloatArray  # [L, Dq]
    windows: FloatArray
    """[n, 2] start and end of the moments as fractions of the video; none for a no-target query."""
    saliency: FloatArray
    """[T] from 0 to `MOST_SALIENT`: the annotators' scores of each clip, added up; 0 outside the moments."""
    negative: Pair | None = None
    """The video with a query that does not describe it; None: the words of any other query will do."""


def scores_at(saliency: FloatArray, times_s: TimeArray) -> FloatArray:
    """Return [T] the sum of the annotators' scores [C, U] of the clip at each time; 0 after the last."""
    scores = np.append(saliency.sum(axis=1), 0).astype(np.float32)
    return scores[np.minimum((times_s / CLIP_S).astype(np.int64), len(scores) - 1)]
