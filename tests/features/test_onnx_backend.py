"""The onnxruntime backend gives PyTorch's features, and exports a network only once."""

from collections.abc import Callable
from importlib import util
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from tests.features import networks
from tests.features.conftest import RandomClips
from vidsum.errors import UsageError
from vidsum.features import describe, onnx_backend
from vidsum.features.onnx_backend import exported_path, onnx_extractor
from vidsum.features.torch_backend import torch_extractor

RandomWeights = Callable[[str], networks.Weights]
SHA256 = "0123456789abcdef" * 4


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_HOME", str(tmp_path))


@pytest.mark.parametrize("name", ["mobilenet_v2", "i3d"])
def test_features_agree_with_torch_for_any_batch(
    random_weights: RandomWeights, random_clips: RandomClips, name: str
) -> None:
    spec = describe(name, clip_frames=9 if name == "i3d" else None)
    network = spec.build(random_weights(name))
    expected = torch_extractor(spec, network, device="cpu").encode(random_clips(spec, 3))
    extractor = onnx_extractor(spec, network, SHA256, device="cpu")
    for count in (3, 1):
        features = extractor.encode(random_clips(spec, 3)[:count])
        np.testing.assert_allclose(features, expected[:count], rtol=1e-3, atol=1e-4 * np.abs(expected).max())
    scores = np.zeros((1, spec.dim), np.float32)
    np.testing.assert_allclose(extractor.logits(scores)[0], network.head.bias.detach().numpy())  # type: ignore[union-attr]


def test_a_network_is_exported_once(random_weights: RandomWeights, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = describe("mobilenet_v2")
    network = spec.build(random_weights("mobilenet_v2"))
    onnx_extractor(spec, network, SHA256, device="cpu")
    kept = exported_path(spec, SHA256)
    assert [file.name for file in kept.parent.iterdir()] == [kept.name]
    monkeypatch.setattr(onnx_backend, "export", lambda *_: pytest.fail("exported again"))
    onnx_extractor(spec, network, SHA256, device="cpu")


def test_other_weights_and_clip_lengths_are_kept_apart() -> None:
    spec = describe("i3d")
    paths = {exported_path(spec, SHA256), exported_path(spec, SHA256[::-1])}
    paths.add(exported_path(describe("i3d", clip_frames=64), SHA256))
    paths.add(exported_path(describe("mobilenet_v2"), SHA256))
    assert len(paths) == 4


def test_other_precisions_are_refused(random_weights: RandomWeights) -> None:
    spec = describe("mobilenet_v2")
    with pytest.raises(UsageError, match="fp32, not bf16"):
        onnx_extractor(spec, spec.build(random_weights("mobilenet_v2")), SHA256, precision="bf16")


def test_a_missing_package_is_named_with_the_line_that_installs_it(
    random_weights: RandomWeights, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = util.find_spec
    monkeypatch.setattr(
        onnx_backend, "find_spec", lambda name: None if name == "onnxruntime" else found(name)
    )
    spec = describe("mobilenet_v2")
    with pytest.raises(UsageError, match="needs onnxruntime") as caught:
        onnx_extractor(spec, spec.build(random_weights("mobilenet_v2")), SHA256)
    assert caught.value.hint == "pip install 'vidsum[onnx]'"
