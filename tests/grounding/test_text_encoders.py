"""The text encoders: one interface, order and batches without influence, and what cannot be read said."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import nnls
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from tests.conftest import real_weights
from vidsum import checkpoints
from vidsum.errors import UsageError
from vidsum.features.settings import CLIP_FAMILY
from vidsum.grounding import text_encoders
from vidsum.grounding.text_encoders import MINILM_TOKENS, TextEncoder, load_text_encoder
from vidsum.io.packages import install_extra_command
from vidsum.types import FloatArray

PANCAKE = "a person flips a pancake in a frying pan"


@pytest.fixture
def fresh() -> Iterator[None]:
    """No encoder loaded before, and none of the test's left behind."""
    text_encoders._load.cache_clear()
    yield
    text_encoders._load.cache_clear()


def test_a_encoder_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown text encoder 'bert'") as caught:
        load_text_encoder("bert")
    assert caught.value.hint == f"choose from minilm, {', '.join(CLIP_FAMILY)}, glove"


# MiniLM

# of six texts, each with those before it, by sentence-transformers/all-MiniLM-L6-v2
COSINES_IN_FP32 = [-0.1395, 0.0219, -0.082, 0.1116, -0.0748, -0.0367, 0.0125, 0.0795]
COSINES_IN_FP32 += [0.0924, -0.0178, 0.0962, -0.1004, 0.0164, 0.4554, 0.0246]


@pytest.fixture
def minilm(fresh: None) -> TextEncoder:
    real_weights("minilm")
    return load_text_encoder("minilm")


@pytest.mark.weights
def test_minilm_in_8_bits_agrees_with_the_published_fp32_weights(minilm: TextEncoder) -> None:
    texts = [PANCAKE, "two dogs run through the snow", "applause", "a woman does yoga outdoors"]
    texts += ["the stock market fell", "someone stretches on a mat in a garden"]
    rows = minilm.encode(texts)
    cosines = (rows @ rows.T)[np.tril_indices(6, -1)]
    np.testing.assert_allclose(cosines, COSINES_IN_FP32, atol=0.02)


@pytest.mark.weights
def test_minilm_reads_the_start_of_a_long_text_and_says_so(minilm: TextEncoder) -> None:
    words = ["snow"] * (MINILM_TOKENS - 2)  # two mark the start and the end
    whole, longer = " ".join(words), " ".join([*words, "dog", "cake"])
    rows = minilm.encode([whole, longer, "🥞" * 5000])
    np.testing.assert_allclose(rows[0], rows[1], atol=1e-6)
    assert len(minilm.split(whole)) == MINILM_TOKENS
    assert [minilm.cuts(text) for text in (whole, PANCAKE, longer)] == [False, False, True]
    assert minilm.encode([]).shape == (0, 384)
    assert np.isfinite(minilm.encode([""])).all()


@pytest.mark.weights
def test_minilm_sentences_are_sums_of_their_words(minilm: TextEncoder) -> None:
    texts = [PANCAKE, "snow", f"{PANCAKE} {'again and ' * 20}", ""]
    found = minilm.encode_words(texts)
    assert [len(rows) for rows in found] == [len(minilm.split(text)) for text in texts]
    for rows, sentence in zip(found, minilm.encode(texts), strict=True):
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
        # the mean of words whose lengths were taken from them: each has a weight above 0 in it
        weights, rest = nnls(rows.T, sentence)
        assert rest < 1e-4
        assert (weights > 0).all()
    (alone,) = minilm.encode_words(texts[:1])
    np.testing.assert_allclose(alone, found[0], atol=1e-5)


def test_padding_marks_what_is_no_token_and_a_cut_text_keeps_its_end() -> None:
    tokenizer = Tokenizer(WordLevel({"[U]": 0, "[S]": 1, "[E]": 2, "go": 3}, unk_token="[U]"))
    tokenizer.pre_tokenizer = Whitespace()
    marks = [("[S]", 1), ("[E]", 2)]
    tokenizer.post_processor = TemplateProcessing(single="[S] $A [E]", special_tokens=marks)
    tokens, is_token = text_encoders._pad(tokenizer, ["go go", "", "go " * 300])
    assert tokens.shape == is_token.shape == (3, MINILM_TOKENS)
    assert tokens[0, :4].tolist() == [1, 3, 3, 2]
    assert is_token.sum(axis=1).tolist() == [4, 2, MINILM_TOKENS]
    assert not is_token[0, 4:].any()
    assert tokens[2].tolist() == [1, *[3] * (MINILM_TOKENS - 2), 2]


@given(lengths=st.lists(st.integers(1, MINILM_TOKENS), max_size=300))
@example(lengths=[16] * 63 + [MINILM_TOKENS])
def test_batches_hold_each_text_once_and_few_long_ones(lengths: list[int]) -> None:
    """A long text makes all texts of its batch as long: 64 such texts took a gigabyte."""
    batches = list(text_encoders._batches(lengths))
    assert sorted(number for batch in batches for number in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) * max(lengths[number] for number in batch) <= 8 * MINILM_TOKENS


# GloVe


@pytest.fixture
def glove_files(fresh: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, FloatArray]:
    """Six words with vectors of four numbers in place of the published file."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    words = ["a", "man", "cooks", "soup", "don", "2"]
    vectors = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)
    np.save(tmp_path / "vectors.npy", vectors)
    parquet.write_table(pyarrow.table({"index": words}), tmp_path / "words.parquet")
    monkeypatch.setattr(checkpoints, "path_of", lambda _name: tmp_path)
    return dict(zip(words, vectors, strict=True))


def test_glove_is_the_mean_of_the_words_that_it_knows(glove_files: dict[str, FloatArray]) -> None:
    encoder = load_text_encoder("glove")
    found = encoder.encode(["A man COOKS soup!", "zzz soup, soup-man", "don't"])
    known = (["a", "man", "cooks", "soup"], ["soup", "soup", "man"], ["don"])
    means = np.stack([np.mean([glove_files[word] for word in words], axis=0) for words in known])
    np.testing.assert_allclose(found, means / np.linalg.norm(means, axis=1, keepdims=True), atol=1e-6)
    words = encoder.encode_words(["zzz soup, soup-man"])[0]
    soup = glove_files["soup"] / np.linalg.norm(glove_files["soup"])
    np.testing.assert_allclose(words[:2], [soup, soup], atol=1e-6)
    assert words.shape == (3, 4)
    assert len(encoder.split("zzz soup, soup-man")) == 3
    assert encoder.encode([]).shape == (0, 4)
    for unknown in ("", "zzz", "!?", "суп"):
        with pytest.raises(UsageError, match="has no word of"):
            encoder.encode(["a man", unknown])


def test_glove_without_pyarrow_names_the_command(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_encoders, "find_spec", lambda _name: None)
    with pytest.raises(UsageError, match="needs the package pyarrow") as caught:
        load_text_encoder("glove")
    assert caught.value.hint == install_extra_command("glove")


@pytest.mark.deep
@pytest.mark.weights
def test_published_glove_puts_like_words_closer() -> None:
    pytest.importorskip("pyarrow")
    real_weights("glove")
    encoder = load_text_encoder("glove")
    rows = encoder.encode(["a man cooks soup", "someone prepares a meal", "the stock market fell"])
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.1
