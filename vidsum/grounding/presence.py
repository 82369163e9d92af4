"""How likely a query is true of a video at all: a probability that compares across videos and queries.

The curves of `vidsum.grounding.spaces` are standardised within a video, so that the best clip of a video that
lacks the query looks like that of one that shows it. Here a clip is compared with photographs instead, as
speaker verification normalises its scores by a cohort (Auckenthaler, Carey and Lloyd-Thomas, "Score
Normalization for Text-Independent Speaker Verification Systems", 2000: z-norm):

    z(q, t) = q . (f_t - m) / sqrt(q^T C q) + w(q) (l(q, t) - mean_u l(q, u)) / sd_u l(q, u)

m and C are mean and covariance of the map's rows for photographs: the cosine is linear in the picture. l is
the log-likelihood by what the network names, of clip t or photograph u, and w its weight in `similarity`.

docs/algorithms/presence.md describes how the probability was fitted, and its accuracy.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from vidsum.grounding.conse import ClassMixture, log_likelihood
from vidsum.grounding.spaces import ClipEmbeddings, mixture_weights
from vidsum.grounding.vse import load_map
from vidsum.models.scaling import logistic
from vidsum.models.vse import CLASSES
from vidsum.types import FloatArray

SLOPE, OFFSET = 0.78, -2.92  # logistic curve from the largest z to the probability
_QUERIES_PER_BATCH = 256  # queries whose evidence is computed together: this bounds the memory
_SMOOTHED = 3  # clips whose mean counts, so that no single one decides


def probabilities(
    space: str, video: ClipEmbeddings, queries: FloatArray, without: FloatArray | None = None
) -> FloatArray | None:
    """Return [M] how likely each query [M, D] is true in a video and none of `without` [W, D] is there.

    None in a space other than `vse`. Raises WeightsError where the map that ships with vidsum is damaged.
    """
    if space != "vse":
        return None
    if without is None or not len(without):
        return logistic(SLOPE * evidence(video, queries) + OFFSET)
    means = smooth(evidence_curves(video, np.concatenate([queries, without])))
    seen, unseen = np.split(logistic(SLOPE * means + OFFSET), [len(queries)])
    return np.asarray((seen * np.prod(1 - unseen, axis=0)).max(axis=1), np.float32)


def evidence(video: ClipEmbeddings, queries: FloatArray) -> FloatArray:
    """Return [M] the largest z(q, t) of a video in `vse` for each query [M, D], smoothed over three clips."""
    parts = [
        queries[start : start + _QUERIES_PER_BATCH]
        for start in range(0, max(1, len(queries)), _QUERIES_PER_BATCH)
    ]
    return np.concatenate([max_means(evidence_curves(video, part)) for part in parts])


@dataclass(frozen=True, eq=False)
class Cohort:
    """How queries compare with photographs, by both parts of z(q, t): [M, 1] each."""

    mean: FloatArray
    deviation: FloatArray  # deviation of the cosines
    usual: FloatArray
    spread: FloatArray  # mean and deviation of the log-likelihoods by what is named
    weight: FloatArray  # weight of the log-likelihoods

    def z(self, cosines: FloatArray, likelihoods: FloatArray) -> FloatArray:
        """Return [M, T] z(q, t) of cosines and log-likelihoods [M, T], not smoothed."""
        named = self.weight * (likelihoods - self.usual) / self.spread
        return np.asarray((cosines - self.mean) / self.deviation + named, np.float32)


def build_cohort(names: FloatArray, queries: FloatArray) -> Cohort:
    """Return the photographs for queries [M, D]; `names` [K, D] are of the network's classes."""
    squares = np.square(load_map().tensors[CLASSES])
    photographs = ClassMixture(squares / squares.sum(axis=1, keepdims=True), names)
    usual = log_likelihood(photographs, queries)
    return Cohort(
        *cohort_cosines(queries),
        usual.mean(axis=1, keepdims=True),
        _positive(usual.std(axis=1, keepdims=True)),
        mixture_weights(photographs, queries)[:, None],
    )


def cohort_cosines(queries: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return [M, 1] mean and deviation of the cosines of queries [M, D] with the photographs."""
    tensors = load_map().tensors
    spread = np.linalg.norm(queries @ tensors["cohort.weight"], axis=1, keepdims=True)
    return (queries @ tensors["cohort.mean"])[:, None], _positive(spread)


def evidence_curves(video: ClipEmbeddings, queries: FloatArray) -> FloatArray:
    """Return [M, T] z(q, t) of each clip of a video in `vse`, for each query [M, D]."""
    objects = video.mixtures[0]
    cohort = build_cohort(objects.names, queries)
    return cohort.z(queries @ video.rows.T, log_likelihood(objects, queries))


def max_means(curves: npt.NDArray[np.floating]) -> FloatArray:
    """Return [M] the largest mean of three clips in a row, of curves [M, T]; of all where there are fewer."""
    return np.asarray(smooth(curves).max(axis=1), np.float32)


def smooth(curves: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """Return the means of three clips in a row, of curves [M, T]; of all where there are fewer."""
    return np.asarray(sliding_window_view(curves, min(_SMOOTHED, curves.shape[1]), axis=1).mean(axis=2))


def _positive(deviation: FloatArray) -> FloatArray:
    return np.where(deviation > 1e-6, deviation, np.float32(1))
