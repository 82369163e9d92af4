"""The DETR models by their names."""

from collections.abc import Mapping
from types import MappingProxyType

from vidsum.models.configs import DETRConfig
from vidsum.models.detr import DETR
from vidsum.models.moment_detr import MomentDETR
from vidsum.models.mrnet_detr import MRNetDETR
from vidsum.models.qd_detr import QDDETR

DETRModel = DETR

MODELS: Mapping[str, type[DETRModel]] = MappingProxyType(
    {"moment-detr": MomentDETR, "qd-detr": QDDETR, "mrnet-detr": MRNetDETR}
)

WITHOUT_NEGATIVES = ("moment-detr",)
"""Models whose loss has no negative pairs: their saliency has no zero."""


def build(name: str, config: DETRConfig) -> DETRModel:
    """A new model, one of MODELS, its weights drawn by PyTorch's generator."""
    return MODELS[name](config)
