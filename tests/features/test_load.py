"""Choosing an extractor by name, and what is refused."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.features import networks
from vidsum import checkpoints, features
from vidsum.checkpoints.registry import USER_FILE
from vidsum.errors import UsageError
from vidsum.features import EXTRACTORS, describe, get_extractor
from vidsum.features.extractor import Extractor
from vidsum.video.frames import Exact, Sampling, ShortSide

SIZES = {
    "mobilenet_v2": (1280, 0.5, 0.5),
    "efficientnet_lite0": (1280, 0.5, 0.5),
    "googlenet": (1024, 0.5, 0.5),
    "i3d": (1024, 0.64, 1.28),
    "i3d_128": (1024, 0.64, 1.28),
    "c3d": (4096, 0.64, 0.64),
    "c3d_fc7": (4096, 0.64, 0.64),
    "clip": (512, 2.0, 2.0),
    "clip-b32-256": (512, 2.0, 2.0),
    "mobileclip2-s0": (512, 2.0, 2.0),
    "mobileclip2-s2": (512, 2.0, 2.0),
    "pe-core-s16-384": (512, 2.0, 2.0),
    "siglip2-b16-256": (768, 2.0, 2.0),
}
"""Size of features, seconds between them and seconds that each covers."""


@pytest.mark.parametrize("name", EXTRACTORS)
def test_extractor_has_its_published_size_and_times(name: str) -> None:
    spec = describe(name)
    assert (spec.dim, spec.step_s, spec.covers_s) == SIZES[name]


def test_frames_are_read_in_the_size_of_the_extractor() -> None:
    assert describe("googlenet").sampling == Sampling(2.0, ShortSide(256))
    assert describe("c3d", fps=30.0).sampling == Sampling(30.0, Exact(171, 128))


def test_rate_length_and_stride_of_clips_change_the_times() -> None:
    spec = describe("i3d", fps=20.0, clip_frames=64, stride_frames=8)
    assert (spec.step_s, spec.covers_s) == (0.4, 3.2)


def test_extractors_are_described_without_torch() -> None:
    code = """
import sys
from vidsum.features import EXTRACTORS, describe
for name in EXTRACTORS:
    describe(name)
print("torch" in sys.modules)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "False"


def test_own_weights_are_an_extractor_of_their_network_without_inner_features(own_home: Path) -> None:
    entry = own_home / "weights" / "mine"
    entry.mkdir(parents=True)
    content = {"network": "efficientnet_lite0", "sha256": "0" * 64, "bytes": 1}
    (entry / USER_FILE).write_text(json.dumps(content))
    spec = describe("mine")
    assert (spec.network, spec.checkpoint, spec.dim, spec.inner) == ("efficientnet_lite0", "mine", 1280, 0)


def test_default_extractor_has_inner_features() -> None:
    assert describe("efficientnet_lite0").inner > 0


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("resnet", {}, "unknown extractor 'resnet'"),
        ("c3d", {"clip_frames": 8}, "c3d takes clips of 16 frame.s., not 8"),
        ("i3d", {"clip_frames": 8}, "i3d takes clips of 9 to 128 frame.s., not 8"),
        ("googlenet", {"clip_frames": 2}, "googlenet takes clips of 1 frame.s., not 2"),
        ("i3d", {"stride_frames": 0}, "stride must be one frame or more"),
        ("clip", {"fps": 0.0}, "fps must be above 0"),
        ("clip", {"fps": float("nan")}, "fps must be above 0"),
    ],
)
def test_unknown_extractor_and_bad_clips_are_refused(
    name: str, options: dict[str, float], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        describe(name, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backend": "tensorrt"}, "unknown backend 'tensorrt'"),
        ({"device": "tpu"}, "unknown device 'tpu'"),
        ({"device": "cuda"}, "no CUDA device"),
        ({"precision": "fp8"}, "unknown precision 'fp8'"),
        ({"precision": "fp16", "device": "cpu"}, "fp16 is for GPUs"),
        ({"precision": "fp16", "device": "auto"}, "fp16 is for GPUs"),
    ],
)
def test_bad_backend_device_or_precision_is_refused_before_weights_are_fetched(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, str], message: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    monkeypatch.setattr(checkpoints, "load_state_dict", lambda *_: pytest.fail("weights were fetched"))
    with pytest.raises(UsageError, match=message):
        get_extractor(describe("mobilenet_v2"), **options)  # type: ignore[arg-type]


@pytest.fixture
def mobilenet(
    random_weights: Callable[[str], networks.Weights], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Extractor]:
    """MobileNet with random weights, at a frame a second."""
    monkeypatch.setattr(checkpoints, "load_state_dict", random_weights)
    features._load.cache_clear()
    yield get_extractor(describe("mobilenet_v2", fps=1.0), device="cpu")
    features._load.cache_clear()


def test_extractor_has_its_spec_and_device(mobilenet: Extractor) -> None:
    assert (mobilenet.spec, mobilenet.device) == (describe("mobilenet_v2", fps=1.0), "cpu")


def test_extractor_classifies_by_its_weights(
    mobilenet: Extractor, random_weights: Callable[[str], networks.Weights]
) -> None:
    expected = random_weights("mobilenet_v2")["classifier.1.weight"]
    assert mobilenet.classify is not None
    rows = np.eye(2, expected.shape[1], dtype=np.float32)
    scores = np.diff(mobilenet.classify(rows), axis=0)[0]
    np.testing.assert_allclose(scores, expected[:, 1] - expected[:, 0], atol=1e-6)
