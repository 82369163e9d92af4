"""The embeddings of class names, and the file that keeps them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from vidsum import checkpoints
from vidsum.errors import UsageError
from vidsum.grounding import conse
from vidsum.grounding.conse import class_sentences, name_embeddings
from vidsum.grounding.text import TextEncoder
from vidsum.types import FloatArray


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """A home of its own and a encoder that gives each text its length; what the encoder was asked for."""
    monkeypatch.setenv("VIDSUM_HOME", str(tmp_path))
    calls: list[list[str]] = []

    def encode(texts: Sequence[str]) -> FloatArray:
        calls.append(list(texts))
        return np.array([[len(text), 1.0] for text in texts], np.float32)

    encoder = TextEncoder("minilm", 2, encode, lambda texts: [], list)
    monkeypatch.setattr(conse, "load_text_encoder", lambda _name, _device: encoder)
    return calls


def kept(home: Path) -> list[Path]:
    return list((home / "class_names").iterdir())


def test_names_are_embedded_once(asked: list[list[str]], tmp_path: Path) -> None:
    first, again = name_embeddings("i3d"), name_embeddings("i3d")
    assert first.shape == (400, 2)
    assert first.dtype == again.dtype == np.float32
    assert (first == again).all()
    assert len(asked) == 1
    assert [path.suffix for path in kept(tmp_path)] == [".bin"]


def test_each_extractor_template_and_checkpoint_has_its_own_file(
    asked: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name_embeddings("i3d")
    assert name_embeddings("efficientnet_lite0").shape == (1000, 2)
    monkeypatch.setitem(conse._TEMPLATES, "i3d", "someone is {}")
    name_embeddings("i3d")
    monkeypatch.setattr(checkpoints, "sha256_of", lambda _name: "0" * 64)
    name_embeddings("i3d")
    assert len(asked) == len(kept(tmp_path)) == 4
    assert asked[2][0] == "someone is abseiling"


def test_sentences_are_the_names_without_remarks() -> None:
    actions, objects = class_sentences("i3d"), class_sentences("efficientnet_lite0")
    assert (len(actions), len(objects)) == (400, 1000)
    assert "tying knot" in actions  # "tying knot (not on a tie)"
    assert not any("(" in sentence for sentence in actions)
    assert objects[0] == "there is a tench"


def test_an_extractor_without_classes_is_refused() -> None:
    with pytest.raises(UsageError, match="c3d has no class names"):
        name_embeddings("c3d")
