"""Scripts and embedded captions, and the annotations that they come from."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.lab.datasets.moment_layouts import moment_video
from vidsum.errors import UsageError
from vidsum.lab.datasets.timed_sentences import MomentVideo
from vidsum.lab.training.embedded_sentences import (
    Captions,
    change_words,
    content_words,
    embed_sentences,
    shorten,
)
from vidsum.types import FloatArray

WORDS = ["dog", "runs", "snow", "cook", "pan", "egg", "drum", "plays", "book", "reads"]


def one_hot(texts: Sequence[str]) -> FloatArray:
    """A text encoder whose numbers are the words: cosine = fraction of words in common."""
    rows = np.array([[word in text.split() for word in WORDS] for text in texts], np.float32)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def videos() -> dict[str, MomentVideo]:
    return {
        "a": moment_video("a", 40.0, ("dog runs snow", (0.0, 10.0)), ("cook pan egg", (20.0, 40.0))),
        "b": moment_video("b", 20.0, ("drum plays", (5.0, 10.0), (15.0, 20.0))),
        "c": moment_video("c", 20.0),
    }


pytestmark = pytest.mark.usefixtures("own_home")


def captions() -> Captions:
    return embed_sentences(videos(), one_hot, "words")


def test_videos_without_captions_are_left_out() -> None:
    assert [video.name for video in captions().videos] == ["a", "b"]
    assert captions().first.tolist() == [0, 2]


def test_videos_that_all_lack_captions_are_refused() -> None:
    with pytest.raises(UsageError, match="no caption"):
        embed_sentences({"c": videos()["c"]}, one_hot, "words")


class CountingEncoder:
    """The text encoder, with the texts that it was given."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, texts: Sequence[str]) -> FloatArray:
        self.texts.extend(texts)
        return one_hot(texts)


@pytest.fixture
def encoder() -> CountingEncoder:
    return CountingEncoder()


def test_embeddings_are_those_of_the_encoder(encoder: CountingEncoder) -> None:
    embedded = embed_sentences(videos(), encoder, "words")
    assert np.array_equal(embedded.vectors, one_hot(["dog runs snow", "cook pan egg", "drum plays"]))


def test_progress_counts_the_sentences_that_are_embedded(encoder: CountingEncoder) -> None:
    steps: list[tuple[str, float, float]] = []
    embed_sentences(videos(), encoder, "words", progress=lambda *step: steps.append(step))
    assert steps == [("sentences embedded", 3, 3)] * 3


def test_embeddings_are_cached(encoder: CountingEncoder) -> None:
    first = embed_sentences(videos(), encoder, "words")
    encoder.texts.clear()
    assert np.array_equal(embed_sentences(videos(), encoder, "words").queries, first.queries)
    assert encoder.texts == []


def test_embeddings_of_another_encoder_are_not_taken_from_the_cache(encoder: CountingEncoder) -> None:
    embed_sentences(videos(), encoder, "words")
    n_encoded = len(encoder.texts)
    embed_sentences(videos(), encoder, "another encoder")
    assert len(encoder.texts) == 2 * n_encoded


def test_damaged_embeddings_are_made_again(encoder: CountingEncoder, own_home: Path) -> None:
    first = embed_sentences(videos(), encoder, "words")
    for kept in (own_home / "captions").iterdir():
        kept.write_bytes(b"damaged")
    assert np.array_equal(embed_sentences(videos(), encoder, "words").vectors, first.vectors)


@pytest.fixture(scope="module")
def disordered() -> list[str]:
    """Changed texts: fifty of ten words, and twenty of one."""
    texts = ["one two three four five six seven eight nine ten"] * 50 + ["alone"] * 20
    return list(change_words(texts, np.random.default_rng(0)))


def test_disorder_drops_some_words(disordered: list[str]) -> None:
    assert 8 < np.mean([len(text.split()) for text in disordered[:50]]) < 9.5


def test_disorder_takes_words_of_other_texts(disordered: list[str]) -> None:
    assert "alone" in " ".join(disordered[:50])


def test_disorder_leaves_no_text_empty(disordered: list[str]) -> None:
    assert all(text.strip() for text in disordered)


PHRASE = "a chef slowly pours golden oil into the hot pan"
CONTENT = ["chef", "slowly", "pours", "golden", "oil", "hot", "pan"]


def test_content_words_are_those_that_say_something() -> None:
    assert content_words(PHRASE) == CONTENT


def test_shortened_text_has_one_to_four_content_words_in_their_order() -> None:
    lengths = set()
    for short in shorten([PHRASE] * 200, np.random.default_rng(0)):
        words = short.split()
        assert [word for word in CONTENT if word in words] == words
        lengths.add(len(words))
    assert lengths == {1, 2, 3, 4}


FREQUENT_AND_RARE = ["woman zebra"] + ["woman walks"] * 99 + ["it is there"]


def test_words_that_shortening_leaves_are_mostly_rare() -> None:
    rng = np.random.default_rng(0)
    shortened = (shorten(FREQUENT_AND_RARE, rng)[0] for _ in range(60))
    alone = [short for short in shortened if " " not in short]
    assert alone.count("zebra") > 3 * alone.count("woman")


def test_text_without_content_words_is_not_shortened() -> None:
    assert shorten(FREQUENT_AND_RARE, np.random.default_rng(0))[-1] == "it is there"


@pytest.mark.parametrize(("end_s", "same"), [(8.0, {0: (1,), 1: (0,)}), (7.9, {})])
def test_windows_that_share_four_fifths_are_of_one_event(end_s: float, same: dict[int, tuple[int]]) -> None:
    sentences = ("dog runs", (0.0, 10.0)), ("snow", (0.0, end_s))
    known = embed_sentences({"a": moment_video("a", 60.0, *sentences)}, one_hot, "words")
    assert known.same_event == same


def test_sentences_with_nearly_the_same_windows_tell_of_one_event() -> None:
    own = ("dog runs", (0.0, 10.0)), ("cook pan", (30.0, 40.0)), ("snow", (0.5, 10.0)), ("egg", (4.0, 9.0))
    one = moment_video("a", 60.0, *own)
    known = embed_sentences({"z": moment_video("z", 9.0, ("book", (0.0, 2.0))), "a": one}, one_hot, "words")
    assert known.same_event == {1: (3,), 3: (1,)}
