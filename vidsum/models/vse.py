"""A visual-semantic embedding (VSE): a map from features of pictures to the space of a text encoder.

    f(x) = norm(W2 relu(W1 (root(x) - mean) / scale + b1) + b2),    root(x) = sign(x) sqrt(|x|)

It is learned from photographs with sentences by a contrastive loss in both directions (Faghri et al., "VSE++:
Improving Visual-Semantic Embeddings with Hard Negatives", 2018, with the loss of CLIP). In NumPy: what ships
needs no torch. docs/algorithms/vse.md has the training and the measurements.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vidsum.models.scaling import unit_rows
from vidsum.types import FloatArray

_BLOCK = 1024  # rows that are mapped at a time
_MATRIX_ROWS = 256  # rows of a packed matrix that are unpacked at a time
CLASSES = "cohort.classes"
"""A tensor [U, K], what the network names in U photographs of the cohort: the roots of its probabilities,
which keep the small ones, in steps of 1 / 255."""


@dataclass(frozen=True, eq=False)
class VisualSemanticMap:
    """Features [T, D] of pictures to rows [T, E] of length 1 in the space of sentences."""

    tensors: Mapping[str, FloatArray]
    """f(x) has `mean` and `scale` [D], `hidden.weight` [H, D], `hidden.bias` [H], `output.weight` [E, H] and
    `output.bias` [E]. The others were measured on photographs that did not train it: `answer` and `noise` of
    `simulate`, and the mean and a factor of the covariance of rows, `cohort`: an archive's axes.
    """

    def __call__(self, features: FloatArray) -> FloatArray:
        """Return [T, E] of features [T, D]; a block at a time, since the hidden layer is wide."""
        starts = range(0, max(1, len(features)), _BLOCK)
        return np.concatenate([self._map(features[start : start + _BLOCK]) for start in starts])

    def _map(self, features: FloatArray) -> FloatArray:
        t = self.tensors
        x = (signed_root(features) - t["mean"]) / t["scale"]
        hidden = np.maximum(self._hidden(x) + t["hidden.bias"], 0)
        return unit_rows(hidden @ t["output.weight"].T + t["output.bias"])

    def _hidden(self, x: FloatArray) -> FloatArray:
        """Return [T, H] of rows [T, D], before bias and ReLU: `UnpackedTensors` have no matrix in fp32."""
        name, tensors = "hidden.weight", self.tensors
        return tensors.multiply(x, name) if isinstance(tensors, UnpackedTensors) else x @ tensors[name].T

    def simulate(self, captions: FloatArray, noise: FloatArray) -> FloatArray:
        """Simulate [T, E] the rows of pictures that captions [T, E] of length 1 describe.

        Linear in the caption, with noise: both were measured on photographs that did not train the map.
        `noise` [T, E] is standard normal.
        """
        t = self.tensors
        answer = captions @ t["answer.weight"].T + t["answer.bias"]
        return unit_rows(answer + noise @ t["noise.weight"].T)


def signed_root(features: FloatArray) -> FloatArray:
    """Return signed square roots: pooled features have a long tail."""
    return np.asarray(np.sign(features) * np.sqrt(np.abs(features)), np.float32)


class UnpackedTensors(dict[str, FloatArray]):
    """Multiplies matrices of 8 bits with the scales of their rows, `NAME.steps` [R], on first access.

    Many answers need no layer.
    """

    def __init__(self, tensors: Mapping[str, npt.NDArray[Any]]) -> None:
        super().__init__()
        self._tensors = tensors

    def multiply(self, x: FloatArray, name: str) -> FloatArray:
        """Return [T, R] of x [T, D] and a matrix [R, D], a few rows of it at a time: all would be large."""
        matrix, steps = self._tensors[name], self._tensors.get(f"{name}.steps")
        product = np.empty((len(x), len(matrix)), np.float32)
        for start in range(0, len(matrix), _MATRIX_ROWS):
            rows = slice(start, start + _MATRIX_ROWS)
            product[:, rows] = x @ np.asarray(matrix[rows], np.float32).T
        return product if steps is None else product * np.asarray(steps, np.float32)

    def __missing__(self, name: str) -> FloatArray:
        whole = np.array(self._tensors[name], np.float32)
        if (steps := self._tensors.get(f"{name}.steps")) is not None:
            whole *= np.asarray(steps, np.float32)[:, None]
        self[name] = whole
        return whole
