"""The clips that a model of moments and saliency reads, of a whole video or a window of one."""

import math

import numpy as np

from vidsum.features.resample import resample
from vidsum.types import FloatArray


def clips_of(rows: FloatArray, step_s: float, clip_s: float, most: int) -> FloatArray:
    """[T, D + 2] clips of `clip_s` seconds, or so much longer ones that there are at most `most`.

    Args:
        rows: [N, D] of a window, each of `step_s` seconds.
        step_s: seconds from a row to the next.
        clip_s: seconds of a clip.
        most: clips that the model reads at most.
    """
    n_clips = min(most, math.ceil(len(rows) * step_s / clip_s - 1e-9))
    return with_endpoints(resample(rows, max(1, n_clips)))


def with_endpoints(rows: FloatArray) -> FloatArray:
    """[T, D + 2]: row t of the clips [T, D], then t / T and (t + 1) / T, as for Moment-DETR.

    They tell a model without a sense of order where in its window a clip lies.
    """
    starts = np.arange(len(rows), dtype=np.float32) / np.float32(len(rows))
    return np.column_stack([rows, starts, starts + np.float32(1 / len(rows))])
