"""The writer `write`: likely sentences near the picture; with made-up vectors, no weights."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.models.test_captioner import CONFIG, pair
from vidsum.checkpoints.trained import Trained, save_trained
from vidsum.errors import WeightsError
from vidsum.grounding import writers as captioner
from vidsum.grounding.writers import SegmentFeatures
from vidsum.models.captioner import ScoredSentence
from vidsum.models.vse import pack
from vidsum.types import FloatArray

VECTORS = {"A dog.": (1.0, 0.0), "A cat.": (0.0, 1.0), "Cats.": (0.6, 0.8)}


def encode(texts: Sequence[str]) -> FloatArray:
    return np.array([VECTORS[text] for text in texts], np.float32)


def test_the_map_chooses_among_likely_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captioner, "load_text_encoder", lambda name: SimpleNamespace(encode=encode))
    near = 0.5 * captioner.COSINE_WEIGHT  # what a cosine that is larger by .5 outweighs
    likely = [
        ScoredSentence("A dog.", -1.0),
        ScoredSentence("A cat.", -1.0 - near),
        ScoredSentence("Cats.", -1.0 - 3 * near),
    ]
    writer = SimpleNamespace(write=lambda features, width: [likely] * len(features))
    monkeypatch.setattr(captioner, "load_captioner", lambda: writer)
    pictures = np.array([[1, 0], [0, 1], [0.6, 0.8]], np.float32)
    said = captioner.write(SegmentFeatures(np.zeros((3, 4), np.float32), pictures))
    assert [one.text for one in said] == ["A dog.", "A cat.", "A dog."]
    odds = [
        captioner.CAPTION_CONFIDENCE @ np.array(each)
        for each in ((-1, 1, 1), (-1 - near, 1, 1), (-1, 0.6, 1))
    ]
    assert np.allclose([one.confidence for one in said], 1 / (1 + np.exp(-np.array(odds))), atol=1e-6)


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "captioner.safetensors"
    monkeypatch.setattr(captioner.checkpoints, "path_of", lambda name: path)
    monkeypatch.setattr(captioner.checkpoints, "sha256_of", lambda name: str(path))
    return path


def test_the_captioner_of_a_file(stored: Path) -> None:
    _, one = pair()
    save_trained(stored, Trained("captioner", {**vars(CONFIG)}, {}, {}, pack(one.tensors)))
    features = np.random.default_rng(0).random((2, CONFIG.dim_in), np.float32)
    assert captioner.load_captioner().config == CONFIG
    assert len(captioner.load_captioner().write(features, 2)) == 2


def test_weights_of_something_else_are_refused(stored: Path) -> None:
    save_trained(stored, Trained("captioner", {"d": 7}, {}, {}, {"x": np.zeros(3, np.float32)}))
    with pytest.raises(WeightsError, match="captioner are not those"):
        captioner.load_captioner()
