"""Importance scores from features alone: no training, no labels. Each scorer maps Features to [T] in [0, 1].

docs/algorithms/importance.md and docs/highlights.md have the equations. `uniform` and `random` are baselines.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from vidsum.models.scaling import changes_around, unit_rows
from vidsum.results.features import Features
from vidsum.types import FloatArray

Curve = npt.NDArray[np.float64]
Scorer = Callable[[Features, int], FloatArray]
"""scorer(features, seed) -> [T], also of features without a video; `random` uses the seed."""

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


def highlights(features: Features, seed: int = 0) -> FloatArray:
    """Return how much the network sees in a sample and, by half, how that changes around it.

        e_t = |x_t| / mean |x|          a feature is long where units of the network find what they look for
        c_t = min(D_(t-1,t), D_(t,t+1)) with D = 1 - cosine; the lesser one, for a cut is no event
        s_t = G(e'_t + c'_t) / 2        ' scales to [0, 1] over the video, G smooths over time

    For features of unit length, only the change counts.
    """
    lengths = np.sqrt(np.einsum("td,td->t", features.array, features.array, dtype=np.float64))
    evidence = lengths / max(float(lengths.mean()), np.finfo(np.float32).tiny)
    change = changes_around(features.array)
    terms = (evidence, _MIN_EVIDENCE_RANGE), (change, _MIN_CHANGE_RANGE)  # no noise is scaled up
    scaled = [(term - term.min()) / max(float(np.ptp(term)), least) for term, least in terms]
    return _to_scores(smooth((scaled[0] + scaled[1]) / 2, _HIGHLIGHT_SMOOTHING_S / features.step_s))


def uniform(features: Features, seed: int = 0) -> FloatArray:
    """Return 1 for every sample."""
    return np.ones(len(features), np.float32)


def random(features: Features, seed: int = 0) -> FloatArray:
    """Return random scores; the same for the same seed and number of samples."""
    return np.random.default_rng(seed).random(len(features), dtype=np.float32)


SCORERS: Final[dict[str, Scorer]] = {
    "contrastive": contrastive,
    "highlights": highlights,
    "uniform": uniform,
    "random": random,
}


def smooth(curve: Curve, deviation: float) -> Curve:
    """Smooth by a Gaussian of this deviation in samples, up to four away, mirrored (scipy imports slowly)."""
    radius = int(4 * deviation + 0.5)
    weights = np.exp(-0.5 * (np.arange(-radius, radius + 1) / deviation) ** 2)
    return np.convolve(np.pad(curve, radius, "symmetric"), weights / weights.sum(), "valid")


def _scale(values: Curve) -> Curve:
    """Scale values to [0, 1]; all 1 where they are equal, or differ by rounding only."""
    low, high = values.min(), values.max()
    if high - low < _ROUNDING:
        return np.ones_like(values)
    return np.asarray((values - low) / (high - low))


def _to_scores(values: Curve) -> FloatArray:
    return np.asarray(np.clip(values, 0, 1), np.float32)
