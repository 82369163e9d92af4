"""EfficientNet-Lite0 against its layers written out by the published names, with TensorFlow's padding."""

import pytest
import torch
from torch import Tensor
from torch.nn.functional import batch_norm, conv2d, pad, relu6

from tests.features.networks import efficientnet_lite0_weights
from vidsum.models.efficientnet_lite import EfficientNetLite0, from_published

STRIDES = {1: 2, 3: 2, 5: 2, 11: 2}
"""Of the blocks by number; 1 elsewhere."""


def convolve(x: Tensor, weight: Tensor, stride: int = 1, groups: int = 1) -> Tensor:
    """With the padding of TensorFlow's documentation for "SAME"."""
    kernel, size = weight.shape[-1], x.shape[-1]
    along = max(kernel - stride, 0) if size % stride == 0 else max(kernel - size % stride, 0)
    sides = (along // 2, along - along // 2)
    return conv2d(pad(x, sides * 2), weight, stride=stride, groups=groups)


def features(weights: dict[str, Tensor], x: Tensor) -> Tensor:
    """[N, 3, S, S] to [N, 3584]."""

    def norm(y: Tensor, name: str) -> Tensor:
        mean, variance = weights[f"{name}.running_mean"], weights[f"{name}.running_var"]
        return batch_norm(y, mean, variance, weights[f"{name}.weight"], weights[f"{name}.bias"], eps=1e-3)

    x = relu6(norm(convolve(x, weights["_conv_stem.weight"], 2), "_bn0"))
    inner = []
    for number in range(16):
        block, y = f"_blocks.{number}", x
        if number > 0:
            y = relu6(norm(convolve(y, weights[f"{block}._expand_conv.weight"]), f"{block}._bn0"))
        if number == 14:
            inner.append(y)
        depthwise = weights[f"{block}._depthwise_conv.weight"]
        y = convolve(y, depthwise, STRIDES.get(number, 1), groups=len(depthwise))
        y = relu6(norm(y, f"{block}._bn1"))
        if number == 15:
            inner.append(y)
        y = norm(convolve(y, weights[f"{block}._project_conv.weight"]), f"{block}._bn2")
        x = x + y if x.shape == y.shape else y
    x = relu6(norm(convolve(x, weights["_conv_head.weight"]), "_bn1"))
    return torch.cat([maps.mean(dim=(2, 3)) for maps in (x, *inner)], dim=1)


@pytest.mark.parametrize("size", [64, 96])
@torch.inference_mode()
def test_features_agree_with_the_layers_written_out(size: int) -> None:
    weights = efficientnet_lite0_weights()
    state, _ = from_published(weights)
    model = EfficientNetLite0().eval()
    model.load_state_dict(state)
    x = torch.randn(2, 3, size, size, generator=torch.Generator().manual_seed(1))
    expected = features(weights, x)
    torch.testing.assert_close(model(x), expected, rtol=1e-4, atol=1e-4 * float(expected.abs().max()))


def test_classifier_has_the_published_weights() -> None:
    weights = efficientnet_lite0_weights()
    _, head = from_published(weights)
    assert torch.equal(head.weight, weights["_fc.weight"])
    assert torch.equal(head.bias, weights["_fc.bias"])


def test_network_has_the_published_number_of_parameters() -> None:
    classifier = 1280 * 1000 + 1000
    assert sum(one.numel() for one in EfficientNetLite0().parameters()) + classifier == 4_652_008
