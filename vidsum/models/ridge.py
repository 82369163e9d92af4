"""A score for each frame by ridge regression: linear in the features around it, or in random ones of them."""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool1d, pad

from vidsum.models.configs import RidgeConfig


class RidgeScorer(nn.Module):
    """[B, T, D] features to [B, T] scores: x averaged over a window, w phi(x), averaged over a window again.

    phi is the identity, or sqrt(2 / C) cos(P x + b), the random features of a Gaussian kernel (Rahimi and
    Recht, "Random Features for Large-Scale Kernel Machines", 2007).
    """

    def __init__(self, config: RidgeConfig) -> None:
        super().__init__()
        self.config = config
        n_features = config.components or config.dim_in
        self.weights = nn.Parameter(torch.zeros(n_features))
        self.register_buffer("spread", torch.ones(()))
        """Standard deviation of the scores within the training videos, which scores are divided by."""
        if config.components:
            self.register_buffer("projection", torch.zeros(config.components, config.dim_in))
            self.register_buffer("offset", torch.zeros(config.components))

    def forward(self, features: Tensor) -> Tensor:
        """Scores of whole videos, each less its mean."""
        scores = averaged(self.expand(features) @ self.weights[:, None], self.config.window)[:, :, 0]
        return (scores - scores.mean(dim=1, keepdim=True)) / self.get_buffer("spread")

    def expand(self, features: Tensor) -> Tensor:
        """[B, T, C] phi of features that are averaged over a window."""
        rows = averaged(features, self.config.window)
        if not self.config.components:
            return rows
        phases = rows @ self.get_buffer("projection").T + self.get_buffer("offset")
        return math.sqrt(2 / self.config.components) * phases.cos()


def averaged(rows: Tensor, window: int) -> Tensor:
    """[B, T, D] means over windows [t - window // 2, t + window // 2]; the ends are repeated."""
    half = window // 2
    return avg_pool1d(pad(rows.mT, (half, half), mode="replicate"), window, stride=1).mT
