"""The text encoders of the CLIP family, with random weights, beside open_clip's own."""

import logging
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.conftest import deep, deep_but
from tests.features import networks
from vidsum import checkpoints
from vidsum.errors import PackageError
from vidsum.features import text_tower
from vidsum.features.clip_family import CLIP_MODELS
from vidsum.features.text_tower import TextTower, load_text_tower
from vidsum.grounding import text_encoders
from vidsum.grounding.text_encoders import DIMS, load_text_encoder

TEXTS = ["a person flips a pancake", "Yoga!", "snow " * 100]
ODD = [
    "“Hello” — it's 12:30!", "naïve café", "日本語 テスト", "x&amp;y", "A  B\tC", "we've ﬁne 😀", "!!!", "ß",
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def random_weights(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Shallow networks with random weights, and a cache of this module's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIDSUM_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setattr("open_clip.get_model_config", networks.shallow_clip_config)
        patch.setattr(checkpoints, "find", Path)
        patch.setattr(checkpoints, "sha256_of", lambda name: name)
        patch.setattr(checkpoints, "load_state_dict", lambda name: networks.clip(name).state_dict())
        yield


@pytest.fixture(autouse=True)
def no_encoder_in_memory() -> Iterator[None]:
    text_encoders._load.cache_clear()
    yield
    text_encoders._load.cache_clear()


def expected(name: str) -> np.ndarray:
    """[M, D] of the texts by open_clip."""
    import open_clip

    tokens = open_clip.get_tokenizer(CLIP_MODELS[name].architecture)(TEXTS)
    with torch.inference_mode():
        return np.asarray(networks.clip(name).encode_text(tokens, normalize=True).numpy())


@pytest.fixture(
    scope="module", params=["clip", deep("clip-b32-256"), deep("mobileclip2-s0"), deep("pe-core-s16-384")]
)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def exact(name: str) -> TextTower:
    return TextTower(CLIP_MODELS[name], "fp32")


@pytest.fixture(scope="module")
def small(name: str) -> TextTower:
    return TextTower(CLIP_MODELS[name], "int8")


@pytest.mark.deep
def test_text_tower_agrees_with_open_clip(name: str, exact: TextTower) -> None:
    np.testing.assert_allclose(exact.encode(TEXTS), expected(name), atol=1e-5)


@pytest.mark.deep
def test_text_tower_in_8_bits_is_near_open_clip(name: str, small: TextTower) -> None:
    assert (small.encode(TEXTS) * expected(name)).sum(axis=1).min() > 0.99


def test_export_leaves_warnings_enabled(exact: TextTower) -> None:
    exact.encode(TEXTS)
    assert logging.root.manager.disable < logging.WARNING


def test_each_token_of_a_text_has_a_row(name: str, exact: TextTower) -> None:
    rows = exact.encode_words(TEXTS)
    most = CLIP_MODELS[name].max_tokens
    assert [len(words) for words in rows] == [len(exact.split(text)) for text in TEXTS[:2]] + [most]


def test_rows_of_tokens_have_length_1(exact: TextTower) -> None:
    np.testing.assert_allclose(np.linalg.norm(exact.encode_words(TEXTS)[0], axis=1), 1, atol=1e-5)


@pytest.mark.deep
@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_text_tower_is_exported_once(
    name: str, precision: str, exact: TextTower, small: TextTower, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = {"fp32": exact, "int8": small}[precision].encode(TEXTS)
    monkeypatch.setattr(text_tower, "_export", lambda *_: pytest.fail("exported again"))
    monkeypatch.setattr(text_tower, "prefers_int8", lambda _device: precision == "int8")
    np.testing.assert_allclose(load_text_tower(name).encode(TEXTS), first)


def test_text_encoder_of_the_family(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_tower, "prefers_int8", lambda _device: False)
    encoder = load_text_encoder("clip")
    np.testing.assert_allclose(encoder.encode(TEXTS), expected("clip"), atol=1e-5)
    assert encoder.encode([]).shape == (0, DIMS["clip"])
    assert [encoder.cuts(text) for text in TEXTS] == [False, False, True]
    assert encoder.split("Two dogs") == ["[start]", "two", "dogs", "[end]"]


@pytest.mark.parametrize(
    "name",
    deep_but(["clip"], [name for name, model in CLIP_MODELS.items() if not model.has_own_tokenizer]),
)
def test_tokens_are_those_of_open_clip(name: str) -> None:
    import open_clip

    tower = TextTower(CLIP_MODELS[name], "fp32")
    reference = open_clip.get_tokenizer(CLIP_MODELS[name].architecture)
    texts = [*TEXTS, *ODD, "", " ".join(map(chr, range(33, 400)))]
    np.testing.assert_array_equal(tower._tokens(texts)[0], reference(texts).numpy())


def test_own_tokenizer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Words without punctuation, the end mark kept where the text is cut, then padding."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = {word: number for number, word in enumerate(["<pad>", "<eos>", "<unk>", "two", "dogs"])}
    tokenizer = Tokenizer(models.WordLevel(words, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing("$A <eos>", special_tokens=[("<eos>", 1)])
    tokenizer.enable_truncation(3)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    monkeypatch.setattr(checkpoints, "path_of", lambda _name: tmp_path)
    tower = TextTower(CLIP_MODELS["siglip2-b16-256"], "fp32")
    tokens, lengths = tower._tokens(["Two_dogs, two!", "dogs " * 70])
    assert tokens[0, :6].tolist() == [3, 4, 3, 1, 0, 0]
    assert lengths == [4, 64]
    assert tokens[1, [0, 62, 63]].tolist() == [4, 4, 1]


def test_export_needs_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "sha256_of", lambda name: "other weights")
    monkeypatch.setattr("vidsum.io.packages.find_spec", lambda _: None)
    with pytest.raises(PackageError, match="mobileclip2-s0 needs onnxscript"):
        TextTower(CLIP_MODELS["mobileclip2-s0"], "fp32").encode(["a dog"])
