"""Rows of unit length, probabilities, and curves scaled to [0, 1]."""

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from vidsum.types import FloatArray, TimeArray

_BLOCK = 1024  # rows that are scaled or compared at a time: a copy of the features of a long video is large


def unit_rows(rows: npt.NDArray[np.floating], out: FloatArray | None = None) -> FloatArray:
    """Return rows [N, D] scaled to length 1, in `out` if it is given; rows of zeros stay."""
    scaled = np.empty(rows.shape, np.float32) if out is None else out
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        lengths = np.linalg.norm(block, axis=1, keepdims=True)
        scaled[start : start + _BLOCK] = block / np.where(lengths > 0, lengths, 1)
    return scaled


def exact_unit_rows(rows: FloatArray) -> FloatArray:
    """Return rows [N, D] scaled to length 1, however large; rows of zeros stay.

    Squares are added up in float64: squares of large float32 features are beyond float32.
    """
    lengths = np.sqrt(np.einsum("td,td->t", rows, rows, dtype=np.float64))
    return np.asarray(rows / np.where(lengths > 0, lengths, 1).astype(np.float32)[:, None], np.float32)


def distances_between(rows: FloatArray, scale: Callable[[FloatArray], FloatArray] = unit_rows) -> TimeArray:
    """Return [N - 1] 1 - cosine of each of N rows and the next; `scale` makes rows of length 1 of them."""
    distances = np.empty(len(rows) - 1)
    for start in range(0, len(distances), _BLOCK):
        differences = np.diff(scale(rows[start : start + _BLOCK + 1]), axis=0)
        squares = np.einsum("td,td->t", differences, differences, dtype=np.float64)
        distances[start : start + _BLOCK] = squares / 2
    return distances


def changes_around(rows: FloatArray) -> TimeArray:
    """Return [N] 1 - cosine of each of N rows and the nearer of its two neighbours; 0 of one."""
    steps = distances_between(rows) if len(rows) > 1 else np.zeros(1)
    nearer: TimeArray = np.minimum(np.append(steps[0], steps), np.append(steps, steps[-1]))
    return nearer[: len(rows)]


def mean_of_normalised(rows: FloatArray) -> FloatArray:
    """Return [D] the mean of rows [N, D], each normalised (LayerNorm without weights)."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    scale = np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
    return np.asarray((centred / scale).mean(axis=0), np.float32)


def softmax(scores: FloatArray) -> FloatArray:
    """Return [..., K] probabilities of scores [..., K]; rows sum to 1."""
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True), np.float32)


def logistic(scores: npt.NDArray[np.floating]) -> FloatArray:
    """1 / (1 + exp(-scores)), in a form that cannot overflow."""
    return np.asarray((1 + np.tanh(scores / 2)) / 2, np.float32)


LEAST_IMPORTANCE: Final = 0.02
"""Lower importance, such as that of black footage, counts as this in a choice: a logit of -3.9."""


def logit(probabilities: npt.NDArray[np.floating], least: float = 1e-6) -> FloatArray:
    """log(p / (1 - p)) of probabilities, which count as `least` and as 1 - `least` where they are beyond."""
    chance = np.clip(probabilities.astype(np.float64), least, 1 - least)
    return np.asarray(np.log(chance / (1 - chance)), np.float32)


def standardise(curves: npt.NDArray[np.floating]) -> FloatArray:
    """Return [..., T] curves with mean 0 and deviation 1 over T, zeros where they are flat."""
    centred = curves - curves.mean(axis=-1, keepdims=True)
    spread = centred.std(axis=-1, keepdims=True)
    scaled = np.divide(centred, spread, out=np.zeros_like(centred), where=spread > 1e-6)
    return np.asarray(scaled, np.float32)


def unit_range(curve: FloatArray, flat: float = 0.0) -> FloatArray:
    """Return [T] the curve scaled from 0 at its lowest to 1 at its highest; `flat` where all are equal."""
    low, high = float(curve.min()), float(curve.max())
    if high == low:
        return np.full_like(curve, flat)
    return np.asarray((curve - low) / (high - low), np.float32)
