"""What the DETR models of moments share: their settings, what they give, their inputs, encoders and heads.

Moment-DETR (Lei et al. 2021) and QD-DETR (Moon et al. 2023) read the clips of a video and the words of a
query, and answer with a fixed number of moments and a saliency of each clip. docs/algorithms/detr.md has the
equations.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

from torch import Tensor

from vidsum.models.attention.learned_mask import MaskConfig, mask_config
from vidsum.models.attention.retention import Decay


@dataclass(frozen=True)
class DETRConfig:
    """Sizes and switches; the defaults are those published for QVHighlights."""

    dim_video: int = 2818
    """SlowFast's 2304 features, CLIP's 512 and the two temporal endpoints."""
    dim_query: int = 512
    clips: int = 75
    """The most clips of a video."""
    words: int = 32
    """The most words of a query."""
    d: int = 256
    heads: int = 8
    d_ff: int = 1024
    layers: int = 2
    """Of each encoder; QD-DETR has two."""
    decoder_layers: int = 2
    n_moments: int = 10
    dropout: float = 0.1
    dropout_in: float = 0.5
    """Of the features, before they are projected."""
    mask: MaskConfig | None = None
    """The learned mask of the encoders' attention."""
    gamma: float = 0.98
    """This and what follows are of mrnet-detr alone; `vidsum.models.mrnet.MRNetConfig` explains them."""
    decay: Decay = "bidirectional"
    sparse: bool = True
    sparsity: float = 0.25

    def __post_init__(self) -> None:
        """Refuse with a ValueError what makes no model; a mask that came as a mapping becomes one."""
        mask: MaskConfig | Mapping[str, Any] | None = self.mask
        object.__setattr__(self, "mask", mask_config(mask))
        inputs = ("dim_video", "dim_query", "clips", "words")
        for name in (*inputs, "d", "heads", "d_ff", "layers", "decoder_layers", "n_moments"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)} must be at least 1")
        # the sines and cosines of an anchor's centre and of its width take half of d each
        if self.d % 4 or self.d % (2 * self.heads):
            raise ValueError(f"d = {self.d} must be a multiple of 4 and of twice the heads, {self.heads}")
        if self.decay not in get_args(Decay):
            raise ValueError(f"decay = {self.decay} must be one of {', '.join(get_args(Decay))}")
        if not 0 < self.gamma <= 1:
            raise ValueError(f"gamma = {self.gamma} must be above 0 and at most 1")
        for name in ("dropout", "dropout_in", "sparsity"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)} must be a share below 1")


class Detections(NamedTuple):
    """What a model finds in a batch of videos with one query each; L decoder layers, N moments, T clips."""

    logits: Tensor
    """[L, B, N, 2] of each decoder layer, the last is the answer; class 0 is a moment, class 1 is none."""
    spans: Tensor
    """[L, B, N, 2] centre and width, as shares of the clips that are no padding."""
    saliency: Tensor
    """[B, T], in no unit; clips of padding mean nothing."""
