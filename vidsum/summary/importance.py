"""Importance scores from features alone: no training, no labels. Each scorer maps Features to [T] in [0, 1].

docs/algorithms/importance.md and docs/highlights.md have the equations. `uniform` and `random` are baselines.
"""

import math
import warnings
from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from vidsum.models.scaling import unit_rows
from vidsum.results.features import Features
from vidsum.types import FloatArray

Curve = npt.NDArray[np.float64]
Scorer = Callable[[Features, int], FloatArray]  # scorer(features, seed) -> [T]; two use the seed

CLIP_S = 2.0  # seconds of a clip of highlights, as in QVHighlights
_NEIGHBOURS = 0.1  # fraction of the video's samples that count as a sample's neighbours
_SMOOTHING = 1.0  # standard deviation of the Gaussian over time, in samples
_HIGHLIGHT_SMOOTHING_S = 0.5  # standard deviation for `highlights`, in seconds
_MIN_EVIDENCE_RANGE, _MIN_CHANGE_RANGE = 0.1, 0.02  # below, `highlights` scales no noise up
_BLOCK = 128  # rows of the similarity matrix that are held at a time
_ROUNDING = 1e-5  # smaller differences are rounding of float32 products of order one


def contrastive(features: Features, seed: int = 0) -> FloatArray:
    """Return local dissimilarity times global consistency.

    Pang et al., "Contrastive Losses Are Natural Criteria for Unsupervised Video Summarization", WACV 2023, on
    the features as they are. With D the squared distances of the features made unit length: a_t is the mean D
    of sample t to the 10 % of the samples most like it, itself among them; u_t = log mean_j exp(-2 D_tj).
    Both are scaled to [0, 1], multiplied, and smoothed over time.
    """
    rows = unit_rows(features.array)
    n = len(rows)
    n_near = min(max(2, int(_NEIGHBOURS * n)), n)
    local, consistency = np.empty(n), np.empty(n)
    for start in range(0, n, _BLOCK):
        block = slice(start, start + _BLOCK)
        cosines = rows[block] @ rows.T  # D = 2 - 2 cosines
        nearest = np.partition(cosines, n - n_near, axis=1)[:, n - n_near :]
        local[block] = 2 - 2 * nearest.mean(axis=1, dtype=np.float64)
        consistency[block] = np.log(np.exp(4 * cosines - 4).mean(axis=1, dtype=np.float64))
    return _to_scores(smooth(_scale(local) * _scale(consistency), _SMOOTHING))


def cluster(features: Features, seed: int = 0) -> FloatArray:
    """Return the closeness to the centre of the sample's k-means cluster, as in VSUMM (de Avila 2011).

    The sqrt(T) clusters are of features made unit length. 1 is a sample in the centre of a cluster, 0 the one
    farthest from its own. In a cluster smaller than the mean, scores are lower by as much: what is seen once
    is in the centre of its cluster, but represents nothing.
    """
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    rows = unit_rows(features.array)
    n_clusters = round(math.sqrt(len(rows)))
    # with several threads, k-means adds up in another order each time, and the last digits differ
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct samples than clusters: one each
        fitted = KMeans(n_clusters, random_state=seed).fit(rows)
    distances = np.linalg.norm(rows - fitted.cluster_centers_[fitted.labels_], axis=1)
    sizes = np.bincount(fitted.labels_)[fitted.labels_]
    return _to_scores(_scale(-distances) * np.minimum(1, sizes * n_clusters / len(rows)))


def highlights(features: Features, seed: int = 0) -> FloatArray:
    """Return how much the network sees in a sample and, by half, how that changes around it.

        e_t = |x_t| / mean |x|          a feature is long where units of the network find what they look for
        c_t = min(D_(t-1,t), D_(t,t+1)) with D = 1 - cosine; the lesser one, for a cut is no event
        s_t = G(e'_t + c'_t) / 2        ' scales to [0, 1] over the video, G smooths over time

    For features of unit length, only the change counts.
    """
    lengths = np.sqrt(np.einsum("td,td->t", features.array, features.array, dtype=np.float64))
    evidence = lengths / max(float(lengths.mean()), np.finfo(np.float32).tiny)
    change = _change(features, lengths)
    both = (
        _scale_from_lowest(evidence, _MIN_EVIDENCE_RANGE) + _scale_from_lowest(change, _MIN_CHANGE_RANGE)
    ) / 2
    return _to_scores(smooth(both, _HIGHLIGHT_SMOOTHING_S / features.step_s))


def uniform(features: Features, seed: int = 0) -> FloatArray:
    """Return 1 for every sample."""
    return np.ones(len(features), np.float32)


def random(features: Features, seed: int = 0) -> FloatArray:
    """Return random scores; the same for the same seed and number of samples."""
    return np.random.default_rng(seed).random(len(features), dtype=np.float32)


SCORERS: Final[dict[str, Scorer]] = {
    "contrastive": contrastive,
    "cluster": cluster,
    "highlights": highlights,
    "uniform": uniform,
    "random": random,
}


def smooth(curve: Curve, deviation: float) -> Curve:
    """Smooth by a Gaussian of this deviation in samples, up to four away, mirrored (scipy imports slowly)."""
    radius = int(4 * deviation + 0.5)
    weights = np.exp(-0.5 * (np.arange(-radius, radius + 1) / deviation) ** 2)
    return np.convolve(np.pad(curve, radius, "symmetric"), weights / weights.sum(), "valid")


def _change(features: Features, lengths: Curve) -> Curve:
    """Return [T] distance of a sample to the nearer of its neighbours; 0 where there is none."""
    if len(features) == 1:
        return np.zeros(1)
    products = np.einsum("td,td->t", features.array[1:], features.array[:-1], dtype=np.float64)
    between = np.maximum(lengths[1:] * lengths[:-1], np.finfo(np.float32).tiny)
    distance = np.maximum(1 - products / between, 0)
    nearer: Curve = np.minimum(np.append(distance[0], distance), np.append(distance, distance[-1]))
    return nearer


def _scale_from_lowest(values: Curve, least: float) -> Curve:
    """Scale values from 0 to 1, or to less where they differ by less than `least`."""
    low = values.min()
    return np.asarray((values - low) / max(float(values.max() - low), least))


def _scale(values: Curve) -> Curve:
    """Scale values to [0, 1]; all 1 where they are equal, or differ by rounding only."""
    low, high = values.min(), values.max()
    if high - low < _ROUNDING:
        return np.ones_like(values)
    return np.asarray((values - low) / (high - low))


def _to_scores(values: Curve) -> FloatArray:
    return np.asarray(np.clip(values, 0, 1), np.float32)
