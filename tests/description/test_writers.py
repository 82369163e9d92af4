"""Writers of descriptions with made-up vectors: everyday words, sentences of people."""

import gzip
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.grounding.test_presence import texts as vectors
from vidsum.description import writers
from vidsum.description.words import read_words, word_probabilities
from vidsum.description.writers import (
    CONFIDENCE,
    SHORT_LIST_CONFIDENCE,
    TEMPERATURE,
    Bank,
    read_bank,
    retrieve,
    tidy,
    write_words,
)
from vidsum.errors import InputError
from vidsum.types import FloatArray


def encode(texts: Sequence[str]) -> FloatArray:
    """Texts get vectors by their length."""
    return np.concatenate([vectors(len(text), 1) for text in texts])


@pytest.fixture(autouse=True)
def encoder(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "load_text_encoder", lambda name: SimpleNamespace(encode=encode))
    monkeypatch.setattr(writers.checkpoints, "sha256_of", lambda name: "0" * 64)


@pytest.mark.parametrize("is_short", [False, True])
def test_the_sentence_that_its_neighbours_resemble_is_retrieved(
    monkeypatch: pytest.MonkeyPatch, is_short: bool
) -> None:
    monkeypatch.setattr(writers, "NEAREST", 5)
    monkeypatch.setattr(writers, "MAX_SHORT_LIST", 40 if is_short else 39)
    bank = Bank(tuple(f"sentence {number}" for number in range(40)), vectors(3, 40))
    pictures = vectors(4, 70)
    for picture, sentence in zip(pictures, retrieve(pictures, bank), strict=True):
        cosines = [float(picture @ vector) for vector in bank.vectors]
        nearest = sorted(range(40), key=lambda number: -cosines[number])[:5]
        weight = {one: np.exp(cosines[one] / TEMPERATURE) for one in nearest}
        votes = {
            one: sum(weight[two] * float(bank.vectors[one] @ bank.vectors[two]) for two in nearest)
            for one in nearest
        }
        best = max(votes, key=lambda one: votes[one])
        assert sentence.text == f"sentence {best}"
        others = [other for other in nearest if other != best]
        likeness = [bank.vectors[best] @ bank.vectors[other] for other in others]
        agreement = np.average(likeness, weights=[weight[other] for other in others])
        share = weight[best] / sum(weight.values())
        curve, backing = (SHORT_LIST_CONFIDENCE, share) if is_short else (CONFIDENCE, agreement)
        z = curve[0] * cosines[best] + curve[1] * backing + curve[2]
        assert sentence.confidence == pytest.approx(1 / (1 + np.exp(-z)), abs=1e-4)


def test_a_short_list_gives_the_sentence_that_nothing_else_is_like() -> None:
    picture = vectors(1, 1)
    others = np.repeat(vectors(2, 1), 4, axis=0)
    bank = Bank(("right", *"abcd"), np.concatenate([picture, others]))
    assert [one.text for one in retrieve(picture, bank)] == ["right"]
    assert [one.text for one in retrieve(vectors(1, 2), Bank(("A dog.",), vectors(2, 1)))] == ["A dog."] * 2


def test_the_surest_word_gives_the_confidence(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = {word.text: number for number, word in enumerate(read_words())}
    scores = np.full((2, len(numbers)), -20, np.float32)
    scores[0, [numbers["a dog"], numbers["in the snow"]]] = 9, 6
    monkeypatch.setattr(writers, "standard_scores", lambda space, rows: scores)
    first, second = write_words(vectors(1, 2), "vse", 0.6)
    assert first.text == "A dog, in the snow."
    assert first.confidence == pytest.approx(float(word_probabilities(scores)[0, numbers["a dog"]]))
    assert (second.text, second.confidence) == ("", 0.0)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", 'file,caption\na.jpg,"a dog , running"\na.jpg,\nb.jpg,nan\nb.jpg,  Two cats .\nc.jpg\n'),
        ("a.csv", '\ufeffCaption\n"a dog , running"\n\n...\nTwo cats\n"a dog, running."\n'),
        ("a.txt", "a dog , running\n\n   \nx.jpg#0\tTwo cats .\n---\n"),
    ],
)
@pytest.mark.parametrize("is_packed", [False, True])
def test_a_bank_is_read(tmp_path: Path, name: str, content: str, is_packed: bool) -> None:
    path = tmp_path / (f"{name}.gz" if is_packed else name)
    path.write_bytes(gzip.compress(content.encode()) if is_packed else content.encode())
    bank = read_bank(path)
    assert bank.texts == ("A dog, running.", "Two cats.")
    np.testing.assert_array_equal(bank.vectors[1], vectors(len("Two cats."), 1)[0])


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("a.csv", b"", "column"),
        ("a.csv", b"file,words\na.jpg,a dog\n", "column"),
        ("a.csv", b"caption\n\nnan\n", "no sentence"),
        ("a.csv", b'caption\n"a dog' + b"x" * 200_000 + b'"\n', "CSV"),
        ("a.txt", b"\n \n", "no sentence"),
        ("a.txt", b"\xfa\xfb", "UTF-8"),
        ("b.txt.gz", b"a dog", "gzip"),
        ("", b"", "b.txt"),
    ],
)
def test_a_bad_bank_is_refused_in_one_line(tmp_path: Path, name: str, content: bytes, word: str) -> None:
    path = tmp_path / (name or "b.txt")
    if name:
        path.write_bytes(content)
    with pytest.raises(InputError, match=word) as failed:
        read_bank(path)
    assert "\n" not in str(failed.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a dog  runs .", "A dog runs."),
        ("Where is it ?", "Where is it?"),
        ("A cat, a mouse,", "A cat, a mouse."),
        ("12 ...", ""),
        ("NaN", ""),
        ("étudiant", "Étudiant."),
    ],
)
def test_sentences_are_tidied(text: str, expected: str) -> None:
    assert tidy(text) == expected
