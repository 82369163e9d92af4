"""Importance scores from features alone: no training, no labels. Each scorer maps Features to [T] in [0, 1].

docs/algorithms/importance.md has the equations. `uniform` and `random` are baselines for the others.
"""

import math
import warnings
from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from vidsum.summary.highlights import highlights
from vidsum.types import Features, FloatArray

Scorer = Callable[[Features, int], FloatArray]
"""scorer(features, seed) -> [T]; only `random` and `cluster` use the seed."""

_NEIGHBOURS = 0.1
"""Fraction of the video's samples that count as a sample's neighbours."""
_SMOOTHING = 1.0
"""Standard deviation of the Gaussian over time, in samples."""
_BLOCK = 128
"""Rows of the similarity matrix that are held at a time."""
_ROUNDING = 1e-5
"""Differences below this are rounding, in quantities of order one that come from float32 products."""


def contrastive(features: Features, seed: int = 0) -> FloatArray:
    """Local dissimilarity times global consistency.

    Pang et al., "Contrastive Losses Are Natural Criteria for Unsupervised Video Summarization", WACV 2023, on
    the features as they are. With D the squared distances of the features made unit length: a_t is the mean D
    of sample t to the 10 % of the samples most like it, itself among them; u_t = log mean_j exp(-2 D_tj).
    Both are scaled to [0, 1], multiplied, and smoothed over time.
    """
    from scipy.ndimage import gaussian_filter1d  # 0.3 s, which commands that score nothing can do without

    rows = _unit_rows(features)
    n = len(rows)
    n_near = min(max(2, int(_NEIGHBOURS * n)), n)
    local, consistency = np.empty(n), np.empty(n)
    for start in range(0, n, _BLOCK):
        block = slice(start, start + _BLOCK)
        cosines = rows[block] @ rows.T  # D = 2 - 2 cosines
        nearest = np.partition(cosines, n - n_near, axis=1)[:, n - n_near :]
        local[block] = 2 - 2 * nearest.mean(axis=1, dtype=np.float64)
        consistency[block] = np.log(np.exp(4 * cosines - 4).mean(axis=1, dtype=np.float64))
    return _to_scores(gaussian_filter1d(_scaled(local) * _scaled(consistency), _SMOOTHING))


def cluster(features: Features, seed: int = 0) -> FloatArray:
    """Closeness to the centre of the sample's k-means cluster, in the manner of VSUMM (de Avila et al. 2011).

    The sqrt(T) clusters are of features made unit length. 1 is a sample in the centre of a cluster, 0 the one
    farthest from its own. In a cluster smaller than the mean, scores are lower by as much: what is seen once
    is in the centre of its cluster, but stands for nothing.
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    rows = _unit_rows(features)
    n_clusters = round(math.sqrt(len(rows)))
    # with several threads, k-means adds up in another order each time, and the last digits differ
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct samples than clusters: one each
        fitted = KMeans(n_clusters, random_state=seed).fit(rows)
    distances = np.linalg.norm(rows - fitted.cluster_centers_[fitted.labels_], axis=1)
    sizes = np.bincount(fitted.labels_)[fitted.labels_]
    return _to_scores(_scaled(-distances) * np.minimum(1, sizes * n_clusters / len(rows)))


def uniform(features: Features, seed: int = 0) -> FloatArray:
    """The same for every sample."""
    return np.ones(len(features), np.float32)


def random(features: Features, seed: int = 0) -> FloatArray:
    """Random, the same for the same seed and number of samples."""
    return np.random.default_rng(seed).random(len(features), dtype=np.float32)


SCORERS: Final[dict[str, Scorer]] = {
    "contrastive": contrastive,
    "cluster": cluster,
    "highlights": highlights,
    "uniform": uniform,
    "random": random,
}


def _unit_rows(features: Features) -> FloatArray:
    """[T, D] features made unit length; a row of zeros stays as it is."""
    # without a temporary array of the same size, as np.linalg.norm makes one
    lengths = np.sqrt(np.einsum("td,td->t", features.array, features.array))
    return (features.array / np.where(lengths > 0, lengths, 1)[:, None]).astype(np.float32, copy=False)


def _scaled(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Values scaled to [0, 1]; all 1 where they are equal, or differ by rounding only."""
    low, high = values.min(), values.max()
    if high - low < _ROUNDING:
        return np.ones_like(values)
    scaled: npt.NDArray[np.float64] = (values - low) / (high - low)
    return scaled


def _to_scores(values: npt.NDArray[np.floating]) -> FloatArray:
    scores: FloatArray = np.clip(values, 0, 1).astype(np.float32)
    return scores
