"""The kinds of masks of an attention, and the facts in which they differ, without PyTorch.

The class of each kind is in `MASKS` (`vidsum.models.attention.learned_mask`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

MaskKind = Literal["lam", "stamp", "static"]
"""Learned masks of a model's attention. LAM and STAMP differ in cross-attention alone: STAMP reads the tokens
that attend, LAM the logits Q K^T. The static one reads nothing."""
Fusion = Literal["product", "sum", "hide"]
"""How a mask M changes logits: times M, plus M, or plus (M - 1) * 10000, which hides (SwinBERT's)."""


@dataclass(frozen=True, kw_only=True)
class MaskTraits:
    """Facts of a kind of mask: they decide which settings and which models may have it."""

    fusion: Fusion = "product"  # the default
    has_layers: bool = True  # linear layers, whose start is `init`
    is_bounded: bool = False  # M lies within 0 and 1: `hide` is allowed, and `bound` has no effect
    is_square: bool = False
    """The tokens that attend must be the keys: not in cross-attention, and not in MRNet."""
    is_sparse: bool = False
    """A loss makes it sparse: not in FullTransNet, which lacks that loss, and not in MRNet."""


MASK_TRAITS: Mapping[str, MaskTraits] = MappingProxyType(
    {
        "lam": MaskTraits(),
        "stamp": MaskTraits(),
        "static": MaskTraits(
            fusion="hide", has_layers=False, is_bounded=True, is_square=True, is_sparse=True
        ),
    }
)
