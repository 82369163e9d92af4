"""Measures of a map on pictures that did not train it: its answers to sentences, and a cohort."""

from typing import Final

import numpy as np
import numpy.typing as npt

from vidsum.features import describe, get_extractor
from vidsum.grounding.conse import class_probabilities
from vidsum.lab.evaluation.vse import Ranks
from vidsum.models.vse import LEVELS
from vidsum.types import FloatArray, TimeArray

PENALTIES: Final = (3.0, 10.0, 30.0, 100.0, 300.0)
"""Penalties of the regression of pictures' vectors on sentences'; folds of the pictures choose."""
FOLDS: Final = 5
_COHORT = 256  # maximum number of photographs whose classes are kept


def measure_map(pictures: FloatArray, sentences: FloatArray, picture_of: Ranks) -> dict[str, FloatArray]:
    """Return the tensors of `vidsum.models.vse.shapes_of` other than the layers, from held-out pictures.

    `answer`: ridge regression of pictures on sentences; `noise`: the covariance of its residuals in folds;
    `cohort`: mean and covariance of the pictures. Of pictures [N, E], sentences [M, E], `picture_of` [M].
    """
    x, y = sentences.astype(np.float64), pictures[picture_of].astype(np.float64)
    tried = []
    for penalty in PENALTIES:
        residuals = np.empty_like(y)
        for fold in range(FOLDS):
            is_out = picture_of % FOLDS == fold
            weight, bias = _regression(x[~is_out], y[~is_out], penalty)
            residuals[is_out] = y[is_out] - x[is_out] @ weight.T - bias
        tried.append((float((residuals**2).sum()), penalty, residuals))
    _, penalty, residuals = min(tried, key=lambda trial: trial[0])
    weight, bias = _regression(x, y, penalty)
    cohort = pictures.mean(axis=0)
    matrices = {
        "answer.weight": weight,
        "noise.weight": _factor(residuals),
        "cohort.weight": _factor((pictures - cohort).astype(np.float64)),
        "answer.bias": bias,
        "cohort.mean": cohort,
    }
    return {name: np.asarray(matrix, np.float32) for name, matrix in matrices.items()}


def cohort_classes(features: FloatArray, extractor: str, device: str) -> npt.NDArray[np.uint8]:
    """Return [U, K] `vidsum.models.vse.CLASSES` of features [N, D]; [0, 0] without class scores."""
    spec = describe(extractor)
    if spec.class_names is None:
        return np.empty((0, 0), np.uint8)
    logits = get_extractor(spec, device=device).logits(features[:_COHORT])
    return np.round(np.sqrt(class_probabilities(logits)) * LEVELS).astype(np.uint8)


def _factor(rows: TimeArray) -> TimeArray:
    """Return [E, E] whose product with its transpose is the mean of the squares of rows [N, E]."""
    variances, axes = np.linalg.eigh(rows.T @ rows / len(rows))
    return np.asarray(axes * np.sqrt(np.maximum(variances, 0)))


def _regression(x: TimeArray, y: TimeArray, penalty: float) -> tuple[TimeArray, TimeArray]:
    """Return W [E, E] and b [E] that minimise the sum of |y - W x - b|^2 + penalty |W - g I|^2."""
    mean_x, mean_y = x.mean(axis=0), y.mean(axis=0)
    centred, answers = x - mean_x, y - mean_y
    gain = float((centred * answers).sum() / (centred**2).sum())
    products = centred.T @ centred + penalty * np.eye(x.shape[1])
    rest = np.linalg.solve(products, centred.T @ (answers - gain * centred)).T
    weight = gain * np.eye(x.shape[1]) + rest
    return weight, mean_y - weight @ mean_x
