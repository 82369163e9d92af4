"""A score for each frame by ridge regression: linear in the features around it, or in random ones of them.

In NumPy: the model that ships is one product, and needs no torch.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vidsum.models.configs import RidgeConfig
from vidsum.types import FloatArray


@dataclass(frozen=True, eq=False)
class RidgeScorer:
    """[T, D] features to [T] scores: x averaged over a window, w phi(x), averaged over a window again.

    phi is the identity, or sqrt(2 / C) cos(P x + b), the random features of a Gaussian kernel (Rahimi and
    Recht, "Random Features for Large-Scale Kernel Machines", 2007).
    """

    config: RidgeConfig
    weights: FloatArray
    """[C]; C is D for the identity."""
    spread: float = 1.0
    """Standard deviation of the scores within the training videos, which scores are divided by."""
    projection: FloatArray | None = None
    """[C, D] P"""
    offset: FloatArray | None = None
    """[C] b"""

    def __call__(self, features: FloatArray) -> FloatArray:
        """Scores of a whole video, less their mean."""
        if self.projection is None:
            # the mean of products is the product of the mean, in a thousandth of the memory
            scores = averaged((features @ self.weights)[:, None], self.config.window)
        else:
            scores = (self.expand(features) @ self.weights)[:, None]
        scores = averaged(scores, self.config.window)[:, 0]
        return np.asarray((scores - scores.mean()) / self.spread, np.float32)

    def expand(self, features: FloatArray) -> FloatArray:
        """[T, C] phi of features that are averaged over a window."""
        rows = averaged(features, self.config.window)
        if self.projection is None or self.offset is None:
            return rows
        phases = rows @ self.projection.T + self.offset
        return np.asarray(math.sqrt(2 / self.config.components) * np.cos(phases), np.float32)

    @property
    def arrays(self) -> dict[str, FloatArray]:
        """What `scorer_of` makes it of again."""
        random = {"projection": self.projection, "offset": self.offset}
        given = {name: array for name, array in random.items() if array is not None}
        return {"weights": self.weights, "spread": np.array(self.spread, np.float32), **given}


def scorer_of(config: RidgeConfig, arrays: Mapping[str, npt.NDArray[Any]]) -> RidgeScorer:
    """The regression of a checkpoint. Raises ValueError where the arrays do not fit the configuration."""
    n_components, dim = config.components, config.dim_in
    shapes: dict[str, tuple[int, ...]] = {"weights": (n_components or dim,), "spread": ()}
    if n_components:
        shapes |= {"projection": (n_components, dim), "offset": (n_components,)}
    if {name: array.shape for name, array in arrays.items()} != shapes:
        raise ValueError(f"arrays of the shapes {shapes} are needed")
    if any(np.iscomplexobj(array) for array in arrays.values()):
        raise ValueError("weights cannot be complex numbers")
    real = {name: np.asarray(array, np.float32) for name, array in arrays.items()}
    random = (real.get("projection"), real.get("offset"))
    return RidgeScorer(config, real["weights"], float(real["spread"]), *random)


def averaged(rows: npt.NDArray[np.floating[Any]], window: int) -> FloatArray:
    """[T, D] means over windows [t - window // 2, t + window // 2]; the ends are repeated."""
    half = window // 2
    padded = np.pad(rows.astype(np.float64), ((half + 1, half), (0, 0)), mode="edge")
    sums = np.cumsum(padded, axis=0)
    return np.asarray((sums[window:] - sums[:-window]) / window, np.float32)
