"""C3D against plain NumPy, layer by layer at random places of each layer's output."""

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor, nn

from vidsum.models.i3d import C3D

CONVOLUTIONS = ("conv1a", "conv2a", "conv3a", "conv3b", "conv4a", "conv4b", "conv5a", "conv5b")
POOLS = {"pool1": (1, 2, 2), "pool2": (2, 2, 2), "pool3": (2, 2, 2), "pool4": (2, 2, 2), "pool5": (2, 2, 2)}
LAYERS = (
    *("conv1a", "pool1"),
    *("conv2a", "pool2"),
    *("conv3a", "conv3b", "pool3"),
    *("conv4a", "conv4b", "pool4"),
    *("conv5a", "conv5b", "pool5"),
    *("fc6", "fc7"),
)
"""Figure 3 of the paper."""

Array = npt.NDArray[np.float32]
Seen = dict[str, tuple[Array, Array]]


@pytest.fixture(scope="module")
def model() -> C3D:
    torch.manual_seed(0)
    return C3D("fc7").eval()


@pytest.fixture(scope="module")
def seen(model: C3D) -> Seen:
    """The input and output of each layer for one random clip."""
    arrays: Seen = {}

    def keep(name: str, inputs: Tensor, output: Tensor) -> None:
        arrays[name] = (inputs[0].numpy().copy(), output[0].numpy().copy())

    hooks = [
        model.get_submodule(name).register_forward_hook(
            lambda _module, inputs, output, name=name: keep(name, inputs[0], output)
        )
        for name in LAYERS
    ]
    with torch.inference_mode():
        model(torch.randn(1, 3, 16, 112, 112))
    for hook in hooks:
        hook.remove()
    return arrays


def test_each_layer_feeds_the_next(seen: Seen) -> None:
    for before, after in pairwise(LAYERS):
        given = np.maximum(seen[before][1], 0) if before == "fc6" else seen[before][1]
        np.testing.assert_array_equal(seen[after][0], given.reshape(seen[after][0].shape), err_msg=after)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_agree_with_the_sum_over_their_window(model: C3D, seen: Seen, name: str) -> None:
    x, y = seen[name]
    conv = model.get_submodule(name).get_submodule("conv")
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
def test_pools_agree_with_the_maximum_of_their_window(seen: Seen, name: str) -> None:
    x, y = seen[name]
    if name == "pool5":
        x = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=-np.inf)
    for axis, (size, step) in enumerate(zip(y.shape[1:], POOLS[name], strict=True), 1):
        parts = [x.take(range(start, size * step, step), axis) for start in range(step)]
        x = np.maximum(parts[0], parts[-1])
    np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("name", ["fc6", "fc7"])
def test_fully_connected_layers_agree_with_a_matrix_product(model: C3D, seen: Seen, name: str) -> None:
    x, y = seen[name]
    layer = model.get_submodule(name)
    np.testing.assert_allclose(
        y, layer.weight.detach().numpy() @ x + layer.bias.detach().numpy(), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("last", ["fc6", "fc7"])
def test_fc6_and_fc7_are_given_after_relu(model: C3D, seen: Seen, last: str) -> None:
    with torch.device("meta"):
        short = C3D(last)
    for name in LAYERS[:-2]:
        setattr(short, name, nn.Identity())
    short.fc6, short.fc7 = model.fc6, model.fc7
    with torch.inference_mode():
        outputs = short(torch.from_numpy(seen["pool5"][1])[None])[0]
    np.testing.assert_allclose(outputs, np.maximum(seen[last][1], 0), atol=1e-6)
