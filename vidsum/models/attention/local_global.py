"""Local-global sparse attention (FullTransNet, Eq. 9-10) in O(T (w + G)) time and memory.

A token attends to the tokens at most w // 2 away and to the G global tokens; a global token attends to all.
The T x T matrix of scores is never made: queries go in blocks, each against its neighbourhood and the global
tokens, and the few global queries against everything.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from vidsum.models.attention.learned_mask import SoftMask, fused_attention

_BLOCK = 128  # queries at a time: fewer mean more calls, more mean distant neighbours


def local_global_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    is_global: Tensor,
    is_valid: Tensor,
    window: int,
    mask: SoftMask | None = None,
) -> Tensor:
    """softmax(A) V with the sparse A of Eq. 9; equal to dense attention under `local_global_mask`.

    Args:
        q, k, v: [B, h, T, d_k]
        is_global: [B, T] bool, tokens that attend to all and that all attend to.
        is_valid: [B, T] bool, False for padding, which nothing attends to.
        window: w, an odd number of tokens; 1 leaves a token itself and the global ones.
        mask: a learned one of T tokens and T keys; only the attended part of it is made.

    Returns [B, h, T, d_k]; rows of padding mean nothing.
    """
    tokens = _global_tokens(k, v, is_global & is_valid)
    # global tokens are left out of the neighbourhood: they count once, among the gathered ones
    out = _local_rows(q, k, v, is_valid & ~is_global, is_valid, tokens, window // 2, mask)
    if tokens.index.shape[1] == 0:
        return out
    of_global = mask and mask._replace(rows=_pick(mask.rows[:, None], tokens.index)[:, 0])
    to_all = fused_attention(_pick(q, tokens.index), k, v, of_global, is_valid)
    batch, slot = tokens.is_present.nonzero(as_tuple=True)
    by_token = out.transpose(1, 2).contiguous()
    by_token[batch, tokens.index[batch, slot]] = to_all.transpose(1, 2)[batch, slot]
    return by_token.transpose(1, 2)


def local_global_mask(is_global: Tensor, is_valid: Tensor, window: int) -> Tensor:
    """Return [B, T, T] bool: whether token m attends to token n; for plots, and of size T^2."""
    position = torch.arange(is_valid.shape[1], device=is_valid.device)
    near = (position[:, None] - position[None, :]).abs() <= window // 2
    attends = near | is_global[:, :, None] | is_global[:, None, :]
    return attends & is_valid[:, :, None] & is_valid[:, None, :]


@dataclass(frozen=True)
class _GlobalTokens:
    """The global tokens of each video side by side; where a video has fewer than another, some are absent."""

    index: Tensor  # [B, G] their positions, in order
    is_present: Tensor  # [B, G] bool
    keys: Tensor  # [B, h, G, d_k], as the values
    values: Tensor


def _global_tokens(k: Tensor, v: Tensor, is_global: Tensor) -> _GlobalTokens:
    counts = is_global.sum(dim=1)
    most = int(counts.max())
    index = torch.argsort(is_global.int(), dim=1, descending=True, stable=True)[:, :most]
    is_present = torch.arange(most, device=is_global.device) < counts[:, None]
    return _GlobalTokens(index, is_present, _pick(k, index), _pick(v, index))


def _local_rows(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    is_local: Tensor,
    is_valid: Tensor,
    tokens: _GlobalTokens,
    radius: int,
    mask: SoftMask | None,
) -> Tensor:
    """Return [B, h, T, d_k]: attention to neighbours, if `is_local`, and the global tokens."""
    n_tokens = q.shape[2]
    position = torch.arange(n_tokens, device=q.device)
    rows = []
    for start in range(0, n_tokens, _BLOCK):
        stop = min(start + _BLOCK, n_tokens)
        low, high = max(0, start - radius), min(n_tokens, stop + radius)
        distance = (position[start:stop, None] - position[None, low:high]).abs()
        near = (distance <= radius) & is_local[:, None, low:high]
        # padding attends to itself, so that no softmax is over nothing
        near = near | ((distance == 0) & ~is_valid[:, start:stop, None])
        attends = torch.cat([near, tokens.is_present[:, None, :].expand(-1, stop - start, -1)], dim=2)
        keys = torch.cat([k[:, :, low:high], tokens.keys], dim=2)
        values = torch.cat([v[:, :, low:high], tokens.values], dim=2)
        queries = slice(start, stop)
        block = mask and _join(mask.part(queries, slice(low, high)), mask.part(queries, tokens.index))
        rows.append(fused_attention(q[:, :, queries], keys, values, block, attends))
    return torch.cat(rows, dim=2)


def _join(near: SoftMask, far: SoftMask) -> SoftMask:
    """Return the mask of queries over keys at the same positions in all videos, then picked ones."""
    columns = torch.cat([near.columns.expand(len(far.columns), -1, -1), far.columns], dim=1)
    bias = torch.cat([near.bias.expand(len(far.bias), -1), far.bias], dim=1)
    return near._replace(columns=columns, bias=bias)


def _pick(x: Tensor, index: Tensor) -> Tensor:
    """Return [B, h, G, d_k]: the tokens of `x` [B, h, T, d_k] at `index` [B, G]."""
    return x.gather(2, index[:, None, :, None].expand(-1, x.shape[1], -1, x.shape[3]))
