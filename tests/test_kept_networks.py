"""The networks of a run are loaded once for all files of a batch, however many a command uses at once."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import vidsum
from tests import media
from tests.conftest import deep
from tests.features import networks
from vidsum import checkpoints, features
from vidsum.features import describe, get_extractor
from vidsum.features.extractor import Extractor, Spec
from vidsum.features.settings import CLIP_FAMILY
from vidsum.grounding import chosen_model, text_encoders
from vidsum.grounding.text_encoders import TextEncoder
from vidsum.summary import score
from vidsum.types import FloatArray, Picture

_KEPT = (features._load, text_encoders._load, chosen_model._load_checkpoint, score._load_checkpoint)


@pytest.fixture
def loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Networks that are loaded, with random weights, but not run; counts how often each is loaded."""
    counted: Counter[str] = Counter()

    def load_state_dict(name: str) -> dict[str, torch.Tensor]:
        counted[name] += 1
        torch.manual_seed(0)
        return networks.WEIGHTS[name]()

    def minilm() -> TextEncoder:
        counted["minilm"] += 1
        return TextEncoder("minilm", _encode, lambda texts: [_encode(texts)], list)

    def read_trained(path: Path) -> Any:
        counted[Path(path).stem.removesuffix("-vse")] += 1
        return read(path)

    from vidsum.checkpoints.trained import read_trained as read

    monkeypatch.setenv("VIDSUM_HOME", str(tmp_path / "home"))

    def open_arrays(name: str) -> dict[str, np.ndarray]:
        return {key: tensor.numpy() for key, tensor in load_state_dict(name).items()}

    monkeypatch.setattr(checkpoints, "load_state_dict", load_state_dict)
    monkeypatch.setattr(checkpoints, "open_arrays", open_arrays)
    monkeypatch.setattr(checkpoints, "find", lambda name: None if name in CLIP_FAMILY else Path(name))
    monkeypatch.setattr("vidsum.checkpoints.trained.read_trained", read_trained)
    monkeypatch.setattr("vidsum.summary.importance_model.read_trained", read_trained)
    monkeypatch.setattr("vidsum.pipelines.decoding.get_extractor", _get_extractor)
    monkeypatch.setitem(text_encoders._LOADERS, "minilm", minilm)
    for stored in _KEPT:
        stored.cache_clear()
    yield counted
    for stored in _KEPT:
        stored.cache_clear()


def _get_extractor(spec: Spec, **how: Any) -> Extractor:
    """Give each clip other features: of pictures that stand still, no importance is computed."""

    def encode(clips: Picture) -> FloatArray:
        rows = np.random.default_rng(0).random((len(clips), spec.dim + spec.inner))
        return rows.astype(np.float32)

    return replace(get_extractor(spec, **how), encode=encode)


def _encode(texts: Sequence[str]) -> FloatArray:
    rows = np.random.default_rng(0).normal(size=(len(texts), 384))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("films")
    return [media.make_video(folder / f"{number}.mp4", n_frames=34 + number).path for number in range(3)]


GROUND = partial(vidsum.ground, queries="a dog runs", model="mrnet")


@pytest.mark.parametrize(
    ("command", "networks_used"),
    [
        deep(vidsum.extract, {"efficientnet_lite0"}),
        deep(vidsum.summarize, {"efficientnet_lite0", "ridge"}),
        (GROUND, {"efficientnet_lite0", "minilm", "mrnet"}),
        deep(vidsum.find_highlights, {"efficientnet_lite0", "ridge"}),
    ],
)
def test_network_is_loaded_once_for_all_files(
    films: list[Path], loads: Counter[str], command: Callable[..., object], networks_used: set[str]
) -> None:
    for film in films:
        command(film, device="cpu", cache=False)
    assert loads == dict.fromkeys(networks_used, 1)


def test_another_rate_uses_the_loaded_network(loads: Counter[str]) -> None:
    slow, quick = (get_extractor(describe("mobilenet_v2", fps=fps), device="cpu") for fps in (1.0, 4.0))
    assert (slow.spec.fps, quick.spec.fps) == (1.0, 4.0)
    assert loads["mobilenet_v2"] == 1


def test_network_is_loaded_for_each_precision(loads: Counter[str]) -> None:
    get_extractor(describe("mobilenet_v2"), device="cpu")
    get_extractor(describe("mobilenet_v2"), device="cpu", precision="bf16")
    assert loads["mobilenet_v2"] == 2


def test_network_is_loaded_again_for_other_weights_of_its_name(
    loads: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    get_extractor(describe("mobilenet_v2"), device="cpu")
    monkeypatch.setattr(checkpoints, "sha256_of", lambda name: "1234")
    get_extractor(describe("mobilenet_v2"), device="cpu")
    assert loads["mobilenet_v2"] == 2
