"""A score for each frame beside FullTransNet's decoder: ours, not the paper's (`--head frame`).

The decoder writes one summary of one length, and its steps have to be turned into a curve; people rate each
moment. docs/results.md compares the two on human scores.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import avg_pool1d, pad

from vidsum.models.configs import FullTransNetConfig, RidgeConfig


class FrameScores(nn.Module):
    """Scores whose differences count: of the encoder's output, on top of ridge regression of the features.

    score = ridge(x) + network(y), where y is the encoder's output and ridge the regression that
    `vidsum.models.ridge` has in NumPy, frozen. The network starts at zero, so that the model starts as ridge
    regression. Without `--ridge`, the network is all. Both are averaged over ridge regression's window.
    """

    ridge: Tensor  # [D] weights, in the units of people's scores, of deviation 1 within a video

    def __init__(self, config: FullTransNetConfig) -> None:
        super().__init__()
        self.network = nn.Linear(config.d, 1)
        self.has_ridge = config.ridge
        if config.ridge:
            self.register_buffer("ridge", torch.zeros(config.dim_in))

    def start_as_ridge(self) -> None:
        """Let the network's part be zero."""
        if self.has_ridge:
            nn.init.zeros_(self.network.weight)

    def network_part(self, memory: Tensor) -> Tensor:
        """Return [B, T] the network's part, of the encoder's output [B, T, d]."""
        return moving_average(self.network(memory)[:, :, 0])

    def forward(self, features: Tensor, memory: Tensor) -> Tensor:
        """Return [B, T] scores of [B, T, D] features and the encoder's output."""
        scores = self.network_part(memory)
        return scores + moving_average(moving_average(features @ self.ridge)) if self.has_ridge else scores


def moving_average(scores: Tensor, window: int = RidgeConfig.window) -> Tensor:
    """Return [B, T] means over windows, the ends repeated; see `vidsum.models.ridge.averaged`."""
    half = window // 2
    return avg_pool1d(pad(scores[:, None], (half, half), mode="replicate"), window, stride=1)[:, 0]


def frame_loss(scores: Tensor, target: Tensor) -> Tensor:
    """Mean squared error of [B, T] scores and targets, each less its mean over the video."""
    errors = (scores - scores.mean(dim=1, keepdim=True)) - (target - target.mean(dim=1, keepdim=True))
    return errors.square().mean()
