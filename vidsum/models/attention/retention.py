"""Maskable retention (MRNet, Eq. 1-8): attention whose video part fades with distance and by a learned mask.

Hu et al., "Maskable Retentive Network for Video Moment Retrieval". docs/algorithms/mrnet.md lists where the
paper is silent and what was chosen.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm, linear, silu

from vidsum.models.attention.heads import join_heads, pair_rates, sines, split_heads
from vidsum.models.attention.learned_mask import SoftMask, sparse_mask
from vidsum.models.configs import Decay, MRNetConfig, Nonlinearity

SCALE_BASE = 512  # positions after which xPos has scaled by zeta, in every form of retention


def xpos(x: Tensor, *, inverse: bool = False, base: int = SCALE_BASE) -> Tensor:
    """Eq. 1's Theta, or its conjugate for keys: xPos of positions 0 to T - 1 (Sun et al. 2022).

    Position n turns each pair of numbers by n theta and scales it by zeta^(n / base), keys by the inverse;
    see `_theta_zeta`. The product of a query at n and a key at m then depends on n - m alone. Up to the base,
    no factor leaves [0.28, 3.5] in either direction; float32 holds them up to 70 times the base.

    Args:
        x: [..., T, d], d even.
        inverse: of the scale, for keys.
        base: the base of `xpos_turn`, whatever the length: the recurrent form does not know the length.
    """
    length, d = x.shape[-2:]
    # later positions need more than float32, or angles are off by .0005; not all devices have float64
    is_long = length > SCALE_BASE or x.dtype == torch.float64
    device, dtype = (torch.device("cpu"), torch.float64) if is_long else (x.device, torch.float32)
    position = torch.arange(length, device=device, dtype=dtype)[:, None]
    theta, zeta = _theta_zeta(d, device, dtype)
    angle = position * theta
    scale = zeta ** (position / base * (-1 if inverse else 1))
    cos, sin = ((f(angle) * scale).to(x) for f in (torch.cos, torch.sin))
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1).flatten(-2)


def decay_mask(
    length: int,
    gamma: float,
    decay: Decay = "bidirectional",
    diagonal: float = 1.0,
    device: torch.device | None = None,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Return [length, length] M_RD of Eq. 4: gamma^|n - m| at row n and column m; see `MRNetConfig`.

    With `forward` decay it is 0 above the diagonal, without decay 1 everywhere. The public code's diagonal is
    2: it adds the forward mask and its transpose.
    """
    position = torch.arange(length, device=device, dtype=dtype)
    behind = position[:, None] - position[None, :]
    if decay == "none":
        return torch.ones_like(behind)
    mask = gamma ** behind.abs()
    if decay == "forward":
        mask = mask * (behind >= 0)
    return mask + torch.eye(length, device=device, dtype=dtype) * (diagonal - 1)


def xpos_turn(d: int, base: int = SCALE_BASE) -> Tensor:
    """Return [d / 2] complex: what xPos does to each pair of numbers from one position to the next."""
    theta, zeta = _theta_zeta(d, torch.device("cpu"), torch.float64)
    return torch.polar(zeta ** (1 / base), theta)


def _theta_zeta(d: int, device: torch.device, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return the angle and the scale [d / 2] of xPos for each pair p of numbers.

    zeta = (2p / d + 0.4) / 1.4, where 1.4 = 1 + 0.4: the authors' code (`XPOS` of microsoft/torchscale).
    """
    pair = torch.arange(0, d, 2, device=device, dtype=dtype) / d
    return pair_rates(d, device, dtype), (pair + 0.4) / 1.4


def recurrent_retention(
    q: Tensor, k: Tensor, v: Tensor, gamma: float, turn: Tensor, state: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Eq. A4's b_n (here S_n) and its term of Eq. A3, Q_n b_n: O(T) time, and O(1) memory a clip.

        S_n = gamma turn S_(n-1) + conj(k_n)^T v_n,    o_n = Re(q_n S_n)

    Pairs of q and k are complex numbers here. This is `(Q K^T * M) V` with the `forward` mask of `decay_mask`
    and `xpos`, whose positions count from any clip: the state turns with them. There is no softmax, which
    needs all clips at once. Eq. 3, which looks ahead too, adds the same of the reversed clips with 1 / turn,
    less the diagonal.

    Args:
        q, k: [..., T, d], without positions; d even.
        v: [..., T, d_v]
        gamma: retention from one clip to the next.
        turn: see `xpos_turn`; ones for no positions.
        state: [..., d / 2, d_v] complex, of the clips before; None for none.

    Returns [..., T, d_v] and the state after the last clip.
    """
    queries, keys = _pairs(q), _pairs(k).conj()
    factor = (gamma * turn).to(keys)
    if state is None:
        state = keys.new_zeros(*keys.shape[:-2], keys.shape[-1], v.shape[-1])
    outputs = []
    for n in range(q.shape[-2]):
        state = factor[:, None] * state + keys[..., n, :, None] * v[..., n, None, :]
        outputs.append((queries[..., n, None, :] @ state).real)
    return torch.cat(outputs, dim=-2), state


def _pairs(x: Tensor) -> Tensor:
    """Return [..., d / 2] complex numbers of [..., d]: pair p is number 2p and, imaginary, the next."""
    return torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2).contiguous())


class RetentionWeights(nn.Module):
    """The weights with which `MaskRetention` sums the values; a module, so that hooks can record them."""

    def __init__(self, nonlinearity: Nonlinearity) -> None:
        super().__init__()
        self.is_softmax = nonlinearity == "softmax"

    def forward(
        self, queries: Tensor, keys: Tensor, attends: Tensor, retention: Tensor, learned: SoftMask | None
    ) -> Tensor:
        """Return [B, h, M + T, M + T] of Eq. 2, with the masks of Eq. 7 and on top, and attendance."""
        logits = queries @ keys.mT / math.sqrt(keys.shape[3])
        logits = logits * retention.to(logits.dtype)
        if learned is not None:
            n_clips = learned.columns.shape[-2]
            logits = torch.cat([logits[..., :-n_clips], learned.fuse(logits[..., -n_clips:])], dim=3)
        if self.is_softmax:
            return logits.masked_fill(~attends, -math.inf).softmax(dim=3)
        return logits.masked_fill(~attends, 0.0)


class MaskRetention(nn.Module):
    """Eq. 1-2 and 7-8, with the four attention regions and every switch of the paper's ablations.

    The masks multiply the logits before the softmax, as the equations say: a pair that is masked out has the
    logit 0, it is not left out of the sum.
    """

    def __init__(self, config: MRNetConfig) -> None:
        super().__init__()
        self.config, d = config, config.d
        self.query_projections = nn.Linear(d, 3 * d, bias=config.bias)
        self.video_projections = nn.Linear(d, 3 * d, bias=config.bias)
        self.out = nn.Linear(d, d)
        self.gate = nn.Linear(d, d, bias=False) if config.nonlinearity == "gate" else None
        is_learned = config.sparse and "vv" in config.regions
        self.sparse_weights = nn.Parameter(torch.randn(config.clips, config.clips)) if is_learned else None
        self.weigh = RetentionWeights(config.nonlinearity)
        self.scale_base = max(SCALE_BASE, config.clips)  # no factor of the clips leaves its range

    def forward(
        self, x: Tensor, n_queries: int, is_key: Tensor | None = None, learned: SoftMask | None = None
    ) -> Tensor:
        """Eq. 8.

        Args:
            x: [B, M + T, d], the queries and then the clips.
            n_queries: M.
            is_key: [B, M + T] bool, False for padding, which nothing attends to; T may be less than `clips`.
            learned: [B, M + T, T] a learned mask on top of Eq. 7, of the clips alone: the number of queries
                is not fixed.

        Returns [B, M + T, d]; rows of padding mean nothing.
        """
        queries, keys, values = self._project(x, n_queries)
        retention = self.retention_mask(n_queries, x.shape[1], x.device)
        attends = self._attends(x, n_queries, is_key)
        out = self._join(x, self.weigh(queries, keys, attends, retention, learned) @ values)
        if self.config.queries_attend:
            return out
        return torch.cat([join_heads(values[:, :, :n_queries]), out[:, n_queries:]], dim=1)

    def retention_mask(self, n_queries: int, length: int, device: torch.device | None = None) -> Tensor:
        """Return [M + T, M + T] of Eq. 7: 1 for unlimited attention, M_RD * M_LS for the masked regions.

        A region with queries has the decay of the joined sequence; nothing is learned for it, since the
        number of queries is not fixed.
        """
        config = self.config
        parts = {"q": slice(0, n_queries), "v": slice(n_queries, length)}
        decayed = decay_mask(length, config.gamma, config.decay, config.diagonal, device)
        mask = torch.ones_like(decayed)
        for attending, attended in config.regions:
            region = parts[attending], parts[attended]
            mask[region] = decayed[region]
        if self.sparse_weights is not None:
            video, clips = (parts["v"], parts["v"]), slice(0, length - n_queries)
            mask[video] = decayed[video] * sparse_mask(self.sparse_weights[clips, clips])
        return mask

    def _project(self, x: Tensor, n_queries: int) -> tuple[Tensor, Tensor, Tensor]:
        """Eq. 1: queries, keys and values of both modalities side by side, each [B, h, M + T, d / h]."""
        queries, clips = x[:, :n_queries], x[:, n_queries:]
        if self.config.positions == "after":
            pairs = (self.query_projections, queries), (self.video_projections, clips)
            split = [self._split(projections, part, part, part) for projections, part in pairs]
            parts = [(self._xpos(q), self._xpos(k, inverse=True), v) for q, k, v in split]
        else:
            count = torch.arange(1, n_queries + 1, device=x.device, dtype=torch.float32)
            # the public code: Moment-DETR's `PositionEmbeddingSine`, whose eps is 1e-6
            placed = queries + sines(count / (n_queries + 1e-6), x.shape[2]).to(x.dtype)
            turned = self._xpos(clips), self._xpos(clips, inverse=True)
            parts = [
                self._split(self.query_projections, placed, placed, queries),
                self._split(self.video_projections, *turned, clips),
            ]
        q, k, v = (torch.cat(pair, dim=2) for pair in zip(*parts, strict=True))
        return q, k, v

    def _xpos(self, x: Tensor, *, inverse: bool = False) -> Tensor:
        return xpos(x, inverse=inverse, base=self.scale_base)

    def _split(self, projections: nn.Linear, *inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the three inputs [B, n, d] by their thirds of the weights, as [B, h, n, d / h]."""
        weights = projections.weight.chunk(3)
        biases = (None, None, None) if projections.bias is None else projections.bias.chunk(3)
        q, k, v = (
            split_heads(linear(x, weight, bias), self.config.heads)
            for x, weight, bias in zip(inputs, weights, biases, strict=True)
        )
        return q, k, v

    def _join(self, x: Tensor, retained: Tensor) -> Tensor:
        """Return [B, M + T, d] of the heads' sums [B, h, M + T, d / h] for tokens [B, M + T, d]."""
        if self.gate is None:
            out: Tensor = self.out(join_heads(retained))
        else:
            out = self.out(silu(self.gate(x)) * join_heads(layer_norm(retained, retained.shape[3:])))
        return out

    def _attends(self, x: Tensor, n_queries: int, is_key: Tensor | None) -> Tensor:
        """Return [B or 1, 1, M + T, M + T] bool; padding attends to itself, or its softmax would be NaN."""
        length = x.shape[1]
        attends = torch.ones(1, length, length, dtype=torch.bool, device=x.device)
        if not self.config.cross_modal:
            is_clip = torch.arange(length, device=x.device) >= n_queries
            attends = is_clip[:, None] == is_clip[None, :]
        if is_key is not None:
            attends = attends & is_key[:, None, :]
        diagonal = torch.eye(length, dtype=torch.bool, device=x.device)
        return (attends | diagonal).view(-1, 1, length, length)
