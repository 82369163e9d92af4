"""Texts in other languages: the rule that finds them, and the encoder that reads them."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import real_weights
from vidsum.grounding import languages
from vidsum.grounding.languages import DIM, encode_in, is_english
from vidsum.grounding.text_encoders import load_text_encoder
from vidsum.types import FloatArray

CAPTIONS = json.loads(Path(__file__).with_name("captions_in_languages.json").read_text("utf-8"))


FOREIGN = (
    "собака бежит по снегу; 一只狗在雪地里奔跑; كلب يجري; ein Hund läuft im Schnee; "
    "un perro corre por la nieve; un chien court dans la neige; een hond in de sneeuw; un perro; ein Vogel; "
    "ein Bär; ein Mann mit Hund; une dame; Menschen auf der Straße"
)
ENGLISH = (
    "a person opens a door; dog; naïve fiancée at a café; 2 men; she dies in el paso; kids shooting hoops; "
    "Tomáš Novák speaks; Los Angeles skyline; Rio de Janeiro; UN soldiers; Leonardo da Vinci; El Capitan; "
    "boa constrictor; spaghetti al dente; asdkjh zzzz; perro"
)


def test_which_texts_are_read_as_english() -> None:
    assert [text for text in FOREIGN.split("; ") if is_english(text)] == []
    assert [text for text in ENGLISH.split("; ") if not is_english(text)] == []


def test_captions_of_six_languages_are_nearly_all_found() -> None:
    texts = [text for captions in CAPTIONS.values() for text in captions.values()]
    assert sum(map(is_english, texts)) <= 5
    assert len(texts) == 24 * 6


@pytest.mark.shared
def test_queries_of_clips_are_english(shared_videos: Path) -> None:
    clips = [
        clip
        for folder in (shared_videos, shared_videos / "wide")
        for clip in json.loads((folder / "clips.json").read_text())["clips"]
    ]
    texts = [text for clip in clips for key, text in clip.items() if key not in ("file", "source")]
    assert [text for text in texts if not is_english(text)] == []


def encode_english(texts: Sequence[str]) -> FloatArray:
    return np.eye(len(texts), DIM, dtype=np.float32)


@pytest.fixture
def e5(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """An encoder in E5's place, whose rows the matrix turns round; the texts that it was given."""
    batches: list[list[str]] = []

    def encode(texts: Sequence[str]) -> FloatArray:
        batches.append(list(texts))
        return np.eye(len(texts), DIM, dtype=np.float32)

    matrix = np.zeros((DIM + 1, DIM), np.float16)
    matrix[:DIM] = 2 * np.eye(DIM)[::-1]
    monkeypatch.setattr(languages, "load_e5", lambda _sha256: encode)
    monkeypatch.setattr(languages.checkpoints, "load_arrays", lambda _name: {"matrix": matrix})
    return batches


def test_texts_of_other_languages_go_through_e5_and_the_matrix(e5: list[list[str]]) -> None:
    rows = encode_in(["a dog", "un perro", "a cat"], "auto", encode_english)
    assert e5 == [["un perro"]]
    assert rows.argmax(axis=1).tolist() == [0, DIM - 1, 1]
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize(("language", "expected"), [("en", []), ("de", [["Hund", "a dog"]]), ("auto", [])])
def test_language_overrules(e5: list[list[str]], language: str, expected: list[list[str]]) -> None:
    encode_in(["Hund", "a dog"], language, encode_english)
    assert e5 == expected


@pytest.mark.deep
@pytest.mark.weights
def test_e5_puts_a_sentence_near_its_translation() -> None:
    real_weights("e5")
    real_weights("minilm")
    encode = load_text_encoder("minilm").encode
    english = encode(["a child and a dog play in the snow", "a red apple on a stone surface"])
    for snow, apple in zip(CAPTIONS["dog_in_snow.mp4"].values(), CAPTIONS["apple.mp4"].values(), strict=True):
        rows = encode_in([snow, apple], "xx", encode)
        cosines = rows @ english.T
        assert cosines[0, 0] > cosines[0, 1] + 0.2
        assert cosines[1, 1] > cosines[1, 0] + 0.2
