"""Made-up moments: each query's pattern, planted in a stretch of feature noise.

Whether an architecture can find a moment at all shows here without any video, and the truth is exact. A
query is a random direction; its pattern is that direction through a linear map, which is the same for all
videos and has to be learned. What the other stretches of a video hold are patterns of other queries, so that
it is not enough to find what stands out.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from vidsum.datasets.examples import MomentExample
from vidsum.datasets.highlight_examples import MOST_SALIENT, HighlightExample
from vidsum.errors import UsageError
from vidsum.grounding.windows import with_endpoints
from vidsum.types import FloatArray

DIM_VIDEO, DIM_QUERY = 64, 32
_MAP_SEED = 20240917
_MOST_WORDS = 4


@dataclass(frozen=True)
class Planting:
    """How hard it is."""

    n_videos: int = 600
    clips: int = 16
    """T"""
    stretches: int = 4
    """Patterns in a video, each in a stretch of its own."""
    asked: int = 2
    """Queries of a video; the patterns of the other stretches are distractors."""
    noise: float = 1.0
    """Length of the noise in a clip, where a pattern has length 1."""

    def __post_init__(self) -> None:
        if not 1 <= self.asked <= self.stretches or self.clips < 2 * self.stretches:
            raise UsageError(
                f"{self.asked} queries, {self.stretches} stretches of two clips and more do not go into "
                f"{self.clips} clips"
            )
        if self.n_videos < 1 or self.noise < 0:
            raise UsageError(
                f"n_videos must be positive, noise not negative: {self.n_videos}, {self.noise:g}"
            )


def planted(how: Planting, *seeds: int) -> list[MomentExample]:
    """Videos with planted moments; the same seeds give the same.

    Args:
        how: how many, and how hard.
        seeds: for example a seed and the number of an epoch.
    """
    draw = np.random.default_rng(seeds)
    return [_video(f"planted_{number}", how, draw) for number in range(how.n_videos)]


def planted_highlights(how: Planting, *seeds: int) -> list[HighlightExample]:
    """The same for models that read words: each query by itself, in a few words that add up to it."""
    draw = np.random.default_rng((*seeds, _MOST_WORDS))
    return [
        _told_in_words(video, query, draw)
        for video in planted(how, *seeds)
        for query in range(len(video.queries))
    ]


def patterns_of(queries: FloatArray) -> FloatArray:
    """[M, Dv] what a clip shows where each query [M, Dq] is true; of length 1."""
    linear = np.random.default_rng(_MAP_SEED).standard_normal((DIM_QUERY, DIM_VIDEO))
    return _of_length_1(queries @ linear)


def _video(name: str, how: Planting, draw: np.random.Generator) -> MomentExample:
    queries = _of_length_1(draw.standard_normal((how.stretches, DIM_QUERY)))
    stretches = _stretches(how, draw)
    video = draw.standard_normal((how.clips, DIM_VIDEO)) * (how.noise / DIM_VIDEO**0.5)
    for pattern, (first, end) in zip(patterns_of(queries), stretches, strict=True):
        video[first:end] += pattern
    asked = draw.permutation(how.stretches)[: how.asked]
    windows = (stretches[asked] / how.clips).astype(np.float32)
    return MomentExample(name, video.astype(np.float32), queries[asked], windows)


def _told_in_words(video: MomentExample, query: int, draw: np.random.Generator) -> HighlightExample:
    words = draw.standard_normal((draw.integers(1, _MOST_WORDS + 1), DIM_QUERY)) / DIM_QUERY**0.5
    words += (video.queries[query] - words.sum(axis=0)) / len(words)
    middles = (np.arange(len(video.video)) + 0.5) / len(video.video)
    start, end = video.windows[query]
    saliency = np.where((start <= middles) & (middles < end), MOST_SALIENT, 0.0)
    return HighlightExample(
        video.name,
        with_endpoints(video.video),
        words.astype(np.float32),
        video.windows[[query]],
        saliency.astype(np.float32),
    )


def _stretches(how: Planting, draw: np.random.Generator) -> npt.NDArray[np.int64]:
    """[S, 2] first clip and end of stretches that do not overlap, in order, each of two clips or more."""
    free = how.clips - 2 * how.stretches
    cuts = np.sort(draw.integers(0, free + 1, (how.stretches, 2)).ravel()).reshape(-1, 2)
    return np.asarray(cuts + 2 * np.arange(how.stretches)[:, None] + np.array([0, 2]), np.int64)


def _of_length_1(rows: npt.NDArray[np.floating]) -> FloatArray:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)
