"""Parameters and operations of the papers' models at their sizes, counted on the meta device."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from vidsum.lab.models.audio_description import AudioDescription, AudioDescriptionConfig
from vidsum.models.configs import FullTransNetConfig, MaskConfig, MRNetConfig
from vidsum.models.fulltransnet import FullTransNet
from vidsum.models.mrnet import MRNet
from vidsum.options import from_mapping

WORDS: Final = 249
"""Number of words at which full attention costs what STAMP's Table 4 says; the paper does not give it."""


def _audio_description(mask: Mapping[str, Any] | None = None, **sizes: int) -> AudioDescription:
    return AudioDescription(AudioDescriptionConfig(mask=from_mapping(MaskConfig, mask), **sizes))


MODELS: Final[Mapping[str, Callable[..., nn.Module]]] = {
    "audio_description": _audio_description,
    "fulltransnet": lambda **sizes: FullTransNet(FullTransNetConfig(**sizes)),
    "mrnet": lambda **sizes: MRNet(MRNetConfig(**sizes)),
}


def costs(model: str, sizes: Mapping[str, Any]) -> dict[str, float]:
    """Count the parameters of a model and, for audio description, the operations of one clip, by column."""
    with torch.device("meta"):
        network = MODELS[model](**sizes).eval().requires_grad_(False)
        counted = {"million parameters": sum(weights.numel() for weights in network.parameters()) / 1e6}
        if not isinstance(network, AudioDescription):
            return counted
        config = AudioDescriptionConfig()
        clip = (torch.zeros(1, config.n_tokens, dim) for dim in (config.dim_visual, config.dim_audio))
        with FlopCounterMode(display=False) as counter:
            network(torch.zeros(1, WORDS, dtype=torch.long), network.evidence(*clip))
    flops = counter.get_total_flops()
    return {**counted, "TFLOPs": flops / 1e12, "TMACs": flops / 2e12}
