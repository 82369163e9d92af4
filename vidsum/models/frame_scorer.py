"""FullTransNet's encoder with a score for each frame in place of the decoder: ours, not the paper's.

The decoder writes one summary of one length, and its steps have to be turned into a curve; people rate each
moment. docs/results.md compares the two on human scores.
"""

import torch
from torch import Tensor, nn

from vidsum.models.attention.learned_mask import learned_masks, shared_mask
from vidsum.models.configs import FullTransNetConfig
from vidsum.models.fulltransnet import EncoderLayer, FullTransNet, initialise, positions


class FrameScorer(nn.Module):
    """Eq. 1-4 and 9-10 of FullTransNet, then a linear layer: [B, T, D] features to [B, T] scores."""

    def __init__(self, config: FullTransNetConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Sequential(nn.Linear(config.dim_in, config.d), nn.LayerNorm(config.d))
        masks = learned_masks(config.mask, config.d, config.t_max, config.layers)
        self.encoder = nn.ModuleList(EncoderLayer(config, mask) for mask in masks)
        self.score = nn.Linear(config.d, 1)
        self.dropout = nn.Dropout(config.dropout)
        self.apply(initialise)

    def forward(self, features: Tensor, is_global: Tensor, is_valid: Tensor | None = None) -> Tensor:
        """Scores whose differences count: 1 is the standard deviation of people's scores within a video.

        Args:
            features: [B, T, D]
            is_global: [B, T] bool, see `vidsum.models.fulltransnet.global_tokens`.
            is_valid: [B, T] bool, False for padding; all valid if not given.
        """
        if is_valid is None:
            is_valid = torch.ones_like(is_global)
        x = self.embedding(features)
        x = self.dropout(x + positions(x.shape[1], x))
        shared = shared_mask(self.encoder, x)
        for layer in self.encoder:
            x = layer(x, is_global, is_valid, shared)
        scores: Tensor = self.score(x)[:, :, 0]
        return scores


def model_of(config: FullTransNetConfig) -> "FullTransNet | FrameScorer":
    """The model of a configuration: the paper's, or that with the head `frame`."""
    return FrameScorer(config) if config.head == "frame" else FullTransNet(config)


def frame_loss(scores: Tensor, target: Tensor) -> Tensor:
    """Mean squared error of [B, T] scores and targets, each less its mean over the video."""
    errors = (scores - scores.mean(dim=1, keepdim=True)) - (target - target.mean(dim=1, keepdim=True))
    return errors.square().mean()
