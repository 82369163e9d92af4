"""How likely a query is true of a video at all: a probability that compares across videos and queries.

The curves of `vidsum.grounding.spaces` are standardised within a video, so that the best clip of a video that
lacks the query looks like that of one that shows it. Here the evidence is compared with that of others
instead, as speaker verification normalises its scores by cohorts (Auckenthaler, Carey and Lloyd-Thomas,
"Score Normalization for Text-Independent Speaker Verification Systems", 2000: z-norm, then t-norm):

    z(q, t) = sum over networks of (log p(q | t) - mean over background clips u of log p(q | u)) / deviation
    e(q, t) = (z(q, t) - mean over background queries b of z(b, t)) / deviation

docs/algorithms/presence.md tells how the background was made, and how well it works.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from vidsum import checkpoints
from vidsum.grounding.conse import log_likelihood
from vidsum.grounding.spaces import CLASSIFIERS, ClipEmbeddings
from vidsum.scaling import logistic, unit_rows
from vidsum.types import FloatArray

NAME = "presence"
"""Of the background in the registry."""
UNLIKELY = 0.2
"""Below this probability, a query is called probably absent."""
_SMOOTHED = 3
"""Clips whose mean counts, so that no single one decides."""
_AT_ONCE = 256
"""Queries whose evidence is computed together."""
_LEVELS = 255


@dataclass(frozen=True, eq=False)
class Background:
    """What queries and videos are compared with; of the space `conse`."""

    queries: FloatArray
    """[B, D] embeddings of captions, each of length 1."""
    clips: tuple[FloatArray, ...]
    """[U, K] class probabilities of clips by each network of the space."""
    calibration: npt.NDArray[np.float64]
    """[3] weights of the evidence, of the logarithm of the number of clips, and of 1, in the logit."""


def probabilities(video: ClipEmbeddings, queries: FloatArray) -> FloatArray | None:
    """[M] how likely each query [M, D] is true of a video; None in a space without a background (`clip`).

    Raises WeightsError where the background that ships with vidsum is damaged.
    """
    if not video.mixtures:
        return None
    background = load_background(checkpoints.sha256_of(NAME))
    slope, per_length, offset = background.calibration
    logits = slope * evidence(video, queries, background) + per_length * np.log(len(video)) + offset
    return logistic(logits)


def evidence(video: ClipEmbeddings, queries: FloatArray, background: Background) -> FloatArray:
    """[M] largest e(q, t) of a video in `conse` for each query [M, D], smoothed over three clips."""
    others = against_clips(video, background.queries, background)
    mean, deviation = others.mean(axis=0), _positive(others.std(axis=0))
    best = [np.empty(0, np.float32)]
    for start in range(0, len(queries), _AT_ONCE):
        curves = against_clips(video, queries[start : start + _AT_ONCE], background)
        best.append(largest_means((curves - mean) / deviation))
    return np.concatenate(best)


def largest_means(curves: FloatArray) -> FloatArray:
    """[M] the largest mean of three clips in a row, of curves [M, T]; of all where there are fewer."""
    windows = sliding_window_view(curves, min(_SMOOTHED, curves.shape[1]), axis=1)
    return np.asarray(windows.mean(axis=2).max(axis=1))


def against_clips(video: ClipEmbeddings, queries: FloatArray, background: Background) -> FloatArray:
    """[M, T] z(q, t) of the clips of a video in `conse` for each query [M, D]."""
    curves = np.zeros((len(queries), len(video)), np.float32)
    for mixture, clips in zip(video.mixtures, background.clips, strict=True):
        others = log_likelihood(replace(mixture, probabilities=clips), queries)
        mean, deviation = others.mean(axis=1, keepdims=True), others.std(axis=1, keepdims=True)
        curves += (log_likelihood(mixture, queries) - mean) / _positive(deviation)
    return curves


def _positive(deviation: FloatArray) -> FloatArray:
    """Deviations; 1 where there is none."""
    return np.where(deviation > 1e-6, deviation, np.float32(1))


def packed(background: Background) -> dict[str, npt.NDArray[np.generic]]:
    """The tensors of a background's file: embeddings in 8 bits, and square roots of probabilities.

    The roots keep small probabilities, of which a clip has many.
    """
    scale = np.abs(background.queries).max() / 127
    clips = zip(CLASSIFIERS, background.clips, strict=True)
    return {
        "queries": np.round(background.queries / scale).astype(np.int8),
        **{name: np.round(np.sqrt(rows) * _LEVELS).astype(np.uint8) for name, rows in clips},
        "calibration": background.calibration,
    }


@lru_cache(maxsize=1)
def load_background(sha256: str) -> Background:
    """The background that ships with vidsum, kept for the next video; `sha256` of its file.

    Raises WeightsError where it is damaged.
    """
    tensors = checkpoints.load_arrays(NAME)
    squares = [np.square(tensors[name].astype(np.float32)) for name in CLASSIFIERS]
    clips = tuple(rows / rows.sum(axis=1, keepdims=True) for rows in squares)
    return Background(unit_rows(tensors["queries"].astype(np.float32)), clips, tensors["calibration"])
