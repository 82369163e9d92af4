"""Random weights for each extractor's network, in the form of its published checkpoint."""

import copy
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor, nn
from torchvision import models

from vidsum.features import describe
from vidsum.features.clip_family import CLIP_MODELS
from vidsum.features.extractor import Network, Spec
from vidsum.models.clip_networks import C3D, I3D, Mixed, SameMaxPool3d, Unit3D
from vidsum.models.efficientnet_lite import EfficientNetLite0

Weights = dict[str, Tensor]


def settled(model: nn.Module, example: Tensor) -> nn.Module:
    """The model with batch statistics of real activations, so that signals neither vanish nor explode."""
    for norm in model.modules():
        if isinstance(norm, nn.BatchNorm2d | nn.BatchNorm3d):
            norm.momentum = None  # a plain average
            nn.init.uniform_(norm.weight, 0.5, 1.5)
            nn.init.uniform_(norm.bias, -0.2, 0.4)
    with torch.no_grad():
        model.train()(example)
    return model.eval()


@cache
def googlenet() -> nn.Module:
    torch.manual_seed(0)
    model = models.googlenet(weights=None, aux_logits=True, transform_input=True, init_weights=False)
    return settled(model, torch.randn(2, 3, 224, 224))


@cache
def mobilenet_v2() -> nn.Module:
    torch.manual_seed(0)
    return settled(models.mobilenet_v2(weights=None), torch.randn(2, 3, 224, 224))


def efficientnet_lite0_weights() -> Weights:
    torch.manual_seed(0)
    model = settled(EfficientNetLite0(), torch.randn(2, 3, 224, 224))
    published = {
        re.sub(r"(^|\.)(?=[a-z])(?!weight|bias|running|num)", r"\1_", key): value
        for key, value in model.state_dict().items()
    }
    return {**published, "_fc.weight": torch.randn(1000, 1280) / 36, "_fc.bias": torch.randn(1000)}


def shallow_clip_config(name: str) -> dict[str, Any]:
    """open_clip's configuration of a model, with one of its 12 layers of transformers, and few words."""
    from open_clip.factory import get_model_config

    config = copy.deepcopy(get_model_config(name))
    config["text_cfg"]["layers"] = 1
    if "layers" in config["vision_cfg"]:
        config["vision_cfg"]["layers"] = 1
    if "SigLIP2" in name:
        config["text_cfg"]["vocab_size"] = 1000
    return config


@cache
def clip(name: str = "clip") -> nn.Module:
    import open_clip

    torch.manual_seed(0)
    config = shallow_clip_config(CLIP_MODELS[name].architecture)
    if not config.pop("custom_text", False):
        return open_clip.CLIP(**config).eval()
    model = open_clip.CustomTextCLIP(**config)
    if "mobileclip" in name:
        settled(model.visual, torch.rand(2, 3, 256, 256))
    return model.eval()


def i3d_weights() -> Weights:
    torch.manual_seed(0)
    model = settled(I3D(), torch.rand(2, 3, 9, 64, 64) * 2 - 1)
    released: Weights = {
        "params/Logits/Conv3d_0c_1x1/Conv_0/kernel": torch.randn(1, 1, 1, 1024, 400) / 32,
        "params/Logits/Conv3d_0c_1x1/Conv_0/bias": torch.randn(400),
    }
    for key, value in model.state_dict().items():
        layer, part, kind = key.rsplit(".", 2)
        layer = layer.replace(".", "/")
        if kind == "weight" and part == "conv":
            released[f"params/{layer}/Conv_0/kernel"] = value.permute(2, 3, 4, 1, 0)
        elif kind == "bias":
            released[f"params/{layer}/BatchNorm_0/bias"] = value
        elif kind in ("running_mean", "running_var"):
            released[f"batch_stats/{layer}/BatchNorm_0/{kind[8:]}"] = value.reshape(1, 1, 1, 1, -1)
    return released


@cache
def c3d_weights() -> Weights:
    torch.manual_seed(0)
    return C3D().state_dict()


WEIGHTS: dict[str, Callable[[], Weights]] = {
    "mobilenet_v2": lambda: mobilenet_v2().state_dict(),
    "i3d": i3d_weights,
    "i3d_128": i3d_weights,
    "efficientnet_lite0": efficientnet_lite0_weights,
    "googlenet": lambda: googlenet().state_dict(),
    "c3d": c3d_weights,
    "c3d_fc7": c3d_weights,
    **{name: partial(lambda name: clip(name).state_dict(), name) for name in CLIP_MODELS},
}


class SmallI3D(I3D):
    """I3D with one or two of each kind of layer, all narrow, so that it is exported quickly."""

    def __init__(self) -> None:
        nn.Module.__init__(self)
        self.wide = Unit3D(3, 8, 7, 2)
        self.pool_space = SameMaxPool3d((1, 3, 3), (1, 2, 2))
        self.mixed = Mixed(8, (4, 4, 6, 2, 3, 3))
        self.pool_all = SameMaxPool3d((3, 3, 3), (2, 2, 2))
        self.last = Unit3D(16, 12, 1)


def small_i3d() -> tuple[Spec, Network]:
    torch.manual_seed(0)
    model = settled(SmallI3D(), torch.rand(4, 3, 9, 32, 32) * 2 - 1)
    spec = describe("i3d", clip_frames=9)
    spec = replace(spec, name="small", dim=12, preprocessing=replace(spec.preprocessing, crop=32))
    return spec, Network(model, nn.Linear(12, 5))
