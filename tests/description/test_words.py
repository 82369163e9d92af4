"""Everyday words: the lists, their probabilities and which of them make a description."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from vidsum.description import words
from vidsum.description.words import (
    WORD_CURVE,
    choose_words,
    embed_names,
    is_elsewhere,
    read_words,
    word_probabilities,
)
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


@pytest.mark.parametrize(("kind", "count"), [("thing", 390), ("place", 100), ("activity", 200)])
def test_words_of_a_kind_are_many(kind: str, count: int) -> None:
    assert Counter(word.kind for word in read_words())[kind] >= count


def test_no_word_is_listed_twice() -> None:
    assert len(NUMBERS) == len(read_words())


def test_parent_of_a_word_is_listed_before_it() -> None:
    assert all(word.parent is None or word.parent < number for number, word in enumerate(read_words()))


def test_first_name_is_the_text_without_the_preposition_of_places() -> None:
    for word in read_words():
        assert word.names[0] == (word.text if word.kind != "place" else word.text.split(" ", 1)[-1])


def test_kinds_of_cars_are_specific_words_of_it() -> None:
    taxi, car = (read_words()[NUMBERS["thing", text]] for text in ("a taxi", "a car"))
    assert (taxi.is_specific, car.is_specific) == (True, False)
    assert taxi.parent == NUMBERS["thing", "a car"]


def test_no_word_embarrasses() -> None:
    unwanted = {"nipple", "abaya", "brace", "gun", "rifle", "sick", "naked", "hijab", "wig", "leg"}
    assert not [entry for entry in read_words() if unwanted & {*" ".join(entry.names).split()}]


@pytest.fixture
def greyhound_values() -> FloatArray:
    """Probabilities of a picture that resembles a greyhound alone."""
    scores = np.full((1, len(NUMBERS)), -9, np.float32)
    scores[0, NUMBERS["thing", "a greyhound"]] = 12
    return word_probabilities(scores)[0]


@pytest.mark.parametrize("text", ["a greyhound", "a dog", "an animal"])
def test_parents_are_as_likely_as_their_words(text: str, greyhound_values: FloatArray) -> None:
    slope, prior, offset = WORD_CURVE
    share = read_words()[NUMBERS["thing", "a greyhound"]].share
    logit = slope * 12 + prior * np.log(share + 3e-4) + offset
    assert greyhound_values[NUMBERS["thing", text]] == pytest.approx(1 / (1 + np.exp(-logit)), abs=1e-4)


def test_other_words_are_not_likely(greyhound_values: FloatArray) -> None:
    assert greyhound_values[NUMBERS["thing", "a vehicle"]] < 0.01


@pytest.mark.parametrize(
    ("sure", "chosen"),
    [
        ({"a_vehicle": 0.89, "a_car": 0.89, "a_taxi": 0.89}, ["a car"]),
        ({"a_vehicle": 0.95, "a_car": 0.95, "a_taxi": 0.95}, ["a taxi"]),
        ({"a_vehicle": 0.7, "a_car": 0.39, "a_taxi": 0.39}, ["a vehicle"]),
        ({"a_vehicle": 0.49}, []),
        ({"a_vehicle": 0.93, "a_car": 0.49}, ["a vehicle"]),
        ({"a_vehicle": 0.58, "a_car": 0.49, "a_hat": 0.7}, ["a hat", "a car"]),  # nearly as sure
        ({"an_animal": 0.89, "a_dog": 0.89}, ["an animal"]),  # the name of many other animals
    ],
    ids=["hardly sure", "sure", "only the vehicle", "not sure", "less sure", "nearly as sure", "dog"],
)
def test_specific_name_is_for_sure_looks_only(sure: dict[str, float], chosen: list[str]) -> None:
    assert texts(choose_words(chances(**sure), 0.5)) == chosen


@pytest.mark.parametrize(
    ("name", "kind", "least"),
    [("a toy", "thing", 0.75), ("a book", "thing", 0.0), ("jumping", "activity", 0.75),
     ("dancing", "activity", 0.65), ("in the water", "place", 0.75), ("in a street", "place", 0.65)],
)  # fmt: skip
def test_word_is_named_from_its_limit(name: str, kind: str, least: float) -> None:
    values = chances(an_animal=0.9)
    values[NUMBERS[kind, name]] = least + 0.01 if least else 0.51
    assert name in texts(choose_words(values, 0.5))
    values[NUMBERS[kind, name]] = least - 0.01 if least else 0.39
    assert name not in texts(choose_words(values, 0.5))


@pytest.mark.parametrize(("sure", "text"), [(0.74, "a person"), (0.76, "a woman")])
def test_person_is_called_a_woman_if_sure(sure: float, text: str) -> None:
    assert texts(choose_words(chances(a_person=0.9, a_woman=sure, a_hat=0.95), 0.5)) == ["a hat", text]


@pytest.mark.parametrize(
    "sure",
    [
        {"a_person": 0.95, "people": 0.95, "a_woman": 0.9},
        {"a_person": 0.95, "outdoors": 0.9},
        {"indoors": 0.9},
    ],
    ids=["people", "person outdoors", "indoors"],
)
def test_that_there_is_a_person_indoors_or_outdoors_says_nothing(sure: dict[str, float]) -> None:
    assert choose_words(chances(**sure), 0.5) == []


def test_particular_place_says_something() -> None:
    assert texts(choose_words(chances(a_person=0.9, indoors=0.9, in_a_kitchen=0.9), 0.5)) == [
        "a person",
        "in a kitchen",
    ]


@pytest.mark.parametrize(("sure", "chosen"), [(0.64, []), (0.66, ["a person", "dancing"])])
def test_activity_is_named_from_the_limit_of_activities(sure: float, chosen: list[str]) -> None:
    assert texts(choose_words(chances(a_person=0.9, dancing=sure), 0.5)) == chosen


@pytest.mark.parametrize(
    ("who", "chosen"), [("a_woman", ["a woman", "talking"]), ("a_hat", ["a hat", "a person"])]
)
def test_somebody_who_talks_is_more_than_a_person(who: str, chosen: list[str]) -> None:
    values = chances(**{"a_person": 0.9, "talking": 0.9, who: 0.91})
    assert texts(choose_words(values, 0.5)) == chosen


def test_only_the_place_is_said_of_a_cartoon() -> None:
    values = chances(a_cartoon=0.8, a_child=0.9, playing_a_video_game=0.9, in_a_forest=0.8)
    assert texts(choose_words(values, 0.5)) == ["a cartoon", "in a forest"]


def test_child_that_hardly_resembles_a_cartoon_is_no_cartoon() -> None:
    assert choose_words(chances(a_cartoon=0.56, a_child=0.9), 0.65) == []


def test_activity_is_as_likely_as_its_likelier_source() -> None:
    scores = np.full((2, len(NUMBERS)), -9, np.float32)
    moving = np.zeros_like(scores)
    yoga, exercising, cooking = (
        NUMBERS["activity", text] for text in ("doing yoga", "exercising", "cooking")
    )
    moving[0, yoga], scores[0, yoga], scores[1, cooking] = 0.8, 0.1, 9
    together = word_probabilities(scores, moving)
    assert together[0, [yoga, exercising]].tolist() == pytest.approx([0.8, 0.8])
    assert together[1, cooking] == word_probabilities(scores)[1, cooking] > 0.9


def test_movement_that_the_pictures_do_not_resemble_is_no_activity() -> None:
    scores = np.zeros((1, len(NUMBERS)), np.float32)
    moving = np.where(np.arange(len(NUMBERS)) == NUMBERS["activity", "cleaning"], np.float32(0.9), 0)[None]
    np.testing.assert_array_equal(word_probabilities(scores, moving), word_probabilities(scores))


@pytest.mark.parametrize(
    ("before", "place", "elsewhere"),
    [
        (None, "indoors", True),
        ("indoors", "outdoors", True),
        ("in a kitchen", "in a bedroom", True),
        ("in a kitchen", "outdoors", True),
        ("in a kitchen", "in a kitchen", False),
        ("in a kitchen", "indoors", False),
        ("indoors", "in a kitchen", False),
    ],
)
def test_place_is_another_one_unless_one_is_in_the_other(
    before: str | None, place: str, elsewhere: bool
) -> None:
    last = None if before is None else NUMBERS["place", before]
    assert is_elsewhere(NUMBERS["place", place], last) == elsewhere


@pytest.mark.parametrize(
    ("min_confidence", "chosen"),
    [
        # a bus has the parent of the car, and the hat is the rarest of the rest
        (0.6, ["a car", "a hat", "running", "on a beach"]),
        (0.8, ["a woman", "a car", "outdoors"]),
        (0.95, []),  # the surest word has .9
    ],
)
def test_two_things_an_activity_and_a_place_are_chosen(min_confidence: float, chosen: list[str]) -> None:
    values = chances(
        a_person=0.9,
        a_woman=0.8,
        a_car=0.72,
        a_vehicle=0.72,
        a_bus=0.6,
        a_hat=0.6,
        a_mountain=0.55,
        running=0.66,
        climbing=0.65,
        outdoors=0.9,
        on_a_beach=0.66,
    )
    assert texts(choose_words(values, min_confidence)) == chosen


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch, own_home: Path) -> list[str]:
    """The names that were embedded, by their lengths."""
    names: list[str] = []

    def encode(texts: Sequence[str]) -> FloatArray:
        names.extend(texts)
        return by_length(texts)

    space = SimpleNamespace(encode_texts=encode, prompts=("{}",), text_encoder="minilm")
    monkeypatch.setattr(words, "describe_space", lambda name: space)
    monkeypatch.setattr(words.checkpoints, "sha256_of", lambda name: "0" * 64)
    return names


def by_length(texts: Sequence[str]) -> FloatArray:
    return unit_rows(np.array([[len(text), 1.0] for text in texts], np.float32))


CAT_AND_KITCHEN = [read_words()[NUMBERS[key]] for key in (("thing", "a cat"), ("place", "in a kitchen"))]


def test_row_of_a_word_is_the_mean_of_its_names(embedded: list[str]) -> None:
    rows = embed_names("made", CAT_AND_KITCHEN)
    assert embedded == ["a cat", "kitten", "kitty", "a kitchen"]
    assert rows.shape == (2, 2)
    mean = by_length(["a cat", "kitten", "kitty"]).mean(axis=0, keepdims=True)
    np.testing.assert_allclose(rows[0], unit_rows(mean)[0], rtol=1e-6)


def test_names_are_embedded_once(embedded: list[str]) -> None:
    embed_names("made", CAT_AND_KITCHEN)
    embed_names("made", CAT_AND_KITCHEN)
    assert len(embedded) == 4
