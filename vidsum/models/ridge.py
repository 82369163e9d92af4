"""A score for each frame by ridge regression, linear in the features around it, in NumPy."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vidsum.models.configs import RidgeConfig
from vidsum.models.scaling import standardise
from vidsum.types import FloatArray


@dataclass(frozen=True, eq=False)
class RidgeScorer:
    """[T, D] features to [T] scores: x averaged over a window, w x, averaged over a window again."""

    config: RidgeConfig
    weights: FloatArray  # [D]
    spread: float = 1.0  # deviation of the scores within the training videos, which divides them

    def __call__(self, features: FloatArray) -> FloatArray:
        """Scores of a whole video, less their mean."""
        # the mean of products is the product of the mean, in a thousandth of the memory
        scores = moving_average((features @ self.weights)[:, None], self.config.window)
        scores = moving_average(scores, self.config.window)[:, 0]
        return np.asarray((scores - scores.mean()) / self.spread, np.float32)

    @property
    def arrays(self) -> dict[str, FloatArray]:
        """The tensors of a checkpoint; see `build_scorer`."""
        return {"weights": self.weights, "spread": np.array(self.spread, np.float32)}


def add_novelty(scores: FloatArray, novelty: FloatArray, weight: float) -> FloatArray:
    """Return [T] scores of deviation 1 with the standardised novelty [T], again of deviation 1."""
    return np.asarray((scores + weight * standardise(novelty)) / math.sqrt(1 + weight**2), np.float32)


def build_scorer(config: RidgeConfig, arrays: Mapping[str, npt.NDArray[Any]]) -> RidgeScorer:
    """Build the regression of a checkpoint. Raises ValueError where the arrays do not fit the config."""
    shapes: dict[str, tuple[int, ...]] = {"weights": (config.dim_in,), "spread": ()}
    if {name: array.shape for name, array in arrays.items()} != shapes:
        raise ValueError(f"arrays of the shapes {shapes} are needed")
    if any(np.iscomplexobj(array) for array in arrays.values()):
        raise ValueError("weights cannot be complex numbers")
    return RidgeScorer(config, np.asarray(arrays["weights"], np.float32), float(arrays["spread"]))


def moving_average(rows: npt.NDArray[np.floating[Any]], window: int) -> FloatArray:
    """Return [T, D] means over windows [t - window // 2, t + window // 2]; the ends are repeated."""
    half = window // 2
    padded = np.pad(rows.astype(np.float64), ((half + 1, half), (0, 0)), mode="edge")
    sums = np.cumsum(padded, axis=0)
    return np.asarray((sums[window:] - sums[:-window]) / window, np.float32)
