"""Scripts and embedded captions, and the annotations that they come from."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.datasets.moment_layouts import moment_video
from vidsum.datasets.moments import MomentVideo
from vidsum.errors import UsageError
from vidsum.training.captions import Captions, annotated, disorder, embed_captions, joined
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


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIDSUM_HOME", str(tmp_path))


def captions() -> Captions:
    return embed_captions(videos(), one_hot, "words")


def test_a_video_without_captions_is_left_out() -> None:
    assert [video.name for video in captions().videos] == ["a", "b"]
    assert captions().first.tolist() == [0, 2]


def test_no_caption_at_all_is_said() -> None:
    with pytest.raises(UsageError, match="no caption"):
        embed_captions({"c": videos()["c"]}, one_hot, "words")


def test_embeddings_are_those_of_the_encoder_and_are_kept(tmp_path: Path) -> None:
    asked: list[str] = []

    def counted(texts: Sequence[str]) -> FloatArray:
        asked.extend(texts)
        return one_hot(texts)

    said: list[tuple[str, float, float]] = []
    first = embed_captions(videos(), counted, "words", progress=lambda *step: said.append(step))
    assert said == [("captions embedded", 3, 3)] * 2
    assert np.array_equal(first.vectors, one_hot(["dog runs snow", "cook pan egg", "drum plays"]))
    n_asked = len(asked)
    again = embed_captions(videos(), counted, "words")
    assert len(asked) == n_asked
    assert np.array_equal(again.queries, first.queries)
    embed_captions(videos(), counted, "another encoder")
    assert len(asked) == 2 * n_asked
    for kept in (tmp_path / "captions").iterdir():
        kept.write_bytes(b"damaged")
    assert np.array_equal(embed_captions(videos(), counted, "words").vectors, first.vectors)


def test_an_annotated_video_is_that_of_the_file() -> None:
    rng = np.random.default_rng(0)
    scripts = {script.name: script for script in (annotated(captions(), rng) for _ in range(20))}
    assert scripts["b"].duration_s == 20.0
    assert [tuple(one) for one in scripts["b"].segments] == [(2, 5.0, 10.0), (2, 15.0, 20.0)]
    assert [one.sentence for one in scripts["a"].segments] == [0, 1]


def test_a_joined_video_has_no_gap() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        script = joined(captions(), 60.0, rng)
        starts = [one.start_s for one in script.segments]
        ends = [one.end_s for one in script.segments]
        assert starts[0] == 0
        assert ends[-1] == script.duration_s <= 60
        assert starts[1:] == ends[:-1]


def test_disorder_drops_and_replaces_words_and_leaves_no_text_empty() -> None:
    texts = ["one two three four five six seven eight nine ten"] * 50 + ["alone"] * 20
    changed = disorder(texts, np.random.default_rng(0))
    lengths = [len(text.split()) for text in changed[:50]]
    assert 8 < np.mean(lengths) < 9.5
    assert "alone" in " ".join(changed[:50])
    assert all(text.strip() for text in changed)
