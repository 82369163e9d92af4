"""Local-global sparse attention (FullTransNet, Eq. 9-10) in O(T (w + G)) time and memory.

A token attends to the tokens at most w // 2 away and to the G global tokens; a global token attends to all.
The T x T matrix of scores is never made: the sequence is cut into blocks of queries, and one batched call
compares each block with its neighbourhood and the global tokens. The few global queries read everything.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from vidsum.models.attention.learned_mask import SoftMask, fused_attention

_BLOCK = 64  # queries in a block: fewer copy more keys, more compare with distant neighbours


@dataclass(frozen=True)
class SparsePattern:
    """Which token attends to which (Eq. 9), for sequences cut into n blocks of b queries.

    A block of queries has K keys: b + 2 (w // 2) neighbours, then the G global tokens. The layers of an
    encoder share one pattern, since it does not depend on features. Only making it waits for the device.
    """

    radius: int  # w // 2
    index: Tensor  # [B, G] positions of the global tokens, in order
    is_present: Tensor  # [B, G] bool, False where a video has fewer than G
    is_valid: Tensor  # [B, T] bool
    is_key: Tensor  # [B n, b, K] bool, the keys of each query

    @classmethod
    def of(cls, is_global: Tensor, is_valid: Tensor, window: int) -> "SparsePattern":
        """Make the pattern of a batch.

        Args:
            is_global: [B, T] bool, tokens that attend to all and that all attend to.
            is_valid: [B, T] bool, False for padding, which nothing attends to.
            window: w, an odd number of tokens; 1 leaves a token itself and the global ones.
        """
        radius, is_global = window // 2, is_global & is_valid
        counts = is_global.sum(dim=1)
        n_global = int(counts.max())
        index = torch.argsort(is_global.int(), dim=1, descending=True, stable=True)[:, :n_global]
        is_present = torch.arange(n_global, device=index.device) < counts[:, None]
        # global tokens are left out of the neighbourhood: they count once, among the gathered ones
        is_local = _neighbours(is_valid & ~is_global, radius)[:, None]
        key, query = torch.arange(is_local.shape[2]) - radius, torch.arange(_BLOCK)
        distance = (key - query[:, None]).abs().to(index.device)
        # padding attends to itself, so that no softmax is over nothing
        is_padding = ~_blocks(is_valid)[:, :, None]
        near = (is_local & (distance <= radius)) | (is_padding & (distance == 0))
        far = _each_block(is_present, len(near) // len(is_valid))[:, None].expand(-1, _BLOCK, -1)
        return cls(radius, index, is_present, is_valid, torch.cat([near, far], dim=2))


def local_global_attention(
    q: Tensor, k: Tensor, v: Tensor, pattern: SparsePattern, mask: SoftMask | None = None
) -> Tensor:
    """softmax(A) V with the sparse A of Eq. 9; equal to dense attention under `local_global_mask`.

    Args:
        q, k, v: [B, h, T, d_k]
        pattern: which token attends to which.
        mask: a learned one of T tokens and T keys, for each video or for all; only the attended part of it is
            made.

    Returns [B, h, T, d_k]; rows of padding mean nothing.
    """
    index = pattern.index
    mask = mask and mask.of_videos(len(index))
    out = _attend_in_blocks(q, k, v, pattern, mask)
    if index.shape[1] == 0:
        return out
    global_rows = mask and mask._replace(rows=_pick(mask.rows[:, None], index)[:, 0])
    to_all = fused_attention(_pick(q, index), k, v, global_rows, pattern.is_valid)
    # a slot that a video lacks points at a local token, whose row stays
    to_all = torch.where(pattern.is_present[:, None, :, None], to_all, _pick(out, index))
    return out.scatter(2, index[:, None, :, None].expand_as(to_all), to_all)


def local_global_mask(is_global: Tensor, is_valid: Tensor, window: int) -> Tensor:
    """Return [B, T, T] bool: whether token m attends to token n; for plots, and of size T^2."""
    position = torch.arange(is_valid.shape[1], device=is_valid.device)
    near = (position[:, None] - position[None, :]).abs() <= window // 2
    attends = near | is_global[:, :, None] | is_global[:, None, :]
    return attends & is_valid[:, :, None] & is_valid[:, None, :]


def _attend_in_blocks(
    q: Tensor, k: Tensor, v: Tensor, pattern: SparsePattern, mask: SoftMask | None
) -> Tensor:
    """Return [B, h, T, d_v]: attention of all tokens to their neighbours and the global tokens."""
    (batch, _, n_tokens, _), radius, index = q.shape, pattern.radius, pattern.index
    queries = _blocks(q.transpose(1, 2)).transpose(1, 2)
    n_blocks = len(queries) // batch

    def by_block(x: Tensor) -> Tensor:
        """Return [B n, h, K, d] of keys or values [B, h, T, d]."""
        near = _neighbours(x.transpose(1, 2), radius).mT
        return torch.cat([near, _each_block(_pick(x, index), n_blocks)], dim=2)

    learned = mask and _mask_of_blocks(mask, pattern, n_blocks)
    out = fused_attention(queries, by_block(k), by_block(v), learned, pattern.is_key)
    _, heads, _, d_v = out.shape
    tokens = out.transpose(1, 2).reshape(batch, n_blocks * _BLOCK, heads, d_v)
    return tokens[:, :n_tokens].transpose(1, 2)


def _mask_of_blocks(mask: SoftMask, pattern: SparsePattern, n_blocks: int) -> SoftMask:
    """Return the mask of each block of queries [B n, b, H] over its keys [B n, K, H]; see `of_videos`."""

    def columns_by_block(x: Tensor) -> Tensor:
        """Return [B n, K, H] of columns [B, T, H]."""
        near = _neighbours(x, pattern.radius).mT
        far = _pick(x[:, None], pattern.index)[:, 0]
        return torch.cat([near, _each_block(far, n_blocks)], dim=1)

    bias = columns_by_block(mask.bias[..., None])[..., 0]
    return mask._replace(rows=_blocks(mask.rows), columns=columns_by_block(mask.columns), bias=bias)


def _blocks(x: Tensor) -> Tensor:
    """Return [B n, b, ...]: the tokens of [B, T, ...] in blocks, the last one padded."""
    missing = -x.shape[1] % _BLOCK
    return _pad_tokens(x, 0, missing).reshape(-1, _BLOCK, *x.shape[2:])


def _neighbours(x: Tensor, radius: int) -> Tensor:
    """Return [B n, ..., b + 2 radius]: the tokens of [B, T, ...] within `radius` of each block."""
    missing = -x.shape[1] % _BLOCK
    padded = _pad_tokens(x, radius, missing + radius)
    return padded.unfold(1, _BLOCK + 2 * radius, _BLOCK).flatten(0, 1)


def _pad_tokens(x: Tensor, before: int, after: int) -> Tensor:
    return pad(x, (0, 0) * (x.dim() - 2) + (before, after))


def _each_block(x: Tensor, n_blocks: int) -> Tensor:
    """Return [B n, ...]: what [B, ...] has of a video, for each of its blocks."""
    return x[:, None].expand(-1, n_blocks, *x.shape[1:]).flatten(0, 1)


def _pick(x: Tensor, index: Tensor) -> Tensor:
    """Return [B, h, G, d_k]: the tokens of `x` [B, h, T, d_k] at `index` [B, G]."""
    return x.gather(2, index[:, None, :, None].expand(-1, x.shape[1], -1, x.shape[3]))
