"""The projections of multi-head attention to heads and back, around whatever attention the caller wants."""

from torch import Tensor, nn


class MultiHeadAttention(nn.Module):
    """Four projections of d numbers; each of the h heads has d_k = d / h of them (FullTransNet Eq. 11-12)."""

    def __init__(self, d: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(d, d) for _ in range(4))

    def queries(self, x: Tensor) -> Tensor:
        """[B, h, T, d_k] of [B, T, d]."""
        return split_heads(self.q(x), self.heads)

    def keys(self, x: Tensor) -> Tensor:
        """[B, h, T, d_k] of [B, T, d]."""
        return split_heads(self.k(x), self.heads)

    def values(self, x: Tensor) -> Tensor:
        """[B, h, T, d_k] of [B, T, d]."""
        return split_heads(self.v(x), self.heads)

    def keys_values(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Both [B, h, T, d_k] of [B, T, d]."""
        return self.keys(x), self.values(x)

    def join(self, heads: Tensor) -> Tensor:
        """[B, T, d]: the heads [B, h, T, d_k] side by side, projected."""
        joined: Tensor = self.out(join_heads(heads))
        return joined


def split_heads(x: Tensor, heads: int) -> Tensor:
    """[B, T, d] as [B, h, T, d / h]."""
    return x.view(*x.shape[:2], heads, -1).transpose(1, 2)


def join_heads(x: Tensor) -> Tensor:
    """[B, h, T, d / h] as [B, T, d]."""
    return x.transpose(1, 2).flatten(2)
