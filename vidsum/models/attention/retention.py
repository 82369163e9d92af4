"""Maskable retention (MRNet, Eq. 1-8): attention whose video part fades with distance and by a learned mask.

Hu et al., "Maskable Retentive Network for Video Moment Retrieval". docs/algorithms/mrnet.md tells where the
paper is silent and what was chosen. `recurrent_retention` is the supplement's other form of Eq. 3.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm, linear, silu

from vidsum.models.attention.learned_mask import SoftMask
from vidsum.models.attention.positions import sines
from vidsum.models.configs import Decay, Nonlinearity, Positions, Region

_SCALE_BASE = 512
"""Positions after which xPos has scaled by zeta."""


def xpos(x: Tensor, *, inverse: bool = False) -> Tensor:
    """Position n turns each pair of numbers by n theta and scales it by zeta^(n / base), keys by the inverse.

    The product of a query at n and a key at m then depends on n - m alone (Sun et al. 2022). The base is 512,
    or the length where that is more: so no factor leaves [0.28, 3.5] at any length, in either direction.

    Args:
        x: [..., T, d], d even.
        inverse: of the scale, for keys.
    """
    length, d = x.shape[-2:]
    position = torch.arange(length, device=x.device, dtype=torch.float32)[:, None]
    pair = torch.arange(0, d, 2, device=x.device, dtype=torch.float32) / d
    angle = position * 10000.0**-pair
    zeta = (pair + 0.4) / 1.4
    scale = zeta ** (position / max(_SCALE_BASE, length) * (-1 if inverse else 1))
    cos, sin = ((f(angle) * scale).to(x.dtype) for f in (torch.cos, torch.sin))
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1).flatten(-2)


def sinusoid(length: int, like: Tensor) -> Tensor:
    """[length, d] what the public code adds to queries: sines and cosines of 2 pi n / length, n from 1."""
    count = torch.arange(1, length + 1, device=like.device, dtype=torch.float32)
    return sines(count / (length + 1e-6), like.shape[-1]).to(like.dtype)


def decay_mask(
    length: int,
    gamma: float,
    decay: Decay = "bidirectional",
    diagonal: float = 1.0,
    device: torch.device | None = None,
) -> Tensor:
    """[length, length] M_RD of Eq. 4: gamma^|n - m| at row n and column m.

    Args:
        length: tokens.
        gamma: in (0, 1].
        decay: `forward` is 0 above the diagonal; `none` is 1 everywhere.
        diagonal: 1, or 2 for the public code, which adds the forward mask and its transpose.
        device: of the result.
    """
    position = torch.arange(length, device=device, dtype=torch.float32)
    behind = position[:, None] - position[None, :]
    if decay == "none":
        return torch.ones_like(behind)
    mask = gamma ** behind.abs()
    if decay == "forward":
        mask = mask * (behind >= 0)
    return mask + torch.eye(length, device=device) * (diagonal - 1)


def sparse_mask(weights: Tensor) -> Tensor:
    """[T, T] M_LS of Eq. 5: sigmoid of the learned weights [T, T], and 1 on the diagonal."""
    own = torch.eye(len(weights), device=weights.device, dtype=weights.dtype)
    return (1 - own) * weights.sigmoid() + own


def parallel_retention(q: Tensor, k: Tensor, v: Tensor, gamma: float) -> Tensor:
    """Eq. 3: (Q K^T * M_RD) V without a softmax, in O(T^2); all [..., T, d]."""
    mask = decay_mask(q.shape[-2], gamma, device=q.device).to(q.dtype)
    return (q @ k.transpose(-2, -1) * mask) @ v


def recurrent_retention(q: Tensor, k: Tensor, v: Tensor, gamma: float) -> Tensor:
    """Eq. A3-A4 of the supplement: what `parallel_retention` gives, by two recurrences in O(T).

    One goes through the clips and one back, each with a state [d, d] that fades by gamma a step. The first
    sum holds the clip itself, so the second is read before the clip is added: Eq. A3 starts it at m = n + 1.

    Args:
        q, k, v: [..., T, d], positions in them.
        gamma: in (0, 1].
    """
    length = q.shape[-2]
    outputs: list[Tensor] = []
    state = torch.zeros_like(k[..., 0, :, None] * v[..., 0, None, :])
    for n in range(length):
        state = gamma * state + k[..., n, :, None] * v[..., n, None, :]
        outputs.append(_read(q[..., n, :], state))
    state = torch.zeros_like(state)
    for n in reversed(range(length)):
        state = gamma * state
        outputs[n] = outputs[n] + _read(q[..., n, :], state)
        state = state + k[..., n, :, None] * v[..., n, None, :]
    return torch.stack(outputs, dim=-2)


def _read(query: Tensor, state: Tensor) -> Tensor:
    return (query[..., None, :] @ state)[..., 0, :]


class MaskRetention(nn.Module):
    """Eq. 1-2 and 7-8, with the four attention regions and every switch of the paper's ablations.

    The masks multiply the logits before the softmax, as the equations say: a pair that is masked out has the
    logit 0, it is not left out of the sum.
    """

    def __init__(
        self,
        d: int,
        heads: int,
        clips: int,
        gamma: float,
        *,
        decay: Decay = "bidirectional",
        diagonal: float = 1.0,
        sparse: bool = True,
        regions: tuple[Region, ...] = ("vv",),
        cross_modal: bool = True,
        nonlinearity: Nonlinearity = "softmax",
        positions: Positions = "after",
        bias: bool = False,
        queries_attend: bool = True,
    ) -> None:
        """`queries_attend=False` gives each query as its own value, without `out`; clips attend as ever."""
        super().__init__()
        self.heads, self.gamma, self.decay, self.diagonal = heads, gamma, decay, diagonal
        self.regions, self.cross_modal, self.positions = regions, cross_modal, positions
        self.nonlinearity, self.queries_attend = nonlinearity, queries_attend
        self.query_projections = nn.Linear(d, 3 * d, bias=bias)
        self.video_projections = nn.Linear(d, 3 * d, bias=bias)
        self.out = nn.Linear(d, d)
        self.gate = nn.Linear(d, d, bias=False) if nonlinearity == "gate" else None
        is_learned = sparse and "vv" in regions
        self.sparse_weights = nn.Parameter(torch.randn(clips, clips)) if is_learned else None

    def forward(
        self, x: Tensor, n_queries: int, is_key: Tensor | None = None, mask: SoftMask | None = None
    ) -> Tensor:
        """Eq. 8.

        Args:
            x: [B, M + T, d], the queries and then the clips.
            n_queries: M.
            is_key: [B, M + T] bool, False for padding, which nothing attends to; T may be less than `clips`.
            mask: [B, M + T, T] a learned one on top of Eq. 7, of the clips alone: the number of queries is
                not fixed.

        Returns:
            [B, M + T, d]; rows of padding mean nothing.
        """
        queries, keys, values = self._project(x, n_queries)
        logits = queries @ keys.transpose(2, 3) / math.sqrt(keys.shape[3])
        logits = logits * self.mask(n_queries, x.shape[1], x.device).to(logits.dtype)
        if mask is not None:
            logits = torch.cat([logits[..., :n_queries], mask.fuse(logits[..., n_queries:])], dim=3)
        attends = self._attends(x, n_queries, is_key)
        if self.nonlinearity == "softmax":
            weights = logits.masked_fill(~attends, -math.inf).softmax(dim=3)
        else:
            weights = logits.masked_fill(~attends, 0.0)
        retained = weights @ values
        if self.gate is None:
            out: Tensor = self.out(_joined(retained))
        else:
            out = self.out(silu(self.gate(x)) * _joined(layer_norm(retained, retained.shape[3:])))
        if self.queries_attend:
            return out
        return torch.cat([_joined(values[:, :, :n_queries]), out[:, n_queries:]], dim=1)

    def mask(self, n_queries: int, length: int, device: torch.device | None = None) -> Tensor:
        """[M + T, M + T] of Eq. 7: 1 for unlimited attention, M_RD * M_LS for the masked regions.

        A region with queries has the decay of the joined sequence; there is nothing learned for it, since the
        number of queries is not fixed.
        """
        parts = {"q": slice(0, n_queries), "v": slice(n_queries, length)}
        decayed = decay_mask(length, self.gamma, self.decay, self.diagonal, device)
        mask = torch.ones_like(decayed)
        for region in self.regions:
            where = parts[region[0]], parts[region[1]]
            mask[where] = decayed[where]
        if self.sparse_weights is not None:
            video, clips = (parts["v"], parts["v"]), slice(0, length - n_queries)
            mask[video] = decayed[video] * sparse_mask(self.sparse_weights[clips, clips])
        return mask

    def _project(self, x: Tensor, n_queries: int) -> tuple[Tensor, Tensor, Tensor]:
        """Eq. 1: queries, keys and values of both modalities side by side, each [B, h, M + T, d / h]."""
        of_queries, of_clips = x[:, :n_queries], x[:, n_queries:]
        if self.positions == "after":
            parts = [
                (xpos(q), xpos(k, inverse=True), v)
                for q, k, v in (
                    self._split(self.query_projections, of_queries, of_queries, of_queries),
                    self._split(self.video_projections, of_clips, of_clips, of_clips),
                )
            ]
        else:
            placed = of_queries + sinusoid(n_queries, x)
            parts = [
                self._split(self.query_projections, placed, placed, of_queries),
                self._split(self.video_projections, xpos(of_clips), xpos(of_clips, inverse=True), of_clips),
            ]
        q, k, v = (torch.cat(pair, dim=2) for pair in zip(*parts, strict=True))
        return q, k, v

    def _split(self, projections: nn.Linear, *inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The three inputs [B, n, d], each projected by its third of the weights, as [B, h, n, d / h]."""
        weights = projections.weight.chunk(3)
        biases = (None, None, None) if projections.bias is None else projections.bias.chunk(3)
        q, k, v = (
            linear(x, weight, bias).view(*x.shape[:2], self.heads, -1).transpose(1, 2)
            for x, weight, bias in zip(inputs, weights, biases, strict=True)
        )
        return q, k, v

    def _attends(self, x: Tensor, n_queries: int, is_key: Tensor | None) -> Tensor:
        """[B or 1, 1, M + T, M + T] bool; padding is seen by itself, so that no softmax is over nothing."""
        is_clip = torch.arange(x.shape[1], device=x.device) >= n_queries
        attends = torch.ones(1, x.shape[1], x.shape[1], dtype=torch.bool, device=x.device)
        if not self.cross_modal:
            attends = attends & (is_clip[:, None] == is_clip[None, :])
        if is_key is not None:
            attends = attends & is_key[:, None, :]
        return (attends | torch.eye(x.shape[1], dtype=torch.bool, device=x.device))[:, None]


def _joined(heads: Tensor) -> Tensor:
    """[B, n, d] of heads [B, h, n, d / h], side by side."""
    return heads.transpose(1, 2).flatten(2)
