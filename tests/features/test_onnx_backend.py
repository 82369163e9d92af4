"""The onnxruntime backend gives PyTorch's features, and exports a network only once."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from tests.features import networks
from tests.features.conftest import RandomClips
from vidsum.errors import PackageError, UsageError
from vidsum.features import choose_backend, describe, onnx_backend, weights_sha256
from vidsum.features.extractor import Network, Spec
from vidsum.features.onnx_backend import build_onnx_extractor, choose_provider
from vidsum.features.torch_backend import build_torch_extractor
from vidsum.io.packages import install_extra_command

onnxruntime = pytest.importorskip("onnxruntime")

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
SHA256 = "0123456789abcdef" * 4


pytestmark = pytest.mark.usefixtures("own_home")


def small_mobilenet() -> tuple[Spec, Network]:
    """An extractor of single frames, 64 pixels a side: MobileNetV2's layers, few and narrow."""
    from torchvision.models import MobileNetV2

    torch.manual_seed(0)
    model = MobileNetV2(num_classes=5, inverted_residual_setting=[[1, 8, 1, 1], [6, 12, 2, 2]])
    networks.settled(model, torch.randn(4, 3, 64, 64))
    head, model.classifier = model.classifier[1], nn.Identity()
    spec = describe("mobilenet_v2")
    spec = replace(spec, name="small", preprocessing=replace(spec.preprocessing, crop=64))
    return spec, Network(model, head)


@pytest.mark.deep
@pytest.mark.parametrize("make", [small_mobilenet, networks.small_i3d])
def test_onnx_extractor_agrees_with_torch(
    random_clips: RandomClips, make: Callable[[], tuple[Spec, Network]], monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, network = make()
    expected = build_torch_extractor(spec, network, device="cpu").encode(random_clips(spec, 3))
    extractor = build_onnx_extractor(spec, lambda: network, SHA256, device="cpu")
    for count in (3, 1):
        features = extractor.encode(random_clips(spec, 3)[:count])
        np.testing.assert_allclose(features, expected[:count], rtol=1e-3, atol=1e-4 * np.abs(expected).max())
    scores = np.zeros((1, spec.dim), np.float32)
    np.testing.assert_allclose(extractor.logits(scores)[0], network.head.bias.detach().numpy())  # type: ignore[union-attr]
    monkeypatch.setattr(onnx_backend, "export", lambda *_: pytest.fail("exported again"))
    build_onnx_extractor(spec, lambda: network, SHA256, device="cpu")


def test_an_export_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other weights, lengths of clips, networks and versions have exports of their own."""
    monkeypatch.setattr(onnx_backend, "open_session", lambda *_, threads: None)
    made: list[str] = []
    monkeypatch.setattr(onnx_backend, "export_extractor", lambda spec, _: (made.append(spec.name), b"x")[1])

    def build(spec: Spec, sha256: str = SHA256) -> None:
        for _ in range(2):
            build_onnx_extractor(spec, lambda: Network(nn.Identity()), sha256, device="cpu")

    spec = describe("i3d")
    build(spec)
    build(spec, SHA256[::-1])
    build(describe("i3d", clip_frames=64))
    build(describe("mobilenet_v2"))
    for name, version in (("__version__", "99.0"), ("installed_version", lambda _package: "99.0")):
        monkeypatch.setattr(onnx_backend, name, version)
        build(spec)
    assert len(made) == 6


def test_build_onnx_extractor_in_bf16() -> None:
    with pytest.raises(UsageError, match="fp32 and int8, not bf16"):
        build_onnx_extractor(describe("i3d"), lambda: networks.small_i3d()[1], SHA256, precision="bf16")


@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_choose_provider_errors(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    monkeypatch.setattr(onnx_backend, "choose_device", torch.device)
    monkeypatch.setattr(onnx_backend, "device_type", lambda name: name)
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [CPU])
    with pytest.raises(UsageError, match=f"does not run on {device}"):
        choose_provider(device, "fp32")


@pytest.mark.parametrize(("device", "chosen", "available", "expected"), [
    ("auto", "cpu", [CPU], (CPU, {})),
    ("auto", "cpu", [CUDA, CPU], (CPU, {})),
    ("auto", "cuda", [CPU], (CPU, {})),
    ("auto", "cuda", [CUDA, CPU], (CUDA, {"device_id": 0})),
    ("auto", "mps", [CPU], (CPU, {})),
    ("cuda:1", "cuda:1", [CUDA, CPU], (CUDA, {"device_id": 1})),
    ("cpu", "cpu", [CUDA, CPU], (CPU, {})),
])  # fmt: skip
def test_choose_provider(
    monkeypatch: pytest.MonkeyPatch, device: str, chosen: str, available: list[str], expected: object
) -> None:
    monkeypatch.setattr(onnx_backend, "choose_device", lambda _: torch.device(chosen))
    monkeypatch.setattr(onnx_backend, "device_type", lambda _: torch.device(chosen).type)
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: available)
    assert choose_provider(device, "fp32") == expected


def test_missing_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vidsum.io.packages.find_spec", lambda _: None)
    with pytest.raises(PackageError, match="i3d in onnxruntime needs onnxscript") as caught:
        choose_backend(describe("i3d"), "onnx", device="cpu")
    assert caught.value.hint == install_extra_command("onnx")
    assert choose_backend(describe("efficientnet_lite0"), "onnx", device="cpu") == "onnx"
    monkeypatch.setattr("vidsum.checkpoints.find", lambda name: None)
    for name in ("googlenet", "i3d"):
        with pytest.raises(PackageError, match=f"{name} needs torch"):
            weights_sha256(describe(name))
    assert len(weights_sha256(describe("efficientnet_lite0"))) == 64
