"""Animals by the classes of the network of objects."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.description.animals import (
    FEW,
    MANY,
    N_ANIMALS,
    SEEN_SURE,
    UNNAMED_SURE,
    animal_shares,
    weigh_animals,
)
from vidsum.description.words import parents_of, read_words
from vidsum.features.extractor import read_class_names
from vidsum.types import FloatArray

NUMBERS = {word.text: number for number, word in enumerate(read_words()) if word.kind == "thing"}
CLASSES = {name: number for number, name in enumerate(read_class_names("imagenet"))}
BELOW = [
    number for number in range(len(read_words())) if NUMBERS["an animal"] in (number, *parents_of(number))
]


def objects(**sure: float) -> FloatArray:
    """Return probabilities [1, 1000] of classes, the rest alike."""
    row = np.full((1, 1000), (1 - sum(sure.values())) / 1000, np.float32)
    for name, value in sure.items():
        row[0, CLASSES[name]] = value
    return row


@pytest.mark.parametrize("name", ["tench", "goldfish", "beagle", "tabby", "sorrel", "puffer"])
def test_animals_are_the_first_classes(name: str) -> None:
    assert CLASSES[name] < N_ANIMALS


@pytest.mark.parametrize("name", ["abacus", "accordion", "hotdog", "daisy"])
def test_other_classes_follow(name: str) -> None:
    assert CLASSES[name] >= N_ANIMALS


def test_many_small_shares_are_no_animal() -> None:
    assert animal_shares(objects()).tolist() == [0]


def test_likely_animals_are_added_up() -> None:
    assert animal_shares(objects(beagle=0.3, tabby=0.2, abacus=0.4))[0] == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize(
    ("share", "before", "after"),
    [
        (FEW - 0.01, 0.7, 0.0),
        (FEW - 0.01, UNNAMED_SURE, UNNAMED_SURE),
        (FEW, 0.7, 0.7),
        (MANY - 0.01, 0.2, 0.2),
        (MANY, 0.2, SEEN_SURE),
        (MANY, 0.9, 0.9),
    ],
)
def test_animal_agrees_with_the_classes(share: float, before: float, after: float) -> None:
    chances = np.zeros((1, len(read_words())), np.float32)
    chances[0, NUMBERS["an animal"]] = before
    weighed = weigh_animals(chances, np.array([share], np.float32))
    assert weighed[0, NUMBERS["an animal"]] == pytest.approx(after)


def test_kind_of_animal_that_no_class_shows_is_not_named() -> None:
    chances = np.full((1, len(read_words())), 0.7, np.float32)
    assert not weigh_animals(chances, np.zeros(1, np.float32))[0, BELOW].any()


@given(st.floats(0, 1), st.floats(0, 1, width=32))
def test_other_words_stay_as_they_are(share: float, before: float) -> None:
    chances = np.full((1, len(read_words())), before, np.float32)
    weighed = weigh_animals(chances, np.array([share], np.float32))
    np.testing.assert_array_equal(np.delete(weighed, BELOW, axis=1), np.delete(chances, BELOW, axis=1))
