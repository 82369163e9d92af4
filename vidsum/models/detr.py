"""Shared parts of the DETR models: inputs, the base model, encoder layers, spans.

Moment-DETR (Lei et al. 2021) and QD-DETR (Moon et al. 2023) read the clips of a video and the words of a
query, and predict a fixed number of moments and a saliency of each clip. See docs/algorithms/detr.md.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from vidsum.device import move
from vidsum.models.attention.heads import MultiHeadAttention, input_projection, sines
from vidsum.models.attention.learned_mask import Mask, SoftMask, fused_attention
from vidsum.models.configs import DETRConfig
from vidsum.types import FloatArray


class DETRInputs(NamedTuple):
    """B videos with one query each, on a device: the arguments of `DETR.forward` in their order."""

    video: Tensor  # [B, T, Dv], padded with zeros
    is_clip: Tensor  # [B, T] bool
    words: Tensor  # [B, W, Dq], padded with zeros
    is_word: Tensor  # [B, W] bool


class Encoded(NamedTuple):
    """The output of an encoder: the decoder's arguments, and saliency."""

    memory: Tensor  # [B, N, d] tokens, the clips first
    positions: Tensor  # [B, N, d]
    is_token: Tensor  # [B, N] bool, False for padding
    saliency: Callable[[], Tensor]  # returns [B, T]; after the decoder: the order changes sums of gradients


class Detections(NamedTuple):
    """The output of a model for a batch; L decoder layers, N moments, T clips."""

    logits: Tensor  # [L, B, N, 2] of each decoder layer, last the answer; class 0 is a moment
    spans: Tensor  # [L, B, N, 2] centre and width, as fractions of the clips that are not padding
    saliency: Tensor  # [B, T], in no unit; clips of padding mean nothing


def pad_inputs(videos: Sequence[FloatArray], words: Sequence[FloatArray], device: torch.device) -> DETRInputs:
    """Pad B videos [T, Dv], with endpoints of each clip, and the words [W, Dq] of B queries to a batch."""
    return DETRInputs(*pad_rows(videos, device), *pad_rows(words, device))


def pad_rows(rows: Sequence[FloatArray], device: torch.device) -> tuple[Tensor, Tensor]:
    """Return [B, N, D] of arrays [n, D], padded with zeros; and [B, N] bool, False for padding."""
    lengths = np.array([len(array) for array in rows])
    is_row = np.arange(lengths.max()) < lengths[:, None]
    filled = np.zeros((*is_row.shape, rows[0].shape[1]), np.float32)
    filled[is_row] = np.concatenate(rows)
    return move(filled, device), move(is_row, device)


class DETR(nn.Module):
    """Base class of the models; a subclass implements `_encode` and sets `decoder`."""

    decoder: nn.Module

    def __init__(self, config: DETRConfig) -> None:
        super().__init__()
        self.config = config
        sizes = {"video": config.dim_video, "words": config.dim_query}
        self.inputs = nn.ModuleDict(
            {name: input_projection(dim, config.d, config.dropout_in) for name, dim in sizes.items()}
        )

    def forward(self, video: Tensor, is_clip: Tensor, words: Tensor, is_word: Tensor) -> Detections:
        """Detect the moments of each video for its query.

        Args:
            video: [B, T, dim_video], the last two numbers of a clip its endpoints; T at most `clips`.
            is_clip: [B, T] bool, False for padding, which comes last.
            words: [B, W, dim_query]; W at most `words`.
            is_word: [B, W] bool, False for padding.

        Raises ValueError: there are more clips or words than the config has.
        """
        memory, positions, is_token, saliency = self.encode(video, is_clip, words, is_word)
        logits, spans = self.decoder(memory, positions, is_token)
        return Detections(logits, spans, saliency())

    def saliency(self, video: Tensor, is_clip: Tensor, words: Tensor, is_word: Tensor) -> Tensor:
        """Return [B, T], by the encoder alone; see `forward`."""
        return self.encode(video, is_clip, words, is_word).saliency()

    def encode(self, video: Tensor, is_clip: Tensor, words: Tensor, is_word: Tensor) -> Encoded:
        """Return all that comes before the decoder; see `forward`."""
        sizes = ("clips", video, self.config.clips), ("words", words, self.config.words)
        for name, rows, most in sizes:
            if rows.shape[1] > most:
                raise ValueError(f"{rows.shape[1]} {name} are more than the model's {most}")
        clips, texts = self.inputs["video"](video), self.inputs["words"](words)
        positions = clip_positions(is_clip, self.config.d).to(video.dtype)
        return self._encode(clips, positions, is_clip, texts, is_word)

    def _encode(
        self, clips: Tensor, positions: Tensor, is_clip: Tensor, words: Tensor, is_word: Tensor
    ) -> Encoded:
        """Return the encoder, from the tokens of clips [B, T, d], their positions, and words [B, W, d]."""
        raise NotImplementedError


class DETREncoderLayer(nn.Module):
    """Self-attention and a feed-forward network; a norm after each residual."""

    def __init__(self, config: DETRConfig, mask: Mask | None, activation: nn.Module) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(config.d, config.heads)
        self.mask = mask
        self.feed_forward = feed_forward(config, activation)
        self.norms = nn.ModuleList(nn.LayerNorm(config.d) for _ in range(2))
        self.dropout, self.linear = nn.Dropout(config.dropout), added_layers(config)

    def forward(
        self, x: Tensor, positions: Tensor, is_token: Tensor, previous: SoftMask | None = None
    ) -> tuple[Tensor, SoftMask | None]:
        """Return [B, N, d] to the same, and the mask for the next layer; positions act on queries and keys.

        Both are [B, N, d]; `is_token` [B, N] bool is False for padding, `previous` is the mask of the layer
        before, for a layer without one of its own.
        """
        keys = x + positions
        q, k, v = self.attention.queries(keys), self.attention.keys(keys), self.attention.values(x)
        mask = self.mask(x, x.shape[1]) if self.mask else previous
        heads = fused_attention(q, k, v, mask, is_token, dropout_rate(self.dropout))
        x = self.norms[0](x + self.dropout(self.attention.join(heads)))
        out = self.norms[1](x + self.dropout(self.feed_forward(x)))
        return out if self.linear is None else out + self.linear(out), mask


def clip_positions(is_clip: Tensor, d: int) -> Tensor:
    """Return [B, T, d] sinusoidal positions n / T of [B, T] bool, n from 1 and T without the padding."""
    count = is_clip.cumsum(1, dtype=torch.float32)
    # the eps of Moment-DETR's `PositionEmbeddingSine`
    return sines(count / (count[:, -1:] + 1e-6), d)


def feed_forward(config: DETRConfig, activation: nn.Module) -> nn.Sequential:
    """From d to d_ff numbers and back."""
    inner, outer = nn.Linear(config.d, config.d_ff), nn.Linear(config.d_ff, config.d)
    return nn.Sequential(inner, activation, nn.Dropout(config.dropout), outer)


def mlp(d_in: int, d: int, d_out: int, layers: int) -> nn.Sequential:
    """Linear layers with a ReLU between them; d is the width of the hidden ones."""
    widths = [d_in, *[d] * (layers - 1), d_out]
    modules = [module for pair in pairwise(widths) for module in (nn.Linear(*pair), nn.ReLU())]
    return nn.Sequential(*modules[:-1])


def added_layers(config: DETRConfig) -> nn.Sequential | None:
    """Return the linear layers at the end of an encoder layer: "+ Linear Layers" of STAMP's Table 3."""
    return mlp(config.d, config.d, config.d, config.linear_layers) if config.linear_layers else None


def dropout_rate(dropout: nn.Dropout) -> float:
    """Return the current rate of a dropout layer: 0 outside of training."""
    return dropout.p if dropout.training else 0.0


_MIN_LENGTH = 1e-9  # divisor in place of a length of 0: two empty spans at one position have an IoU of 0


def start_end(spans: Tensor) -> Tensor:
    """Return [..., 2] starts and ends of centres and widths."""
    centre, width = spans.unbind(-1)
    return torch.stack([centre - width / 2, centre + width / 2], dim=-1)


def centre_width(spans: Tensor) -> Tensor:
    """Return [..., 2] centres and widths of starts and ends."""
    start, end = spans.unbind(-1)
    return torch.stack([(start + end) / 2, end - start], dim=-1)


def generalized_iou_of_pairs(a: Tensor, b: Tensor) -> Tensor:
    """Return [...] generalized IoU (Rezatofighi et al. 2019) in (-1, 1] of spans [..., 2].

    The IoU, less the uncovered fraction of the smallest span around both: it grows as spans that do not
    overlap come nearer.
    """
    low, high = torch.minimum(a, b), torch.maximum(a, b)
    overlap = (low[..., 1] - high[..., 0]).clamp(min=0)
    union = (a[..., 1] - a[..., 0]) + (b[..., 1] - b[..., 0]) - overlap
    around = high[..., 1] - low[..., 0]
    return overlap / union.clamp(min=_MIN_LENGTH) - (around - union) / around.clamp(min=_MIN_LENGTH)


def generalized_iou(a: Tensor, b: Tensor) -> Tensor:
    """Return [..., N, M] of every span in a [..., N, 2] with every one in b [..., M, 2]; starts and ends."""
    return generalized_iou_of_pairs(a[..., :, None, :], b[..., None, :, :])
