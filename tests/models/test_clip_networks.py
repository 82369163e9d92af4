"""I3D and C3D against their layers written out one after the other."""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm, conv3d, linear, max_pool3d, pad

from vidsum.models.clip_networks import C3D, I3D, from_released

MIXED = {
    "Mixed_3b": (192, 64, 96, 128, 16, 32, 32), "Mixed_3c": (256, 128, 128, 192, 32, 96, 64),
    "Mixed_4b": (480, 192, 96, 208, 16, 48, 64), "Mixed_4c": (512, 160, 112, 224, 24, 64, 64),
    "Mixed_4d": (512, 128, 128, 256, 24, 64, 64), "Mixed_4e": (512, 112, 144, 288, 32, 64, 64),
    "Mixed_4f": (528, 256, 160, 320, 32, 128, 128), "Mixed_5b": (832, 256, 160, 320, 32, 128, 128),
    "Mixed_5c": (832, 384, 192, 384, 48, 128, 128),
}  # fmt: skip
"""Inputs, then 1x1; 1x1, 3x3; 1x1, 3x3; pooled 1x1: table 1 of "Going Deeper with Convolutions"."""

Released = dict[str, Tensor]
Triple = tuple[int, int, int]


def pad_like_tensorflow(x: Tensor, kernel: Triple, stride: Triple, fill: float = 0.0) -> Tensor:
    """[N, C, T, H, W] padded by the rule of TensorFlow's documentation for padding="SAME"."""
    pads: list[int] = []
    for size, k, s in zip(x.shape[2:], kernel, stride, strict=True):
        along = max(k - s, 0) if size % s == 0 else max(k - size % s, 0)
        pads = [along // 2, along - along // 2, *pads]
    return pad(x, pads, value=fill)


def max_pool(x: Tensor, kernel: Triple, stride: Triple) -> Tensor:
    return max_pool3d(pad_like_tensorflow(x, kernel, stride, -torch.inf), kernel, stride)


def released_weights() -> Released:
    """Random arrays by the names and of the shapes of the released ones."""
    draw, weights = torch.Generator().manual_seed(0), Released()

    def add(layer: str, k: int, inputs: int, outputs: int) -> None:
        kernel = torch.randn(k, k, k, inputs, outputs, generator=draw, dtype=torch.float64)
        bias, mean, var = torch.rand(3, outputs, generator=draw, dtype=torch.float64)
        weights[f"params/{layer}/Conv_0/kernel"] = kernel * (2 / (k**3 * inputs)) ** 0.5
        weights[f"params/{layer}/BatchNorm_0/bias"] = 0.6 * bias
        weights[f"batch_stats/{layer}/BatchNorm_0/mean"] = mean.view(1, 1, 1, 1, -1) / 5
        weights[f"batch_stats/{layer}/BatchNorm_0/var"] = var.view(1, 1, 1, 1, -1) + 0.5

    add("Conv3d_1a_7x7", 7, 3, 64)
    add("Conv3d_2b_1x1", 1, 64, 64)
    add("Conv3d_2c_3x3", 3, 64, 192)
    for name, (inputs, direct, narrow_1, wide_1, narrow_2, wide_2, pooled) in MIXED.items():
        add(f"{name}/Branch_0/Conv3d_0a_1x1", 1, inputs, direct)
        add(f"{name}/Branch_1/Conv3d_0a_1x1", 1, inputs, narrow_1)
        add(f"{name}/Branch_1/Conv3d_0b_3x3", 3, narrow_1, wide_1)
        add(f"{name}/Branch_2/Conv3d_0a_1x1", 1, inputs, narrow_2)
        add(f"{name}/Branch_2/Conv3d_0b_3x3", 3, narrow_2, wide_2)
        add(f"{name}/Branch_3/Conv3d_0b_1x1", 1, inputs, pooled)
    add("Logits/Conv3d_0c_1x1", 1, 1024, 400)
    bias = weights.pop("params/Logits/Conv3d_0c_1x1/BatchNorm_0/bias")
    weights["params/Logits/Conv3d_0c_1x1/Conv_0/bias"] = bias
    return {key: array for key, array in weights.items() if "stats/Logits" not in key}


def unit(weights: Released, layer: str, x: Tensor, stride: int = 1) -> Tensor:
    """Convolution, batch normalisation with epsilon 1e-3 and no scale, ReLU."""
    kernel = weights[f"params/{layer}/Conv_0/kernel"].permute(4, 3, 0, 1, 2)
    k = kernel.shape[2]
    y = conv3d(pad_like_tensorflow(x, (k, k, k), (stride,) * 3), kernel, stride=stride)
    mean, var = (weights[f"batch_stats/{layer}/BatchNorm_0/{name}"].flatten() for name in ("mean", "var"))
    return batch_norm(y, mean, var, bias=weights[f"params/{layer}/BatchNorm_0/bias"], eps=1e-3).relu()


def mixed(weights: Released, name: str, x: Tensor) -> Tensor:
    one, two, three, four = (f"{name}/Branch_{branch}/Conv3d_" for branch in range(4))
    branches = [
        unit(weights, one + "0a_1x1", x),
        unit(weights, two + "0b_3x3", unit(weights, two + "0a_1x1", x)),
        unit(weights, three + "0b_3x3", unit(weights, three + "0a_1x1", x)),
        unit(weights, four + "0b_1x1", max_pool(x, (3, 3, 3), (1, 1, 1))),
    ]
    return torch.cat(branches, dim=1)


@dataclass(frozen=True)
class I3DReference:
    """Random weights, a clip, and its features and scores by the layers written out."""

    weights: Released
    clip: Tensor
    features: Tensor
    scores: Tensor


@pytest.fixture(scope="module")
def reference() -> I3DReference:
    """Odd sizes on the way down, so that "SAME" pads on both sides."""
    weights = released_weights()
    draw = torch.Generator().manual_seed(1)
    clip = torch.rand(1, 3, 17, 34, 42, generator=draw, dtype=torch.float64) * 2 - 1
    x = max_pool(unit(weights, "Conv3d_1a_7x7", clip, stride=2), (1, 3, 3), (1, 2, 2))
    x = unit(weights, "Conv3d_2c_3x3", unit(weights, "Conv3d_2b_1x1", x))
    x = max_pool(x, (1, 3, 3), (1, 2, 2))
    for name in MIXED:
        if name in ("Mixed_4b", "Mixed_5b"):
            x = max_pool(x, (3, 3, 3) if name == "Mixed_4b" else (2, 2, 2), (2, 2, 2))
        x = mixed(weights, name, x)
    # average pool over two places in time and all of the picture, classify each place, average over time
    places = torch.stack([x[0, :, t : t + 2].mean(dim=(1, 2, 3)) for t in range(x.shape[2] - 1)])
    kernel = weights["params/Logits/Conv3d_0c_1x1/Conv_0/kernel"][0, 0, 0]
    scores = (places @ kernel + weights["params/Logits/Conv3d_0c_1x1/Conv_0/bias"]).mean(dim=0)
    return I3DReference(weights, clip, places.mean(dim=0), scores)


@pytest.mark.deep
@torch.inference_mode()
def test_features_of_i3d_agree_with_its_layers_written_out(reference: I3DReference) -> None:
    state, _ = from_released(reference.weights)
    model = I3D().double().eval()
    model.load_state_dict(state)
    torch.testing.assert_close(model(reference.clip)[0], reference.features, rtol=1e-6, atol=1e-8)


@torch.inference_mode()
def test_class_scores_of_i3d_agree_with_its_layers_written_out(reference: I3DReference) -> None:
    _, head = from_released(reference.weights)
    scores = head.double()(reference.features[None])[0]
    torch.testing.assert_close(scores, reference.scores, rtol=1e-5, atol=1e-5)


LAYERS = (
    "conv1a",
    "pool1",
    "conv2a",
    "pool2",
    "conv3a",
    "conv3b",
    "pool3",
    "conv4a",
    "conv4b",
    "pool4",
    "conv5a",
    "conv5b",
    "pool5",
    "fc6",
    "fc7",
)
"""Figure 3 of the paper: 3x3x3 convolutions, pools of 2x2x2 but for the first, fully connected layers."""


@pytest.fixture(scope="module")
def c3d() -> C3D:
    """C3D whose activations are of order 1 everywhere."""
    torch.manual_seed(0)
    with torch.device("meta"):
        model = C3D("fc7").eval()
    model.to_empty(device="cpu")
    with torch.no_grad():
        for parameter in model.parameters():
            spread = (2 / parameter[0].numel()) ** 0.5 if parameter.ndim > 1 else 0.1
            parameter.uniform_(-(3**0.5) * spread, 3**0.5 * spread)
    return model


@pytest.fixture(scope="module")
def clip() -> Tensor:
    return torch.randn(1, 3, 16, 112, 112, generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def outputs(c3d: C3D, clip: Tensor) -> dict[str, Tensor]:
    """The output of each layer, one after the other."""
    x, made = clip, dict[str, Tensor]()
    with torch.inference_mode():
        for name in LAYERS:
            if name.startswith("pool"):
                sides = (1, 1, 1, 1) if name == "pool5" else (0, 0, 0, 0)
                x = max_pool3d(pad(x, sides, value=-torch.inf), (1 if name == "pool1" else 2, 2, 2))
            elif name.startswith("conv"):
                conv = c3d.get_submodule(f"{name}.conv")
                x = conv3d(x, conv.weight, conv.bias, padding=1).relu()
            else:
                layer = c3d.get_submodule(name)
                x = linear(x.flatten(1), layer.weight, layer.bias).relu()
            made[name] = x
    return made


@pytest.mark.deep
@torch.inference_mode()
def test_fc7_of_c3d_agrees_with_its_layers_written_out(
    c3d: C3D, clip: Tensor, outputs: dict[str, Tensor]
) -> None:
    torch.testing.assert_close(c3d(clip), outputs["fc7"], rtol=1e-4, atol=1e-4)


@pytest.mark.deep
@torch.inference_mode()
def test_fc6_of_c3d_agrees_with_its_layers_written_out(
    c3d: C3D, clip: Tensor, outputs: dict[str, Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the last pool on, which leaves out the convolutions."""
    for name in LAYERS[:-2]:
        monkeypatch.setitem(c3d._modules, name, nn.Identity())
    monkeypatch.setattr(c3d, "last", "fc6")
    torch.testing.assert_close(c3d(outputs["pool5"]), outputs["fc6"], rtol=1e-4, atol=1e-4)
