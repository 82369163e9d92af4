"""How likely a query is true of a single clip in `vse`, for what comes second by second or from an archive.

Where a whole video is there, `vidsum.grounding.match` compares it with everyday phrases. Here a clip is
compared with photographs instead, as speaker verification normalises its scores by a cohort (z-norm:
Auckenthaler, Carey and Lloyd-Thomas, "Score Normalization for Text-Independent Speaker Verification Systems",
2000):

    z(q, t) = q . (f_t - m) / sqrt(q^T C q) + w(q) (l(q, t) - mean_u l(q, u)) / sd_u l(q, u)

m and C are mean and covariance of the map's rows for photographs: the cosine is linear in the picture. l is
the log-likelihood by what the network names, of clip t or photograph u, and w its weight in `similarity`.

docs/algorithms/presence.md describes how the probability was fitted, and its accuracy.
"""

from dataclasses import dataclass

import numpy as np

from vidsum.grounding.conse import ClassMixture, log_likelihood
from vidsum.grounding.spaces import ClipEmbeddings, mixture_weights
from vidsum.grounding.vse import load_map
from vidsum.models.vse import CLASSES
from vidsum.types import FloatArray

SLOPE, OFFSET = 0.78, -2.92  # logistic curve from z to the probability


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
        return np.asarray((cosines - self.mean) / self.deviation + self.named(likelihoods), np.float32)

    def named(self, likelihoods: FloatArray) -> FloatArray:
        """Return [M, T] the part of z(q, t) by what is named, of log-likelihoods [M, T]."""
        return np.asarray(self.weight * (likelihoods - self.usual) / self.spread, np.float32)


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


def _positive(deviation: FloatArray) -> FloatArray:
    return np.where(deviation > 1e-6, deviation, np.float32(1))
