"""I3D and C3D against plain NumPy, layer by layer and as a whole."""

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from vidsum.models.i3d import C3D, I3D, from_released, same_padding

MIXED = {
    "Mixed_3b": (192, 64, 96, 128, 16, 32, 32), "Mixed_3c": (256, 128, 128, 192, 32, 96, 64),
    "Mixed_4b": (480, 192, 96, 208, 16, 48, 64), "Mixed_4c": (512, 160, 112, 224, 24, 64, 64),
    "Mixed_4d": (512, 128, 128, 256, 24, 64, 64), "Mixed_4e": (512, 112, 144, 288, 32, 64, 64),
    "Mixed_4f": (528, 256, 160, 320, 32, 128, 128), "Mixed_5b": (832, 256, 160, 320, 32, 128, 128),
    "Mixed_5c": (832, 384, 192, 384, 48, 128, 128),
}  # fmt: skip
"""Inputs, then 1x1; 1x1, 3x3; 1x1, 3x3; pooled 1x1: table 1 of "Going Deeper with Convolutions"."""

Array = npt.NDArray[np.float64]
Released = dict[str, Array]
Triple = tuple[int, int, int]


def padded_like_tensorflow(x: Array, kernel: tuple[int, ...], stride: tuple[int, ...], fill: float) -> Array:
    """[C, T, H, W] padded by the rule of TensorFlow's documentation for padding="SAME"."""
    pads = [(0, 0)]
    for size, k, s in zip(x.shape[1:], kernel, stride, strict=True):
        along = max(k - s, 0) if size % s == 0 else max(k - size % s, 0)
        pads.append((along // 2, along - along // 2))
    return np.pad(x, pads, constant_values=fill)


def windows(x: Array, kernel: tuple[int, ...], stride: tuple[int, ...]) -> Array:
    """[C, T', H', W', kt, kh, kw] of [C, T, H, W]."""
    view = np.lib.stride_tricks.sliding_window_view(x, kernel, axis=(1, 2, 3))
    return view[:, :: stride[0], :: stride[1], :: stride[2]]


def convolve(x: Array, weight: Array, stride: int = 1) -> Array:
    """[C, T, H, W] with weight [O, C, kt, kh, kw] and TensorFlow's "SAME" padding."""
    kernel, strides = weight.shape[2:], (stride,) * 3
    seen = windows(padded_like_tensorflow(x, kernel, strides, 0.0), kernel, strides)
    out: Array = np.einsum("cthwijk,ocijk->othw", seen, weight, optimize=True)
    return out


def max_pool(x: Array, kernel: tuple[int, int, int], stride: tuple[int, int, int]) -> Array:
    """[C, T, H, W] with TensorFlow's "SAME" padding."""
    out: Array = windows(padded_like_tensorflow(x, kernel, stride, -np.inf), kernel, stride).max(
        axis=(4, 5, 6)
    )
    return out


def add_unit(
    weights: Released, rng: np.random.Generator, layer: str, k: int, inputs: int, outputs: int
) -> None:
    spread = np.sqrt(2 / (k**3 * inputs))
    weights[f"params/{layer}/Conv_0/kernel"] = rng.normal(0, spread, (k, k, k, inputs, outputs))
    weights[f"params/{layer}/BatchNorm_0/bias"] = rng.normal(0.3, 0.2, outputs)
    weights[f"batch_stats/{layer}/BatchNorm_0/mean"] = rng.normal(0, 0.1, (1, 1, 1, 1, outputs))
    weights[f"batch_stats/{layer}/BatchNorm_0/var"] = rng.uniform(0.5, 1.5, (1, 1, 1, 1, outputs))


@pytest.fixture(scope="module")
def released() -> Released:
    rng, weights = np.random.default_rng(0), Released()
    add_unit(weights, rng, "Conv3d_1a_7x7", 7, 3, 64)
    add_unit(weights, rng, "Conv3d_2b_1x1", 1, 64, 64)
    add_unit(weights, rng, "Conv3d_2c_3x3", 3, 64, 192)
    for name, (inputs, direct, narrow_1, wide_1, narrow_2, wide_2, pooled) in MIXED.items():
        add_unit(weights, rng, f"{name}/Branch_0/Conv3d_0a_1x1", 1, inputs, direct)
        add_unit(weights, rng, f"{name}/Branch_1/Conv3d_0a_1x1", 1, inputs, narrow_1)
        add_unit(weights, rng, f"{name}/Branch_1/Conv3d_0b_3x3", 3, narrow_1, wide_1)
        add_unit(weights, rng, f"{name}/Branch_2/Conv3d_0a_1x1", 1, inputs, narrow_2)
        add_unit(weights, rng, f"{name}/Branch_2/Conv3d_0b_3x3", 3, narrow_2, wide_2)
        add_unit(weights, rng, f"{name}/Branch_3/Conv3d_0b_1x1", 1, inputs, pooled)
    weights["params/Logits/Conv3d_0c_1x1/Conv_0/kernel"] = rng.normal(0, 0.03, (1, 1, 1, 1024, 400))
    weights["params/Logits/Conv3d_0c_1x1/Conv_0/bias"] = rng.normal(0, 0.1, 400)
    return weights


def plain_unit(weights: Released, layer: str, x: Array, stride: int = 1) -> Array:
    """Convolution, batch normalisation with epsilon 1e-3 and no scale, ReLU."""
    y = convolve(x, weights[f"params/{layer}/Conv_0/kernel"].transpose(4, 3, 0, 1, 2), stride)
    mean = weights[f"batch_stats/{layer}/BatchNorm_0/mean"].reshape(-1, 1, 1, 1)
    var = weights[f"batch_stats/{layer}/BatchNorm_0/var"].reshape(-1, 1, 1, 1)
    bias = weights[f"params/{layer}/BatchNorm_0/bias"].reshape(-1, 1, 1, 1)
    return np.maximum((y - mean) / np.sqrt(var + 1e-3) + bias, 0)


def plain_mixed(weights: Released, name: str, x: Array) -> Array:
    one, two, three, four = (f"{name}/Branch_{branch}/Conv3d_" for branch in range(4))
    pooled = max_pool(x, (3, 3, 3), (1, 1, 1))
    branches = [
        plain_unit(weights, one + "0a_1x1", x),
        plain_unit(weights, two + "0b_3x3", plain_unit(weights, two + "0a_1x1", x)),
        plain_unit(weights, three + "0b_3x3", plain_unit(weights, three + "0a_1x1", x)),
        plain_unit(weights, four + "0b_1x1", pooled),
    ]
    return np.concatenate(branches)


def plain_i3d(weights: Released, clip: Array) -> dict[str, Array]:
    """The output of each stage for a clip [3, T, H, W]."""
    x = plain_unit(weights, "Conv3d_1a_7x7", clip, stride=2)
    stages = {"Conv3d_1a_7x7": x}
    x = plain_unit(weights, "Conv3d_2b_1x1", max_pool(x, (1, 3, 3), (1, 2, 2)))
    x = stages["Conv3d_2c_3x3"] = plain_unit(weights, "Conv3d_2c_3x3", x)
    x = max_pool(x, (1, 3, 3), (1, 2, 2))
    for name in MIXED:
        if name == "Mixed_4b":
            x = max_pool(x, (3, 3, 3), (2, 2, 2))
        if name == "Mixed_5b":
            x = max_pool(x, (2, 2, 2), (2, 2, 2))
        x = stages[name] = plain_mixed(weights, name, x)
    return stages


def test_each_stage_and_the_logits_agree_with_numpy(released: Released) -> None:
    # 34x42, 17 frames: odd sizes on the way down, so that "SAME" pads on both sides
    clip = np.random.default_rng(1).uniform(-1, 1, (3, 17, 34, 42))
    expected = plain_i3d(released, clip)
    state, head = from_released({key: torch.from_numpy(array) for key, array in released.items()})
    model = I3D().double().eval()
    model.load_state_dict(state)
    seen: dict[str, Array] = {}
    for name in expected:
        model.get_submodule(name).register_forward_hook(
            lambda _module, _inputs, output, name=name: seen.update({name: output[0].detach().numpy()})
        )
    features = model(torch.from_numpy(clip)[None])
    for name, stage in expected.items():
        np.testing.assert_allclose(seen[name], stage, rtol=1e-6, atol=1e-8, err_msg=name)
    # average pool over two places in time and all of the picture, classify each place, average over time
    last = expected["Mixed_5c"]
    places = np.stack([last[:, t : t + 2].mean(axis=(1, 2, 3)) for t in range(last.shape[1] - 1)])
    kernel = released["params/Logits/Conv3d_0c_1x1/Conv_0/kernel"][0, 0, 0]
    scores = (places @ kernel + released["params/Logits/Conv3d_0c_1x1/Conv_0/bias"]).mean(axis=0)
    np.testing.assert_allclose(head.double()(features)[0].detach(), scores, rtol=1e-5, atol=1e-5)


@given(size=st.integers(1, 300), kernel=st.integers(1, 7), stride=st.integers(1, 3))
def test_same_padding_gives_ceil_size_over_stride_places(size: int, kernel: int, stride: int) -> None:
    before, after = same_padding(size, kernel, stride)
    assert 0 <= after - before <= 1
    padded = size + before + after
    if kernel >= stride:
        assert (padded - kernel) // stride + 1 == -(-size // stride)
        assert before + after == 0 or padded == (-(-size // stride) - 1) * stride + kernel


CONVOLUTIONS = ("conv1a", "conv2a", "conv3a", "conv3b", "conv4a", "conv4b", "conv5a", "conv5b")
POOLS = {"pool1": (1, 2, 2), "pool2": (2, 2, 2), "pool3": (2, 2, 2), "pool4": (2, 2, 2), "pool5": (2, 2, 2)}
LAYERS = (
    *("conv1a", "pool1"), *("conv2a", "pool2"), *("conv3a", "conv3b", "pool3"),
    *("conv4a", "conv4b", "pool4"), *("conv5a", "conv5b", "pool5"), *("fc6", "fc7"),
)  # fmt: skip
"""Figure 3 of the paper."""

Layers = dict[str, tuple[Array, Array]]


@pytest.fixture(scope="module")
def c3d() -> C3D:
    torch.manual_seed(0)
    return C3D("fc7").eval()


@pytest.fixture(scope="module")
def layers(c3d: C3D) -> Layers:
    """The input and output of each layer for one random clip."""
    arrays: Layers = {}

    def keep(name: str, inputs: Tensor, output: Tensor) -> None:
        arrays[name] = (inputs[0].numpy().copy(), output[0].numpy().copy())

    hooks = [
        c3d.get_submodule(name).register_forward_hook(
            lambda _module, inputs, output, name=name: keep(name, inputs[0], output)
        )
        for name in LAYERS
    ]
    with torch.inference_mode():
        c3d(torch.randn(1, 3, 16, 112, 112))
    for hook in hooks:
        hook.remove()
    return arrays


def test_each_layer_feeds_the_next(layers: Layers) -> None:
    for before, after in pairwise(LAYERS):
        given = np.maximum(layers[before][1], 0) if before == "fc6" else layers[before][1]
        np.testing.assert_array_equal(layers[after][0], given.reshape(layers[after][0].shape), err_msg=after)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_agree_with_the_sum_over_their_window(c3d: C3D, layers: Layers, name: str) -> None:
    x, y = layers[name]
    conv = c3d.get_submodule(name).get_submodule("conv")
    weight, bias = conv.weight.detach().numpy().astype(np.float64), conv.bias.detach().numpy()
    padded = np.pad(x, [(0, 0), (1, 1), (1, 1), (1, 1)]).astype(np.float64)
    rng = np.random.default_rng(0)
    corners = [
        (t, h, w) for t in (0, y.shape[1] - 1) for h in (0, y.shape[2] - 1) for w in (0, y.shape[3] - 1)
    ]
    inside = [tuple(rng.integers(0, y.shape[1:])) for _ in range(8)]
    for t, h, w in corners + inside:
        window = padded[:, t : t + 3, h : h + 3, w : w + 3]
        expected = np.maximum(np.tensordot(weight, window, axes=4) + bias, 0)
        np.testing.assert_allclose(y[:, t, h, w], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", POOLS)
def test_pools_agree_with_the_maximum_of_their_window(layers: Layers, name: str) -> None:
    x, y = layers[name]
    if name == "pool5":
        x = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=-np.inf)
    for axis, (size, step) in enumerate(zip(y.shape[1:], POOLS[name], strict=True), 1):
        parts = [x.take(range(start, size * step, step), axis) for start in range(step)]
        x = np.maximum(parts[0], parts[-1])
    np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("name", ["fc6", "fc7"])
def test_fully_connected_layers_agree_with_a_matrix_product(c3d: C3D, layers: Layers, name: str) -> None:
    x, y = layers[name]
    layer = c3d.get_submodule(name)
    np.testing.assert_allclose(
        y, layer.weight.detach().numpy() @ x + layer.bias.detach().numpy(), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("last", ["fc6", "fc7"])
def test_fc6_and_fc7_are_given_after_relu(c3d: C3D, layers: Layers, last: str) -> None:
    with torch.device("meta"):
        short = C3D(last)
    for name in LAYERS[:-2]:
        setattr(short, name, nn.Identity())
    short.fc6, short.fc7 = c3d.fc6, c3d.fc7
    with torch.inference_mode():
        outputs = short(torch.from_numpy(layers["pool5"][1])[None])[0]
    np.testing.assert_allclose(outputs, np.maximum(layers[last][1], 0), atol=1e-6)
