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

from vidsum.models.configs import VSEConfig
from vidsum.models.scaling import unit_rows
from vidsum.types import FloatArray

_BLOCK = 1024  # rows that are mapped at a time
CLASSES = "cohort.classes"
"""A tensor [U, K], what the network names in U photographs of the cohort: the roots of its probabilities,
which keep the small ones, in steps of 1 / 255."""


@dataclass(frozen=True, eq=False)
class VisualSemanticMap:
    """Features [T, D] of pictures to rows [T, E] of length 1 in the space of sentences."""

    config: VSEConfig
    tensors: Mapping[str, FloatArray]  # see `shapes_of`

    def __call__(self, features: FloatArray) -> FloatArray:
        """Return [T, E] of features [T, D]; a block at a time, since the hidden layer is wide."""
        starts = range(0, max(1, len(features)), _BLOCK)
        return np.concatenate([self._map(features[start : start + _BLOCK]) for start in starts])

    def _map(self, features: FloatArray) -> FloatArray:
        t = self.tensors
        x = (signed_root(features) - t["mean"]) / t["scale"]
        hidden = np.maximum(x @ t["hidden.weight"].T + t["hidden.bias"], 0)
        return unit_rows(hidden @ t["output.weight"].T + t["output.bias"])

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


class _Unpacked(dict[str, FloatArray]):
    """Multiplies matrices of 8 bits with the scales of their rows, `NAME.steps` [R], on first access.

    Many answers need no layer.
    """

    def __init__(self, tensors: Mapping[str, npt.NDArray[Any]]) -> None:
        super().__init__()
        self._tensors = tensors

    def __missing__(self, name: str) -> FloatArray:
        whole = np.asarray(self._tensors[name], np.float32)
        if (steps := self._tensors.get(f"{name}.steps")) is not None:
            whole = whole * np.asarray(steps, np.float32)[:, None]
        self[name] = whole
        return whole


def _names_in(tensors: Mapping[str, npt.NDArray[Any]]) -> list[str]:
    return [name for name in tensors if (of := name.removesuffix(".steps")) == name or of not in tensors]


def tensor_shapes(config: VSEConfig) -> dict[str, tuple[int, ...]]:
    """Return the tensors of a map: f(x), then what is measured of it on photographs that did not train it.

    `answer` and `noise` are those of `VisualSemanticMap.seen`; `cohort` has the mean of rows, a factor of
    their covariance (`vidsum.grounding.presence`). `CLASSES` is there too where the network has classes.
    """
    d, h, e = config.dim_in, config.hidden, config.dim_out
    layers = {"hidden.weight": (h, d), "hidden.bias": (h,), "output.weight": (e, h), "output.bias": (e,)}
    measured = {"answer.weight": (e, e), "answer.bias": (e,), "noise.weight": (e, e)}
    measured |= {"cohort.mean": (e,), "cohort.weight": (e, e)}
    return {"mean": (d,), "scale": (d,), **layers, **measured}


def build_map(config: VSEConfig, tensors: Mapping[str, npt.NDArray[Any]]) -> VisualSemanticMap:
    """Build the map of a checkpoint. Raises ValueError where the tensors do not fit the configuration."""
    if not all(np.isrealobj(tensor) for tensor in tensors.values()):
        raise ValueError("weights must be real numbers")
    shapes, rows = (
        tensor_shapes(config),
        {f"{name}.steps": tensor.shape[:1] for name, tensor in tensors.items()},
    )
    if {name: tensors[name].shape for name in _names_in(tensors) if name != CLASSES} != shapes:
        raise ValueError(f"tensors of the shapes {shapes} are needed")
    if any(tensor.shape != rows[name] for name, tensor in tensors.items() if name in rows):
        raise ValueError("a matrix in 8 bits needs one step for each row")
    if not all(np.isfinite(tensor).all() for tensor in tensors.values()):
        raise ValueError("weights must be finite numbers")
    return VisualSemanticMap(config, _Unpacked(tensors))
