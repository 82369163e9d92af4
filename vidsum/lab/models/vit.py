"""The vision transformer with learned masks: LAM's Table 1d and STAMP's Table 5, classification of pictures.

    x_0     = [class; patches] + positions             Dosovitskiy et al. 2021, Eq. 1
    x'      = x + softmax(Q K^T / sqrt(d_k) <> M) V    with Q, K, V and M of LayerNorm(x); STAMP Eq. 5
    x_l     = x' + MLP(LayerNorm(x'))
    classes = Linear(LayerNorm(mean of the patches))   as MAE is fine-tuned (He et al. 2022)

Each block has its own mask, a linear layer from 768 to 197 tokens without a ReLU (STAMP A.2.1, LAM B.1).
"""

from dataclasses import dataclass
from typing import Final, cast

import torch
from torch import Tensor, nn

from vidsum.models.attention.heads import MultiHeadAttention
from vidsum.models.attention.learned_mask import Mask, SoftMask, fused_attention, learned_masks, shared_mask
from vidsum.models.configs import MaskConfig

ONE_LAYER: Final = MaskConfig(kind="lam", depth=1)  # the papers' mask


@dataclass(frozen=True)
class ViTConfig:
    """Sizes; the defaults are those of ViT-B/16 on ImageNet-1K."""

    channels: int = 3
    image: int = 224  # pixels of a side; a multiple of `patch`
    patch: int = 16
    d: int = 768
    layers: int = 12
    heads: int = 12
    classes: int = 1000
    mask: MaskConfig | None = None
    linear: int = 0
    """Width of two more linear layers behind each block, in place of a mask: "+ Linear Layers" of Table 3."""

    @property
    def n_patches(self) -> int:
        """Number of patches; the tokens are one more."""
        return (self.image // self.patch) ** 2


class ViT(nn.Module):
    """A classifier of pictures."""

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        d, n_tokens = config.d, config.n_patches + 1
        self.patches = nn.Conv2d(config.channels, d, config.patch, config.patch)
        self.class_token = nn.Parameter(torch.zeros(1, 1, d))
        self.positions = nn.Parameter(0.02 * torch.randn(1, n_tokens, d))
        masks = learned_masks(config.mask, d, n_tokens, config.layers)
        self.blocks = nn.ModuleList(ViTBlock(d, config.heads, mask, eps=1e-6) for mask in masks)
        self.linear = nn.ModuleList(
            nn.Sequential(nn.Linear(d, config.linear), nn.ReLU(), nn.Linear(config.linear, d))
            for _ in range(config.layers if config.linear else 0)
        )
        self.norm = nn.LayerNorm(d, eps=1e-6)
        self.head = nn.Linear(d, config.classes)

    def forward(self, pictures: Tensor) -> Tensor:
        """Return [B, classes] logits of pictures [B, channels, image, image]."""
        logits: Tensor = self.head(self.norm(self.encode(pictures)[:, 1:].mean(dim=1)))
        return logits

    def encode(self, pictures: Tensor) -> Tensor:
        """Return [B, n_patches + 1, d] tokens after the last block, that of the class first."""
        patches = self.patches(pictures).flatten(2).mT
        x = torch.cat([self.class_token.expand(len(patches), -1, -1), patches], dim=1) + self.positions
        shared = shared_mask(self.blocks, cast(ViTBlock, self.blocks[0]).norms[0](x))
        for number, block in enumerate(self.blocks):
            x = block(x, shared)
            x = x + self.linear[number](x) if self.linear else x
        return x


class ViTBlock(nn.Module):
    """A block of a vision transformer: norms before, GELU, an MLP of four times d."""

    def __init__(self, d: int, heads: int, mask: Mask | None = None, *, eps: float = 1e-5) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(d, eps=eps) for _ in range(2))
        self.attention = MultiHeadAttention(d, heads)
        self.mask = mask
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x: Tensor, shared: SoftMask | None = None) -> Tensor:
        """Return [B, N, d] to the same; `shared` is the mask of all blocks, if they share one."""
        normed = self.norms[0](x)
        q, (k, v) = self.attention.queries(normed), self.attention.keys_values(normed)
        mask = self.mask(normed, normed.shape[1]) if self.mask and not shared else shared
        x = x + self.attention.join(fused_attention(q, k, v, mask))
        out: Tensor = x + self.mlp(self.norms[1](x))
        return out
