"""Parts of the attention of several models: tokens from features, positions, heads, and first weights."""

import math

import torch
from torch import Tensor, nn

from vidsum.models.attention.learned_mask import Mask


def input_projection(dim: int, d: int, dropout: float) -> nn.Sequential:
    """Return two layers from features to tokens, dim to d numbers: each a norm, dropout and linear."""
    first = nn.LayerNorm(dim), nn.Dropout(dropout), nn.Linear(dim, d)
    return nn.Sequential(*first, nn.ReLU(), nn.LayerNorm(d), nn.Dropout(dropout), nn.Linear(d, d))


def sinusoid(position: Tensor, rates: Tensor) -> Tensor:
    """Return [..., d] sines and cosines (Vaswani et al. 2017) of positions [...] at d / 2 rates."""
    angle = position[..., None] * rates
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)


def sines(fraction: Tensor, d: int) -> Tensor:
    """Return [..., d] sinusoidal positions of fractions [...] of a video, at the rates of `pair_rates`."""
    return sinusoid(fraction * (2 * math.pi), pair_rates(d, fraction.device)).to(fraction.dtype)


def pair_rates(d: int, device: torch.device | None = None, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return [d / 2] 10000^(-2p / d) for each pair p of numbers (Vaswani et al. 2017)."""
    return 10000.0 ** -(torch.arange(0, d, 2, device=device, dtype=dtype) / d)


class MultiHeadAttention(nn.Module):
    """Four projections of d numbers to h heads and back (FullTransNet Eq. 11-12).

    A head has d_k numbers of queries and keys and d_v of values, each d / h if not given. Callers attend as
    they like between the projections.
    """

    def __init__(self, d: int, heads: int, d_k: int | None = None, d_v: int | None = None) -> None:
        super().__init__()
        self.heads = heads
        keys, values = (heads * size if size else d for size in (d_k, d_v))
        self.q, self.k, self.v = nn.Linear(d, keys), nn.Linear(d, keys), nn.Linear(d, values)
        self.out = nn.Linear(values, d)

    def queries(self, x: Tensor) -> Tensor:
        """Return [B, h, T, d_k] of [B, T, d]."""
        return split_heads(self.q(x), self.heads)

    def keys(self, x: Tensor) -> Tensor:
        """Return [B, h, T, d_k] of [B, T, d]."""
        return split_heads(self.k(x), self.heads)

    def values(self, x: Tensor) -> Tensor:
        """Return [B, h, T, d_v] of [B, T, d]."""
        return split_heads(self.v(x), self.heads)

    def keys_values(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return [B, h, T, d_k] and [B, h, T, d_v] of [B, T, d]."""
        return self.keys(x), self.values(x)

    def join(self, heads: Tensor) -> Tensor:
        """Return [B, T, d]: the heads [B, h, T, d_v] side by side, projected."""
        joined: Tensor = self.out(join_heads(heads))
        return joined


def split_heads(x: Tensor, heads: int) -> Tensor:
    """Return [B, T, d] as [B, h, T, d / h]."""
    return x.view(*x.shape[:2], heads, x.shape[2] // heads).transpose(1, 2)


def join_heads(x: Tensor) -> Tensor:
    """Return [B, h, T, d / h] as [B, T, d]."""
    return x.transpose(1, 2).flatten(2)


def initialise(module: nn.Module, *, zero_biases: bool = False) -> None:
    """Set the first weights of a module, as an argument of `apply`: Xavier's in linear layers.

    Biases of `MultiHeadAttention` become 0, with `zero_biases` the biases of all linear layers. A learned
    mask with linear layers, which are overwritten before it, starts anew in its own way.
    """
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if zero_biases and module.bias is not None:
            nn.init.zeros_(module.bias)
    elif isinstance(module, MultiHeadAttention):
        for projection in (module.q, module.k, module.v, module.out):
            nn.init.zeros_(projection.bias)
    elif isinstance(module, Mask) and any(isinstance(part, nn.Linear) for part in module.modules()):
        module.reset_parameters()
