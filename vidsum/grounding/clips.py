"""The clips that a model of moments and saliency reads, of a window of a video's grid."""

import math

from vidsum.features.resample import resample
from vidsum.grounding.endpoints import with_endpoints
from vidsum.types import FloatArray


def clips_of(rows: FloatArray, step_s: float, clip_s: float, most: int) -> FloatArray:
    """[T, D + 2] clips of `clip_s` seconds, or so much longer ones that there are at most `most`.

    Args:
        rows: [N, D], each of `step_s` seconds.
        step_s: seconds from a row to the next.
        clip_s: seconds of a clip.
        most: clips that the model reads at most.
    """
    n_clips = min(most, math.ceil(len(rows) * step_s / clip_s - 1e-9))
    return with_endpoints(resample(rows, max(1, n_clips)))
