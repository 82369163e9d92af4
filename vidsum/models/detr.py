"""What the DETR models of moments share: their settings, what they give, inputs, encoder layers, saliency.

Moment-DETR (Lei et al. 2021) and QD-DETR (Moon et al. 2023) read the clips of a video and the words of a
query, and answer with a fixed number of moments and a saliency of each clip. docs/algorithms/detr.md has the
equations.
"""

import math
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn

from vidsum.models.attention.heads import MultiHeadAttention
from vidsum.models.attention.learned_mask import LearnedMask, SoftMask, fused_attention
from vidsum.models.attention.positions import sines
from vidsum.models.configs import DETRConfig
from vidsum.models.input_projection import input_projection


class Detections(NamedTuple):
    """What a model finds in a batch of videos with one query each; L decoder layers, N moments, T clips."""

    logits: Tensor
    """[L, B, N, 2] of each decoder layer, the last is the answer; class 0 is a moment, class 1 is none."""
    spans: Tensor
    """[L, B, N, 2] centre and width, as shares of the clips that are no padding."""
    saliency: Tensor
    """[B, T], in no unit; clips of padding mean nothing."""


class TokenInputs(nn.Module):
    """Clips and words as tokens of d numbers, and where in its video each clip is."""

    def __init__(self, config: DETRConfig) -> None:
        super().__init__()
        self.config = config
        self.video = input_projection(config.dim_video, config.d, config.dropout_in)
        self.words = input_projection(config.dim_query, config.d, config.dropout_in)

    def forward(self, video: Tensor, is_clip: Tensor, words: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Clips [B, T, d], words [B, W, d], and the clips' positions [B, T, d].

        Args:
            video: [B, T, dim_video]
            is_clip: [B, T] bool, False for padding, which comes last.
            words: [B, W, dim_query]

        Raises:
            ValueError: there are more clips or words than the config has.
        """
        for what, given, most in (
            ("clips", video.shape[1], self.config.clips),
            ("words", words.shape[1], self.config.words),
        ):
            if given > most:
                raise ValueError(f"{given} {what} are more than the model's {most}")
        return self.video(video), self.words(words), clip_positions(is_clip, self.config.d)


class EncoderLayer(nn.Module):
    """Self-attention and a feed-forward network; a norm after each residual."""

    def __init__(self, config: DETRConfig, mask: LearnedMask | None, activation: nn.Module) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(config.d, config.heads)
        self.mask = mask
        self.feed_forward = feed_forward(config, activation)
        self.norms = nn.ModuleList(nn.LayerNorm(config.d) for _ in range(2))
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, x: Tensor, positions: Tensor, is_token: Tensor, mask: SoftMask | None
    ) -> tuple[Tensor, SoftMask | None]:
        """[B, N, d] to the same, and the learned mask for the next layer; positions act on queries and keys.

        Args:
            x: [B, N, d]
            positions: [B, N, d]
            is_token: [B, N] bool, False for padding.
            mask: the layer's before, if all share one.
        """
        placed = x + positions
        q, k, v = self.attention.queries(placed), self.attention.keys(placed), self.attention.values(x)
        mask = self.mask(x, q, k, is_token) if self.mask else mask
        heads = fused_attention(q, k, v, mask, is_token, active(self.dropout))
        x = self.norms[0](x + self.dropout(self.attention.join(heads)))
        return self.norms[1](x + self.dropout(self.feed_forward(x))), mask


class GlobalSaliency(nn.Module):
    """QD-DETR's saliency: how each clip fits a token that goes through the encoder with the clips."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.token = nn.Parameter(torch.randn(d))
        self.position = nn.Parameter(torch.randn(d))
        self.of_clips, self.of_token = nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, clips: Tensor, token: Tensor) -> Tensor:
        """[B, T] scaled products of clips [B, T, d] and the token [B, d] as the encoder left them."""
        products: Tensor = self.of_clips(clips) @ self.of_token(token)[:, :, None]
        return products[:, :, 0] / math.sqrt(token.shape[1])


def clip_positions(is_clip: Tensor, d: int) -> Tensor:
    """[B, T, d] sines and cosines of n / T of [B, T] bool, n from 1 and T without the padding."""
    count = is_clip.cumsum(1, dtype=torch.float32)
    return sines(count / (count[:, -1:] + 1e-6), d)


def feed_forward(config: DETRConfig, activation: nn.Module) -> nn.Sequential:
    """d to d_ff numbers and back."""
    return nn.Sequential(
        nn.Linear(config.d, config.d_ff),
        activation,
        nn.Dropout(config.dropout),
        nn.Linear(config.d_ff, config.d),
    )


def mlp(d_in: int, d: int, d_out: int, layers: int) -> nn.Sequential:
    """So many linear layers with a ReLU between them; d is the width of the hidden ones."""
    widths = [d_in, *[d] * (layers - 1), d_out]
    modules = [module for pair in pairwise(widths) for module in (nn.Linear(*pair), nn.ReLU())]
    return nn.Sequential(*modules[:-1])


def active(dropout: nn.Dropout) -> float:
    """The share that is dropped now: none outside of training."""
    return dropout.p if dropout.training else 0.0


def initialise(module: nn.Module) -> None:
    """For `apply` on encoders and decoders: Xavier weights, and attention without biases.

    Learned masks keep a start of their own.
    """
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
    elif isinstance(module, MultiHeadAttention):
        for projection in (module.q, module.k, module.v, module.out):
            nn.init.zeros_(projection.bias)
    elif isinstance(module, LearnedMask):
        module.reset_parameters()
