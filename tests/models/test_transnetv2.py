"""TransNetV2 with random weights against plain NumPy and SciPy."""

import numpy as np
import numpy.typing as npt
import pytest
import torch
from scipy import ndimage

from vidsum.models.transnetv2 import TransNetV2, similarities_around

Array = npt.NDArray[np.float64]


def _random(module: torch.nn.Module, seed: int = 0) -> torch.nn.Module:
    """The module in float64 and evaluation mode, all its weights and running statistics drawn."""
    generator = torch.Generator().manual_seed(seed)
    module.double().eval()
    for name, tensor in module.state_dict().items():
        if name.endswith("running_var"):
            tensor.uniform_(0.5, 1.5, generator=generator)
        elif tensor.is_floating_point():
            tensor.normal_(0, 0.3, generator=generator)
    return module


def _numbers(module: torch.nn.Module) -> dict[str, Array]:
    return {name: tensor.numpy() for name, tensor in module.state_dict().items()}


def _convolve(x: Array, weight: Array, dilation: int) -> Array:
    """[C, T, H, W] with [O, C, kt, kh, kw] and zeros around; a dilated kernel is one with zeros between."""
    spread = np.zeros((*weight.shape[:2], (weight.shape[2] - 1) * dilation + 1, *weight.shape[3:]))
    spread[:, :, ::dilation] = weight
    return np.array(
        [
            sum(
                ndimage.correlate(channel, kernel, mode="constant")
                for channel, kernel in zip(x, kernels, strict=True)
            )
            for kernels in spread
        ]
    )


def _cell(x: Array, weights: dict[str, Array], name: str) -> Array:
    branches = []
    for dilation in (1, 2, 4, 8):
        over_space = _convolve(x, weights[f"{name}Conv3D_{dilation}.layers.0.weight"], 1)
        branches.append(_convolve(over_space, weights[f"{name}Conv3D_{dilation}.layers.1.weight"], dilation))
    mean, var, scale, shift = (
        weights[f"{name}bn.{part}"][:, None, None, None]
        for part in ("running_mean", "running_var", "weight", "bias")
    )
    return (np.concatenate(branches) - mean) / np.sqrt(var + 1e-3) * scale + shift


def _stack(x: Array, weights: dict[str, Array], name: str) -> Array:
    first = np.maximum(_cell(x, weights, f"{name}DDCNN.0."), 0)
    out = first + np.maximum(_cell(first, weights, f"{name}DDCNN.1."), 0)
    height, width = out.shape[2] // 2, out.shape[3] // 2
    return out[:, :, : 2 * height, : 2 * width].reshape(*out.shape[:2], height, 2, width, 2).mean(axis=(3, 5))


def _similarities(x: Array) -> Array:
    """[T, 101] cosines of the rows of [T, C], pair by pair."""
    out = np.zeros((len(x), 101))
    for t, near in np.ndindex(out.shape):
        other = t + near - 50
        if 0 <= other < len(x):
            out[t, near] = x[t] @ x[other] / np.sqrt((x[t] @ x[t]) * (x[other] @ x[other]))
    return out


def _histograms(frames: npt.NDArray[np.uint8]) -> Array:
    """[T, 512] counts of 8 x 8 x 8 colours."""
    edges = [np.arange(0, 257, 32)] * 3
    return np.array([np.histogramdd(frame.reshape(-1, 3), edges)[0].ravel() for frame in frames])


def _frames(n: int, height: int = 27, width: int = 48) -> npt.NDArray[np.uint8]:
    return np.random.default_rng(n).integers(0, 256, (n, height, width, 3), np.uint8)


@pytest.mark.parametrize("n", [1, 2, 51, 120])
def test_similarities_are_cosines_with_the_50_frames_to_each_side(n: int) -> None:
    x = np.random.default_rng(n).standard_normal((n, 4))
    found = similarities_around(torch.from_numpy(x)[None])[0]
    np.testing.assert_allclose(found, _similarities(x), atol=1e-12)


def test_network_is_its_parts_joined() -> None:
    model = _random(TransNetV2(filters=2, hidden=8)).float()
    frames, weights = _frames(6), _numbers(model)
    levels = [frames.transpose(3, 0, 1, 2) / 255]
    for number in range(3):
        levels.append(_stack(levels[-1], weights, f"SDDCNN.{number}."))
    seen = np.concatenate([level.mean(axis=(2, 3)) for level in levels[1:]]).T
    projected = (
        seen @ weights["frame_sim_layer.projection.weight"].T + weights["frame_sim_layer.projection.bias"]
    )

    def dense(x: Array, name: str) -> Array:
        return np.asarray(x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"])

    by_colour = np.maximum(dense(_similarities(_histograms(frames)), "color_hist_layer.fc"), 0)
    by_frame = np.maximum(dense(_similarities(projected), "frame_sim_layer.fc"), 0)
    # places come first and channels last, as in the published TensorFlow network
    places = levels[-1].transpose(1, 2, 3, 0).reshape(len(frames), -1)
    hidden = np.maximum(dense(np.concatenate([by_colour, by_frame, places], axis=1), "fc1"), 0)
    middle, whole = model(torch.from_numpy(frames)[None])
    np.testing.assert_allclose(middle[0].detach(), dense(hidden, "cls_layer1")[:, 0], rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(whole[0].detach(), dense(hidden, "cls_layer2")[:, 0], rtol=1e-3, atol=1e-3)
