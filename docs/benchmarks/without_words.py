"""Statistics of a video's frames that need no words: how each frame is like the others, and how it changes.

Rows of `docs.benchmarks.human_summaries`, alone and beside ridge regression.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from vidsum.lab.datasets.annotated_videos import AnnotatedVideo
from vidsum.models.ridge import moving_average
from vidsum.models.scaling import unit_rows
from vidsum.results.features import Features
from vidsum.summary.importance import contrastive
from vidsum.types import FloatArray

_SHORT, _LONG = 3, 7
"""Samples that rows are averaged over before they are compared, and changes after."""
_NEAR = 0.1
"""Fraction of the samples that count as a sample's neighbours."""
_SCALE = 0.3
"""Deviation of a statistic beside the 384 numbers of ridge regression: the penalty hardly shrinks it."""


def similarity(features: Features) -> FloatArray:
    """[T] cosine with the mean of the video."""
    rows = unit_rows(features.array)
    return np.asarray(rows @ rows.mean(axis=0))


def repetition(features: Features) -> FloatArray:
    """[T] mean cosine with the tenth of the samples that are most like it."""
    rows = unit_rows(features.array)
    n_near = max(2, int(_NEAR * len(rows)))
    nearest = np.sort(rows @ rows.T, axis=1)[:, -n_near:]
    return np.asarray(nearest.mean(axis=1))


def change(features: Features) -> FloatArray:
    """[T] distance to the sample before, smoothed."""
    steps = np.linalg.norm(np.diff(moving_average(unit_rows(features.array), _SHORT), axis=0), axis=1)
    return moving_average(np.append(steps[:1], steps)[:, None], _LONG)[:, 0]


STATISTICS: Mapping[str, Callable[[Features], FloatArray]] = {
    "similarity": similarity,
    "repetition": repetition,
    "change": change,
    "contrast": contrastive,
}


def with_statistic(video: AnnotatedVideo, name: str) -> AnnotatedVideo:
    """A video with one more number for each frame."""
    values = STATISTICS[name](video.features)
    column = _SCALE * (values - values.mean()) / max(float(values.std()), 1e-6)
    array = np.column_stack([video.features.array, column]).astype(np.float32)
    return replace(video, features=replace(video.features, array=array))
