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
    with pytest.raises(UsageError, match="no caption"):
        embed_sentences({"c": videos()["c"]}, one_hot, "words")


def test_embeddings_are_those_of_the_encoder_and_are_kept(own_home: Path) -> None:
    encoded_texts: list[str] = []

    def counted(texts: Sequence[str]) -> FloatArray:
        encoded_texts.extend(texts)
        return one_hot(texts)

    said: list[tuple[str, float, float]] = []
    first = embed_sentences(videos(), counted, "words", progress=lambda *step: said.append(step))
    assert said == [("captions embedded", 3, 3)] * 3
    assert np.array_equal(first.vectors, one_hot(["dog runs snow", "cook pan egg", "drum plays"]))
    n_encoded = len(encoded_texts)
    again = embed_sentences(videos(), counted, "words")
    assert len(encoded_texts) == n_encoded
    assert np.array_equal(again.queries, first.queries)
    embed_sentences(videos(), counted, "another encoder")
    assert len(encoded_texts) == 2 * n_encoded
    for kept in (own_home / "captions").iterdir():
        kept.write_bytes(b"damaged")
    assert np.array_equal(embed_sentences(videos(), counted, "words").vectors, first.vectors)


def test_disorder_drops_and_replaces_words_and_leaves_no_text_empty() -> None:
    texts = ["one two three four five six seven eight nine ten"] * 50 + ["alone"] * 20
    changed = change_words(texts, np.random.default_rng(0))
    lengths = [len(text.split()) for text in changed[:50]]
    assert 8 < np.mean(lengths) < 9.5
    assert "alone" in " ".join(changed[:50])
    assert all(text.strip() for text in changed)


def test_a_shortened_text_has_one_to_four_of_its_content_words_in_their_order() -> None:
    text = "a chef slowly pours golden oil into the hot pan"
    content = ["chef", "slowly", "pours", "golden", "oil", "hot", "pan"]
    assert content_words(text) == content
    lengths = set()
    for short in shorten([text] * 200, np.random.default_rng(0)):
        words = short.split()
        assert [word for word in content if word in words] == words
        lengths.add(len(words))
    assert lengths == {1, 2, 3, 4}


def test_what_shortening_leaves_is_mostly_rare_and_a_text_without_content_stays() -> None:
    texts = ["woman zebra"] + ["woman walks"] * 99 + ["it is there"]
    rng = np.random.default_rng(0)
    alone = [short for short in (shorten(texts, rng)[0] for _ in range(60)) if " " not in short]
    assert alone.count("zebra") > 3 * alone.count("woman")
    assert shorten(texts, rng)[-1] == "it is there"


def test_sentences_with_nearly_the_same_windows_tell_of_one_event() -> None:
    own = ("dog runs", (0.0, 10.0)), ("cook pan", (30.0, 40.0)), ("snow", (0.5, 10.0)), ("egg", (4.0, 9.0))
    one = moment_video("a", 60.0, *own)
    known = embed_sentences({"z": moment_video("z", 9.0, ("book", (0.0, 2.0))), "a": one}, one_hot, "words")
    assert known.same_event == {1: (3,), 3: (1,)}
