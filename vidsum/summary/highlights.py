"""How much there is to see at each time of a video, from features alone: no training, no labels, no query.

docs/highlights.md tells what the score means, and what it was chosen by.
"""

import numpy as np
import numpy.typing as npt

from vidsum.types import Features, FloatArray

Curve = npt.NDArray[np.float64]

_LEAST_EVIDENCE, _LEAST_CHANGE = 0.1, 0.02
"""Differences in a video that count as little as they are: noise of a still one is not drawn out to [0, 1]."""


def highlights(features: Features, seed: int = 0) -> FloatArray:
    """[T] saliency in [0, 1]: half how much the network sees in a sample, half how that changes around it.

        e_t = |x_t| / mean |x|          a feature is long where units of the network find what they look for
        c_t = min(D_(t-1,t), D_(t,t+1)) with D = 1 - cosine; the lesser one, for a cut is no event
        s_t = (e'_t + c'_t) / 2         ' scales to [0, 1] over the video

    Of features that were made unit length, only the change tells.
    """
    lengths = np.sqrt(np.einsum("td,td->t", features.array, features.array, dtype=np.float64))
    evidence = lengths / max(float(lengths.mean()), np.finfo(np.float32).tiny)
    saliency = (_scaled(evidence, _LEAST_EVIDENCE) + _scaled(_change(features, lengths), _LEAST_CHANGE)) / 2
    return np.asarray(saliency, np.float32)


def _change(features: Features, lengths: Curve) -> Curve:
    """[T] how far a sample is from the nearer of its neighbours; 0 where there is none."""
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
