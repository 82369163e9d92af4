"""A space without weights: a clip is its mean colour, and a query is the colours that it names."""

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from vidsum.evidence import audible
from vidsum.features import describe
from vidsum.features.extractor import Extractor
from vidsum.features.settings import CLIP_FAMILY, Extraction
from vidsum.grounding.spaces import ClipEmbeddings
from vidsum.grounding.text_encoders import TextEncoder
from vidsum.models.scaling import unit_rows
from vidsum.results.features import Features
from vidsum.types import FloatArray

COLOURS = {"red": (200, 30, 30), "green": (30, 200, 30), "blue": (30, 30, 200), "yellow": (180, 180, 40)}
MOST_WORDS = 50


def use_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `vidsum.pipelines.ground` compare colours; nothing is fetched, no network runs."""
    monkeypatch.setattr("vidsum.pipelines.decoding.load_extractor", extractor_of_colours)
    monkeypatch.setattr("vidsum.checkpoints.find", lambda name: None if name in CLIP_FAMILY else name)
    # the map reads no colours
    spec = replace(describe("efficientnet_lite0"), inner=0)
    monkeypatch.setattr("vidsum.features.extractors.efficientnet_lite0.SPEC", spec)
    monkeypatch.setattr("vidsum.pipelines.embedding.extraction_for", _extraction_of)
    monkeypatch.setattr("vidsum.pipelines.embedding.embed_video", _embed_video)
    monkeypatch.setattr("vidsum.pipelines.embedding.movement_job", lambda *_: None)  # colours do not act
    monkeypatch.setattr("vidsum.pipelines.ground.embed_action_names", lambda: None)
    monkeypatch.setattr("vidsum.pipelines.ground.embed_queries", lambda space, texts, *_: _encode(texts))
    monkeypatch.setattr(
        "vidsum.grounding.chosen_model.embed_words", lambda space, texts: _encode_words(texts)
    )
    monkeypatch.setattr("vidsum.pipelines.ground.load_text_encoder", lambda name: ENCODER)
    # how likely a colour is, is unknown
    monkeypatch.setattr("vidsum.pipelines.ground.embed_background", lambda *_: np.eye(3, dtype=np.float32))
    monkeypatch.setattr("vidsum.pipelines.ground.name_embeddings", lambda: np.eye(3, dtype=np.float32))
    monkeypatch.setattr("vidsum.pipelines.ground.MomentSearch._judged", lambda _, answer, *__: answer)


def use_names_of_sounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare texts by colours and by names of sounds; there is no text encoder to fetch."""
    names = [name for entry in audible.read_names() for name in entry]

    def name(texts: Sequence[str]) -> FloatArray:
        return np.array([[text == name for name in names] for text in texts], np.float32)

    def encode_names(texts: Sequence[str]) -> FloatArray:
        return np.hstack([np.zeros((len(texts), 3), np.float32), name(texts)])

    def encode(texts: Sequence[str]) -> FloatArray:
        return np.hstack([_encode(texts), name(texts)])

    of_names, of_texts = (SimpleNamespace(encode=function) for function in (encode_names, encode))
    monkeypatch.setattr("vidsum.evidence.audible.load_text_encoder", lambda _: of_names)
    for module in ("passages", "protocol"):
        monkeypatch.setattr(f"vidsum.evidence.{module}.load_text_encoder", lambda _: of_texts)
    monkeypatch.setattr("vidsum.evidence.passages.DIM", 3 + len(names))


def _encode(texts: Sequence[str]) -> FloatArray:
    rows = [
        np.sum([COLOURS[word] for word in text.split() if word in COLOURS] or [(1, 1, 1)], axis=0)
        for text in texts
    ]
    return unit_rows(np.array(rows, np.float32))


def _encode_words(texts: Sequence[str]) -> list[FloatArray]:
    return [_encode(text.split()) for text in texts]


ENCODER = TextEncoder("colours", _encode, _encode_words, str.split, MOST_WORDS)


def extractor_of_colours(how: Extraction) -> Extractor:
    """A network that gives mean colours."""
    spec = describe(how.extractor, fps=how.fps)
    return Extractor(spec, _mean_colour, device="cpu", precision="fp32", backend="torch")


def _mean_colour(clips: np.ndarray) -> FloatArray:
    return clips.mean(axis=(1, 2, 3)).astype(np.float32) + 1


def _extraction_of(space: str, how: Extraction) -> Extraction:
    return replace(how, extractor="mobilenet_v2", fps=2.0)


def _embed_video(space: str, features: Features) -> ClipEmbeddings:
    return ClipEmbeddings(
        unit_rows(features.array), features.timestamps, features.step_s, features.duration_s
    )
