"""FullTransNet: an encoder-decoder transformer that reads a video and writes its key frames, one by one.

Lan et al., "FullTransNet: Full Transformer with Local-Global Attention for Video Summarization". Equation
numbers are the paper's. docs/algorithms/fulltransnet.md lists where the paper is silent and what was chosen.
"""

import math
from collections import OrderedDict
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, pad, scaled_dot_product_attention

from vidsum.models.attention.heads import MultiHeadAttention, initialise, sinusoid
from vidsum.models.attention.learned_mask import Mask, SoftMask, fused_attention, learned_masks
from vidsum.models.attention.local_global import SparsePattern, local_global_attention
from vidsum.models.configs import FullTransNetConfig

Cached = tuple[Tensor, Tensor]  # keys and values [B, h, *, d_k] that a layer attends to


@dataclass(frozen=True)
class DecoderState:
    """All that the decoder needs to continue from a step: nothing is computed twice."""

    embedded: Tensor  # [B, T, d] embedded frames, without positions
    memory: Tensor  # [B, T, d] output of the encoder
    is_valid: Tensor  # [B, T] bool
    cross: tuple[Cached, ...]  # the memory in each layer
    past: tuple[Cached, ...] | None = None  # the steps so far in each layer
    n_steps: int = 0


class FullTransNet(nn.Module):
    """The whole model; [B, T, D] features in, a distribution over the frames for each step out."""

    def __init__(self, config: FullTransNetConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Sequential(nn.Linear(config.dim_in, config.d), nn.LayerNorm(config.d))
        self.start = nn.Parameter(torch.empty(config.d))
        masks = learned_masks(config.mask, config.d, config.t_max, config.layers)
        self.encoder = nn.ModuleList(EncoderLayer(config, mask) for mask in masks)
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.layers))
        # with the norm before each sub-layer nothing else bounds the sums
        self.norms = nn.ModuleDict(
            {part: nn.LayerNorm(config.d) for part in ("encoder", "decoder") if config.norm == "before"}
        )
        self.head = LinearHead(config) if config.head == "linear" else PointerHead(config)
        self.end = nn.Linear(config.d, 1)
        self.dropout = nn.Dropout(config.dropout)
        self.apply(partial(initialise, zero_biases=True))  # Algorithm 1
        nn.init.normal_(self.start, std=config.d**-0.5)

    def forward(
        self, features: Tensor, is_global: Tensor, key_frames: Tensor, is_valid: Tensor | None = None
    ) -> Tensor:
        """Teacher forcing: the prediction of each step when all steps before it were right.

        Args:
            features: [B, T, D]
            is_global: [B, T] bool, see `global_tokens`.
            key_frames: [B, L] int64, indices of the summary's frames in order.
            is_valid: [B, T] bool, False for padding; all valid if not given.

        Returns [B, L + 1, T + 1] log-probabilities: row l of key frame l, the last row of the end; column t
        of sample t, the last column of the end. With the target `same-step` there is no row of the end.
        """
        return self.forward_teacher_forced(self.encode(features, is_global, is_valid), key_frames)

    def forward_teacher_forced(self, state: DecoderState, key_frames: Tensor) -> Tensor:
        """Decode all steps at once after `encode`; see `forward`."""
        chosen = state.embedded.gather(1, key_frames[:, :, None].expand(-1, -1, self.config.d))
        if self.config.decodes:
            chosen = torch.cat([self.start.expand(len(key_frames), 1, -1), chosen], dim=1)
        return self._decode(chosen, state)[0]

    def encode(self, features: Tensor, is_global: Tensor, is_valid: Tensor | None = None) -> DecoderState:
        """Eq. 1: the encoder's output, and the decoder's state before its first step."""
        if is_valid is None:
            is_valid = torch.ones_like(is_global)
        embedded = self.embedding(features)
        x = self.dropout(embedded + positions(embedded.shape[1], embedded))
        mask, sparse = None, self._sparse_pattern(is_global, is_valid)
        for layer in self.encoder:
            x, mask = layer(x, sparse, is_valid, mask)
        x = self._last_norm("encoder", x)
        cross = tuple(cast(DecoderLayer, layer).cross.keys_values(x) for layer in self.decoder)
        return DecoderState(embedded, x, is_valid, cross)

    def _last_norm(self, part: str, x: Tensor) -> Tensor:
        normed: Tensor = self.norms[part](x) if part in self.norms else x
        return normed

    def _sparse_pattern(self, is_global: Tensor, is_valid: Tensor) -> SparsePattern | None:
        """Return the pattern of a variant of Table III; None for full attention."""
        if self.config.attention == "full":
            return None
        if self.config.attention == "local":
            is_global = torch.zeros_like(is_global)
        return SparsePattern.of(is_global, is_valid, self.config.attention_window)

    def step(self, state: DecoderState, frame: Tensor | None) -> tuple[Tensor, DecoderState]:
        """One step of decoding.

        Args:
            state: from `encode` or the step before.
            frame: [B] int64, the frame that the step before chose; None at the first step.

        Returns [B, T + 1] log-probabilities of the next key frame, and the state to continue from.
        """
        if frame is None:
            token = self.start.expand(len(state.memory), 1, -1)
        else:
            token = state.embedded.gather(1, frame[:, None, None].expand(-1, 1, self.config.d))
        log_probabilities, state = self._decode(token, state)
        return log_probabilities[:, 0], state

    def _decode(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Eq. 5, from the state on: [B, L, d] tokens to [B, L, T + 1] log-probabilities."""
        n_steps = state.n_steps + tokens.shape[1]
        s = self.dropout(tokens + positions(n_steps, tokens)[state.n_steps :])
        past = []
        for number, layer in enumerate(self.decoder):
            before = state.past[number] if state.past else None
            s, after = layer(s, state.cross[number], state.is_valid, before)
            past.append(after)
        s = self._last_norm("decoder", s)
        logits = self.head(s, state.memory).masked_fill(~state.is_valid[:, None, :], -math.inf)
        scores = torch.cat([logits, self.end(s)], dim=2)
        # float32 at least: under autocast the probabilities would not sum to 1
        log_probabilities = scores.to(torch.promote_types(scores.dtype, torch.float32)).log_softmax(dim=2)
        return log_probabilities, replace(state, past=tuple(past), n_steps=n_steps)


class Layer(nn.Module):
    """The norms of a layer, each after the sum of its sub-layer and the residual, or before the sub-layer."""

    def __init__(self, config: FullTransNetConfig, n_sublayers: int) -> None:
        super().__init__()
        self.is_normed_first = config.norm == "before"
        self.norms = nn.ModuleList(nn.LayerNorm(config.d) for _ in range(n_sublayers))
        self.dropout = nn.Dropout(config.dropout)

    def before(self, number: int, x: Tensor) -> Tensor:
        """Return [B, T, d] the input of a sub-layer."""
        normed: Tensor = self.norms[number](x) if self.is_normed_first else x
        return normed

    def after(self, number: int, x: Tensor, output: Tensor) -> Tensor:
        """Return [B, T, d] x with the output of a sub-layer."""
        total: Tensor = x + self.dropout(output)
        return total if self.is_normed_first else self.norms[number](total)


class EncoderLayer(Layer):
    """Eq. 2-3: sparse self-attention and a feed-forward network, each with residual and norm."""

    def __init__(self, config: FullTransNetConfig, mask: Mask | None = None) -> None:
        super().__init__(config, n_sublayers=2)
        self.mask = mask
        self.attention = MultiHeadAttention(config.d, config.heads, config.d_k, config.d_v)
        self.feed_forward = feed_forward(config)

    def forward(
        self, x: Tensor, sparse: SparsePattern | None, is_valid: Tensor, previous: SoftMask | None = None
    ) -> tuple[Tensor, SoftMask | None]:
        """Return [B, T, d] to the same (Eq. 10), and the mask for the next layer.

        `sparse` says which sample attends to which (None: full attention), `is_valid` [B, T] bool is False
        for padding, `previous` is the mask of the layer before, for a layer without one of its own.
        """
        tokens = self.before(0, x)
        q, (k, v) = self.attention.queries(tokens), self.attention.keys_values(tokens)
        mask = self.mask(tokens, tokens.shape[1]) if self.mask else previous
        if sparse is None:
            heads = fused_attention(q, k, v, mask, is_valid)
        else:
            heads = local_global_attention(q, k, v, sparse, mask)
        x = self.after(0, x, self.attention.join(heads))
        return self.after(1, x, self.feed_forward(self.before(1, x))), mask


class DecoderLayer(Layer):
    """Eq. 6-8: causal self-attention, attention to the encoder's output, and a feed-forward network."""

    def __init__(self, config: FullTransNetConfig) -> None:
        super().__init__(config, n_sublayers=3)
        self.attention = MultiHeadAttention(config.d, config.heads, config.d_k, config.d_v)
        self.cross = MultiHeadAttention(config.d, config.heads, config.d_k, config.d_v)
        self.feed_forward = feed_forward(config)

    def forward(
        self, s: Tensor, memory: Cached, is_valid: Tensor, past: Cached | None
    ) -> tuple[Tensor, Cached]:
        """Return [B, L, d] to the same, and the keys and values of all steps up to here.

        With a past, L is 1: that step attends to all before it. Without, step l attends to the steps up to l.
        """
        tokens = self.before(0, s)
        keys, values = self.attention.keys_values(tokens)
        if past is not None:
            keys, values = torch.cat([past[0], keys], dim=2), torch.cat([past[1], values], dim=2)
        queries = self.attention.queries(tokens)
        heads = scaled_dot_product_attention(queries, keys, values, is_causal=past is None)
        s = self.after(0, s, self.attention.join(heads))
        queries, attends = self.cross.queries(self.before(1, s)), is_valid[:, None, None, :]
        heads = scaled_dot_product_attention(queries, *memory, attn_mask=attends)
        s = self.after(1, s, self.cross.join(heads))
        s = self.after(2, s, self.feed_forward(self.before(2, s)))
        return s, (keys, values)


def feed_forward(config: FullTransNetConfig) -> nn.Sequential:
    """Eq. 4."""
    inner, outer = nn.Linear(config.d, config.d_ff), nn.Linear(config.d_ff, config.d)
    return nn.Sequential(OrderedDict(inner=inner, relu=nn.ReLU(), outer=outer))


class LinearHead(nn.Module):
    """The paper's: a score for each of t_max positions in the video, whatever the frames show."""

    def __init__(self, config: FullTransNetConfig) -> None:
        super().__init__()
        self.scores = nn.Linear(config.d, config.t_max, bias=False)

    def forward(self, s: Tensor, memory: Tensor) -> Tensor:
        """Return [B, L, T] logits. Raises ValueError: the video has more than t_max samples."""
        n_samples, t_max = memory.shape[1], self.scores.out_features
        if n_samples > t_max:
            raise ValueError(f"{n_samples} samples are more than t_max = {t_max}")
        return linear(s, self.scores.weight[:n_samples])


class PointerHead(nn.Module):
    """Scores of the decoder's output against the encoder's, sample by sample: any length will do."""

    def __init__(self, config: FullTransNetConfig) -> None:
        super().__init__()
        self.q, self.k = (nn.Linear(config.d, config.d, bias=False) for _ in range(2))

    def forward(self, s: Tensor, memory: Tensor) -> Tensor:
        """Return [B, L, T] logits."""
        scores: Tensor = self.q(s) @ self.k(memory).transpose(1, 2)
        return scores / math.sqrt(s.shape[2])


def fulltransnet_loss(log_probabilities: Tensor, key_frames: Tensor, likes: Tensor | None = None) -> Tensor:
    """Eq. 13: binary cross-entropy of every step's distribution, summed over steps and samples, over T.

    Args:
        log_probabilities: [B, L + 1, T + 1] from the model; no padding, which would count in T.
        key_frames: [B, L] int64, the right ones; after the last comes the end, if there is a row for it.
        likes: [B, T] above 0, how much people like each sample. With them, each sample that is not chosen
            yet is right at a step, in their proportion.

    Returns the mean over the batch, a scalar.
    """
    n_samples = log_probabilities.shape[2] - 1
    end = key_frames.new_full((len(key_frames), 1), n_samples)
    targets = torch.cat([key_frames, end], dim=1)[:, : log_probabilities.shape[1], None]
    # y log p + (1 - y) log(1 - p) = y (log p - log(1 - p)) + log(1 - p): the last term needs no targets.
    # log(1 - p) loses all digits in float32 where p is near 1: the floor bounds the cost of one false step
    log_complement = torch.log1p(-log_probabilities.exp().clamp(max=1 - 1e-6))
    log_odds = log_probabilities - log_complement
    if likes is None:
        target_log_odds = log_odds.gather(2, targets).sum(dim=(1, 2))
    else:
        target_log_odds = (log_odds * _shares(key_frames, likes)).sum(dim=(1, 2))
    return -(target_log_odds + log_complement.sum(dim=(1, 2))).mean() / n_samples


def _shares(key_frames: Tensor, likes: Tensor) -> Tensor:
    """Return [B, L + 1, T + 1] targets that sum to 1: `likes` without the frames chosen, at last the end."""
    steps = torch.arange(key_frames.shape[1], device=likes.device)
    order = torch.full(likes.shape, len(steps), device=likes.device)
    order = order.scatter(1, key_frames, steps.expand_as(key_frames))
    is_left = order[:, None, :] >= steps[:, None]
    left = likes[:, None, :] * is_left
    shares = pad(left / left.sum(dim=2, keepdim=True), (0, 1, 0, 1))
    shares[:, -1, -1] = 1
    return shares


def positions(length: int, like: Tensor) -> Tensor:
    """Return [length, d] sinusoidal positions 0, 1 ... for tokens `like` [..., d]."""
    d = like.shape[-1]
    # `pair_rates` in another form, whose last digits trained models have seen
    rates = torch.exp(torch.arange(0, d, 2, device=like.device) * (-math.log(10000) / d))
    position = torch.arange(length, device=like.device, dtype=torch.float32)
    return sinusoid(position, rates).to(like.dtype)


def global_tokens(shot_of_sample: Tensor, per_shot: int) -> Tensor:
    """Return [T] bool: the first, middle and last sample of each shot; the first 1, 2 or 3 of these.

    `shot_of_sample` [T] int is the number of the shot that a sample lies in; it never decreases.
    """
    _, counts = torch.unique_consecutive(shot_of_sample, return_counts=True)
    last = counts.cumsum(0) - 1
    first = last - counts + 1
    is_global = torch.zeros(len(shot_of_sample), dtype=torch.bool, device=shot_of_sample.device)
    for samples in (first, (first + last) // 2, last)[:per_shot]:
        is_global[samples] = True
    return is_global
