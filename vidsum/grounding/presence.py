"""How likely a query is true of a video at all: a probability that compares across videos and queries.

The curves of `vidsum.grounding.spaces` are standardised within a video, so that the best clip of a video that
lacks the query looks like that of one that shows it. Here a clip is compared with photographs instead, as
speaker verification normalises its scores by a cohort (Auckenthaler, Carey and Lloyd-Thomas, "Score
Normalization for Text-Independent Speaker Verification Systems", 2000: z-norm). The cosine is linear in the
picture, so that the mean and the deviation over a cohort need no more than the cohort's own:

    z(q, t) = q . (f_t - m) / sqrt(q^T C q),    m, C: mean and covariance of the map's rows for photographs

docs/algorithms/presence.md tells how the probability was fitted, and how well it holds.
"""

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from vidsum.grounding.spaces import ClipEmbeddings
from vidsum.grounding.vse import load_map
from vidsum.scaling import logistic
from vidsum.types import FloatArray

UNLIKELY = 0.2
"""Below this probability, a query is called probably absent."""
SLOPE, OFFSET = 0.9, -2.7
"""Of the logistic curve, from the largest z to the probability."""
_SMOOTHED = 3
"""Clips whose mean counts, so that no single one decides."""


def probabilities(space: str, video: ClipEmbeddings, queries: FloatArray) -> FloatArray | None:
    """[M] how likely each query [M, D] is true of a video; None in a space other than `vse`.

    Raises WeightsError where the map that ships with vidsum is damaged.
    """
    if space != "vse":
        return None
    return logistic(SLOPE * evidence(video.rows, queries) + OFFSET)


def evidence(rows: FloatArray, queries: FloatArray) -> FloatArray:
    """[M] the largest z(q, t) of the rows [T, D] of a video for each query [M, D], smoothed over three."""
    tensors = load_map().tensors
    mean, factor = tensors["cohort.mean"], tensors["cohort.weight"]
    deviation = np.linalg.norm(queries @ factor, axis=1, keepdims=True)
    return largest_means(queries @ (rows - mean).T / np.maximum(deviation, np.float32(1e-6)))


def largest_means(curves: npt.NDArray[np.floating]) -> FloatArray:
    """[M] the largest mean of three clips in a row, of curves [M, T]; of all where there are fewer."""
    windows = sliding_window_view(curves, min(_SMOOTHED, curves.shape[1]), axis=1)
    return np.asarray(windows.mean(axis=2).max(axis=1), np.float32)
