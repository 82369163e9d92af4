"""The DETR models by their names."""

from collections.abc import Mapping
from types import MappingProxyType

from vidsum.models.configs import DETRConfig
from vidsum.models.moment_detr import MomentDETR
from vidsum.models.mrnet_detr import MRNetDETR
from vidsum.models.qd_detr import QDDETR

DETRModel = MomentDETR | QDDETR | MRNetDETR

MODELS: Mapping[str, type[DETRModel]] = MappingProxyType(
    {"moment-detr": MomentDETR, "qd-detr": QDDETR, "mrnet-detr": MRNetDETR}
)

WITHOUT_NEGATIVES = ("moment-detr",)
"""Models whose loss has no negative pairs: their saliency has no zero."""


def build(name: str, config: DETRConfig) -> DETRModel:
    """A new model, its weights drawn by PyTorch's generator.

    Args:
        name: one of MODELS.
        config: of the model.

    Raises:
        ValueError: the config makes no such model.
    """
    return MODELS[name](config)
