"""Toy data: the pattern of each query in a segment of noise.

A query is a random direction; its pattern is that direction through a fixed linear map. The other segments
hold patterns of other queries, so that it is not enough to find what stands out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vidsum.grounding.windows import with_endpoints
from vidsum.lab.datasets.moment_examples import MOST_SALIENT, HighlightExample, MomentExample
from vidsum.lab.training.annotated import MomentData
from vidsum.models.scaling import unit_rows
from vidsum.types import FloatArray

DIM_VIDEO, DIM_QUERY = 64, 32
_MAP_SEED = 20240917
_MAX_WORDS = 4


@dataclass(frozen=True)
class Toy:
    """Size and difficulty of toy data."""

    n_videos: int = 600
    clips: int = 16
    segments: int = 4  # patterns in a video, each in a segment of its own
    queries: int = 2  # queries per video; the patterns of the other segments are distractors
    noise: float = 1.0  # length of the noise in a clip, where a pattern has length 1


def draw_data(draw: Callable[..., list[Any]], toy: Toy, seed: int) -> MomentData[Any]:
    """Return data drawn anew in each epoch; the validation data is never trained on."""
    return MomentData(lambda epoch: draw(toy, seed, epoch), draw(toy, seed, 0), {"space": "clip"}, {})


def fixed(examples: Sequence[Any], validation: Sequence[Any] = ()) -> MomentData[Any]:
    """Return data whose training examples do not change between epochs."""
    return MomentData(lambda epoch: examples, validation, {"space": "clip", "clip_s": 2.0}, {"from": "here"})


def draw_moments(toy: Toy, *seeds: int) -> list[MomentExample]:
    """Toy videos with their queries; the same seeds, such as a seed and an epoch, give the same."""
    draw = np.random.default_rng(seeds)
    return [_video(f"toy_{number}", toy, draw) for number in range(toy.n_videos)]


def draw_highlights(toy: Toy, *seeds: int) -> list[HighlightExample]:
    """For models that read words: each query by itself, in a few words that add up to it."""
    draw = np.random.default_rng((*seeds, _MAX_WORDS))
    return [
        _with_words(video, query, draw)
        for video in draw_moments(toy, *seeds)
        for query in range(len(video.queries))
    ]


def patterns_of(queries: FloatArray) -> FloatArray:
    """The pattern of each query [M, Dq], [M, Dv] of length 1."""
    linear = np.random.default_rng(_MAP_SEED).standard_normal((DIM_QUERY, DIM_VIDEO))
    return unit_rows(queries @ linear)


def _video(name: str, toy: Toy, draw: np.random.Generator) -> MomentExample:
    queries = unit_rows(draw.standard_normal((toy.segments, DIM_QUERY)))
    segments = _segments(toy, draw)
    video = draw.standard_normal((toy.clips, DIM_VIDEO)) * (toy.noise / DIM_VIDEO**0.5)
    for pattern, (first, end) in zip(patterns_of(queries), segments, strict=True):
        video[first:end] += pattern
    chosen = draw.permutation(toy.segments)[: toy.queries]
    windows = (segments[chosen] / toy.clips).astype(np.float32)
    return MomentExample(name, video.astype(np.float32), queries[chosen], windows)


def _with_words(video: MomentExample, query: int, draw: np.random.Generator) -> HighlightExample:
    words = draw.standard_normal((draw.integers(1, _MAX_WORDS + 1), DIM_QUERY)) / DIM_QUERY**0.5
    words += (video.queries[query] - words.sum(axis=0)) / len(words)
    middles = (np.arange(len(video.video)) + 0.5) / len(video.video)
    start, end = video.windows[query]
    saliency = np.where((start <= middles) & (middles < end), MOST_SALIENT, 0.0)
    clips, windows = with_endpoints(video.video), video.windows[[query]]
    return HighlightExample(video.name, clips, words.astype(np.float32), windows, saliency.astype(np.float32))


def _segments(toy: Toy, draw: np.random.Generator) -> npt.NDArray[np.int64]:
    """[S, 2] first clip and end of ordered segments of two clips or more, without overlap."""
    free = toy.clips - 2 * toy.segments
    cuts = np.sort(draw.integers(0, free + 1, (toy.segments, 2)).ravel()).reshape(-1, 2)
    return np.asarray(cuts + 2 * np.arange(toy.segments)[:, None] + np.array([0, 2]), np.int64)
