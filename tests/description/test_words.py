"""Everyday words: the lists, their probabilities and which of them make a description."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from vidsum.description import words
from vidsum.description.words import WORD_CURVE, choose_words, embed_names, read_words, word_probabilities
from vidsum.models.scaling import unit_rows
from vidsum.types import FloatArray

NUMBERS = {(word.kind, word.text): number for number, word in enumerate(read_words())}


def chances(**sure: float) -> FloatArray:
    """Return the probabilities [P] of words whose spaces are written as underscores, else 0."""
    values = np.zeros(len(NUMBERS), np.float32)
    for name, value in sure.items():
        values[[number for (_, text), number in NUMBERS.items() if text == name.replace("_", " ")]] = value
    return values


def texts(numbers: Sequence[int]) -> list[str]:
    return [read_words()[number].text for number in numbers]


def test_lists() -> None:
    counts = Counter(word.kind for word in read_words())
    assert counts["thing"] >= 390
    assert counts["place"] >= 100
    assert counts["activity"] >= 200
    assert len(NUMBERS) == counts.total()
    for number, word in enumerate(read_words()):
        assert word.parent is None or word.parent < number
        assert word.names[0] == (word.text if word.kind != "place" else word.text.split(" ", 1)[-1])
    greyhound = read_words()[NUMBERS["thing", "a greyhound"]]
    assert greyhound.is_specific
    assert greyhound.parent == NUMBERS["thing", "a dog"]
    assert not read_words()[NUMBERS["thing", "a dog"]].is_specific


def test_nothing_embarrasses() -> None:
    unwanted = {"nipple", "abaya", "brace", "gun", "rifle", "sick", "naked", "hijab", "wig", "leg"}
    assert not [entry for entry in read_words() if unwanted & {*" ".join(entry.names).split()}]


def test_parents_are_as_likely_as_their_words() -> None:
    scores = np.full((1, len(NUMBERS)), -9, np.float32)
    scores[0, NUMBERS["thing", "a greyhound"]] = 12
    (values,) = word_probabilities(scores)
    slope, prior, offset = WORD_CURVE
    share = read_words()[NUMBERS["thing", "a greyhound"]].share
    logit = slope * 12 + prior * np.log(share + 3e-4) + offset
    expected = pytest.approx(1 / (1 + np.exp(-logit)), abs=1e-4)
    assert all(values[NUMBERS["thing", text]] == expected for text in ("a greyhound", "a dog", "an animal"))
    assert values[NUMBERS["thing", "a vehicle"]] < 0.01


def test_a_specific_name_is_for_sure_looks_only() -> None:
    assert texts(choose_words(chances(an_animal=0.89, a_dog=0.89, a_greyhound=0.89), 0.5)) == ["a dog"]
    assert texts(choose_words(chances(an_animal=0.95, a_dog=0.95, a_greyhound=0.95), 0.5)) == ["a greyhound"]
    assert texts(choose_words(chances(an_animal=0.7, a_dog=0.39, a_greyhound=0.39), 0.5)) == ["an animal"]
    assert texts(choose_words(chances(an_animal=0.49), 0.5)) == []


def test_a_person_is_called_a_woman_if_sure() -> None:
    assert texts(choose_words(chances(a_person=0.9, a_woman=0.74), 0.5)) == ["a person"]
    assert texts(choose_words(chances(a_person=0.9, a_woman=0.76), 0.5)) == ["a woman"]


def test_two_things_an_activity_and_a_place() -> None:
    values = chances(
        a_person=0.9,
        a_woman=0.8,
        a_dog=0.72,
        an_animal=0.72,
        a_cat=0.6,
        a_hat=0.6,
        water=0.55,
        running=0.6,
        jumping=0.5,
        outdoors=0.9,
        on_a_beach=0.6,
    )
    # a cat has the parent of the dog, and the hat is the rarest of the rest
    assert texts(choose_words(values, 0.6)) == ["a dog", "a hat", "running", "on a beach"]
    assert texts(choose_words(values, 0.8)) == ["a woman", "a dog", "outdoors"]
    assert texts(choose_words(values, 0.95)) == []  # the surest word has .9


def test_names_are_embedded_once(monkeypatch: pytest.MonkeyPatch, own_home: Path) -> None:
    asked_for: list[str] = []

    def encode(names: Sequence[str]) -> FloatArray:
        asked_for.extend(names)
        return unit_rows(np.array([[len(name), 1.0] for name in names], np.float32))

    space = SimpleNamespace(encode_texts=encode, prompts=("{}",), text_encoder="minilm")
    monkeypatch.setattr(words, "describe_space", lambda name: space)
    monkeypatch.setattr(words.checkpoints, "sha256_of", lambda name: "0" * 64)
    entries = [read_words()[NUMBERS[key]] for key in (("thing", "a cat"), ("place", "in a kitchen"))]
    rows = embed_names("made", entries)
    assert asked_for == ["a cat", "kitten", "kitty", "a kitchen"]
    assert rows.shape == (2, 2)
    mean = encode(["a cat", "kitten", "kitty"]).mean(axis=0, keepdims=True)
    np.testing.assert_allclose(rows[0], unit_rows(mean)[0], rtol=1e-6)
    embed_names("made", entries)
    assert len(asked_for) == 7
