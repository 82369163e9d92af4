"""How much there is to see at each time of a video, from features alone: no training, no labels, no query.

docs/highlights.md explains the score and how it was chosen.
"""

import numpy as np
import numpy.typing as npt

from vidsum.types import Features, FloatArray

Curve = npt.NDArray[np.float64]

CLIP_S = 2.0
"""Seconds of a clip of highlights, as in QVHighlights."""
_SMOOTHING_S = 0.5
"""Standard deviation of the Gaussian over time."""
_LEAST_EVIDENCE, _LEAST_CHANGE = 0.1, 0.02
"""Smaller differences are not scaled up: noise of a still video must not fill [0, 1]."""


def highlights(features: Features, seed: int = 0) -> FloatArray:
    """[T] saliency in [0, 1]: half how much the network sees in a sample, half how that changes around it.

        e_t = |x_t| / mean |x|          a feature is long where units of the network find what they look for
        c_t = min(D_(t-1,t), D_(t,t+1)) with D = 1 - cosine; the lesser one, for a cut is no event
        s_t = G(e'_t + c'_t) / 2        ' scales to [0, 1] over the video, G smooths over time

    For features of unit length, only the change counts.
    """
    from scipy.ndimage import gaussian_filter1d  # 0.3 s, which commands that score nothing can do without

    lengths = np.sqrt(np.einsum("td,td->t", features.array, features.array, dtype=np.float64))
    evidence = lengths / max(float(lengths.mean()), np.finfo(np.float32).tiny)
    change = _change(features, lengths)
    both = (_scaled(evidence, _LEAST_EVIDENCE) + _scaled(change, _LEAST_CHANGE)) / 2
    return np.asarray(np.clip(gaussian_filter1d(both, _SMOOTHING_S / features.step_s), 0, 1), np.float32)


def _change(features: Features, lengths: Curve) -> Curve:
    """[T] distance of a sample to the nearer of its neighbours; 0 where there is none."""
    if len(features) == 1:
        return np.zeros(1)
    products = np.einsum("td,td->t", features.array[1:], features.array[:-1], dtype=np.float64)
    between = np.maximum(lengths[1:] * lengths[:-1], np.finfo(np.float32).tiny)
    distance = np.maximum(1 - products / between, 0)
    nearer: Curve = np.minimum(np.append(distance[0], distance), np.append(distance, distance[-1]))
    return nearer


def _scaled(values: Curve, least: float) -> Curve:
    """Values from 0 at the lowest to 1 at the highest, or to less where those differ by less than `least`."""
    low = values.min()
    scaled: Curve = (values - low) / max(float(values.max() - low), least)
    return scaled
