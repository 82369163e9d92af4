"""How likely a query is true of a single clip in `vse`, for what comes from an archive.

Where a whole video is there, `vidsum.grounding.match` compares it with everyday phrases. Here a clip is
compared with photographs and with those phrases, as speaker verification normalises its scores by a cohort
(z-norm and t-norm: Auckenthaler, Carey and Lloyd-Thomas, "Score Normalization for Text-Independent Speaker
Verification Systems", 2000). The phrases b lower hubs, which are near to any text:

    c(q, t) = q . (f_t - m) / sqrt(q^T C q)
    z(q, t) = c(q, t) - 3/4 mean_b c(b, t) + w(q) (l(q, t) - mean_u l(q, u)) / sd_u l(q, u)

m and C are mean and covariance of the map's rows for photographs: the cosine is linear in the picture. l is
the log-likelihood by what the network names, of clip t or photograph u, and w its weight in `similarity`.

docs/algorithms/presence.md describes how the probability was fitted, and its accuracy.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from vidsum.grounding.spaces import ClassMixture, log_likelihood, mixture_weights
from vidsum.grounding.vse_map import load_map
from vidsum.models.vse import CLASSES
from vidsum.types import FloatArray

SLOPE, OFFSET = 0.78, -2.92  # logistic curve from z to the probability
_BACKGROUND_WEIGHT = 0.75  # of the mean of everyday phrases


RateNamed = Callable[[FloatArray], FloatArray]
"""From log-likelihoods [M, T] by what a network names to that part of z(q, t), [M, T]."""


def compare_named(names: FloatArray, queries: FloatArray) -> RateNamed:
    """Compare queries [M, D] with photographs; `names` [K, D] are of the network's classes."""
    squares = np.square(load_map().tensors[CLASSES])
    photographs = ClassMixture(squares / squares.sum(axis=1, keepdims=True), names)
    usual = log_likelihood(photographs, queries)
    mean, spread = usual.mean(axis=1, keepdims=True), _positive(usual.std(axis=1, keepdims=True))
    weight = mixture_weights(photographs, queries)[:, None]
    return lambda likelihoods: np.asarray(weight * (likelihoods - mean) / spread, np.float32)


class Directions(NamedTuple):
    """A linear function of the rows of clips, for each of M queries."""

    vectors: FloatArray  # [M, D]
    offsets: FloatArray  # [M, 1]

    def along(self, rows: FloatArray) -> FloatArray:
        """Return [M, T] of rows [T, D]."""
        return np.asarray(self.vectors @ rows.T + self.offsets, np.float32)


def compare_with_usual(queries: FloatArray, background: FloatArray) -> Directions:
    """Return c(q, t) - 3/4 mean_b c(b, t), for queries [M, D] and everyday phrases b [B, D]."""
    (vectors, offsets), (usual, usual_offsets) = map(compare_with_photographs, (queries, background))
    weight = np.float32(_BACKGROUND_WEIGHT)
    return Directions(vectors - weight * usual.mean(axis=0), offsets - weight * usual_offsets.mean())


def compare_with_photographs(queries: FloatArray) -> Directions:
    """Return c(q, t) for queries [M, D]."""
    tensors = load_map().tensors
    deviation = _positive(np.linalg.norm(queries @ tensors["cohort.weight"], axis=1, keepdims=True))
    return Directions(queries / deviation, -(queries @ tensors["cohort.mean"])[:, None] / deviation)


def _positive(deviation: FloatArray) -> FloatArray:
    return np.where(deviation > 1e-6, deviation, np.float32(1))
