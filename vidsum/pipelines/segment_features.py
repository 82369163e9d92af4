"""Features of the segments of a video: means of their rows, and what the network sees in them."""

from collections.abc import Iterator, Sequence

import numpy as np

from vidsum.description.writers import SeenSegments
from vidsum.grounding.spaces import describe_space
from vidsum.grounding.vse_map import NAME as MAP
from vidsum.models.scaling import softmax, unit_rows
from vidsum.results.features import Features
from vidsum.types import FloatArray, Interval


def see_segments(
    features: Features, segments: Sequence[Interval], space: str, actions: FloatArray | None
) -> SeenSegments:
    """Return segments with the classes of their pictures, where the features have them."""
    return SeenSegments(segment_rows(features, segments, space), actions, segment_objects(features, segments))


def segment_rows(features: Features, segments: Sequence[Interval], space: str = MAP) -> FloatArray:
    """Return [N, D] the rows of segments in a space, of length 1, from the features that it needs."""
    return unit_rows(segment_means(describe_space(space).rows_of(features), features, segments))


def segment_means(rows: FloatArray, features: Features, segments: Sequence[Interval]) -> FloatArray:
    """Return [N, D] the mean of the rows [T, D] whose middle lies in each segment, or of the nearest one."""
    return np.array([rows[part].mean(axis=0) for part in _parts(features, segments)], np.float32)


def segment_objects(features: Features, segments: Sequence[Interval]) -> FloatArray | None:
    """Return [N, K] the mean probabilities of classes in segments; None of features without logits."""
    logits = features.logits
    if logits is None:
        return None
    return np.array([softmax(logits[part]).mean(axis=0) for part in _parts(features, segments)], np.float32)


def _parts(features: Features, segments: Sequence[Interval]) -> Iterator[slice]:
    """Yield the rows whose middle lies in each segment, or the nearest one."""
    middles = features.timestamps + features.covers_s / 2
    for start_s, end_s in segments:
        low, high = np.searchsorted(middles, (start_s, end_s)).tolist()
        nearest = int(np.abs(middles - (start_s + end_s) / 2).argmin())
        yield slice(low, high) if low < high else slice(nearest, nearest + 1)
