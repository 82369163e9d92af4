"""Activities that movement shows: their classes, and how likely they are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.description.activities import ACTION_CURVE, activity_probabilities, read_activities
from vidsum.description.words import read_words
from vidsum.features.movinet import N_CLASSES, action_names

NUMBERS = {word.text: number for number, word in enumerate(read_words()) if word.kind == "activity"}
ACTIVITIES = {
    text: read_activities()[number] for text, number in NUMBERS.items() if number in read_activities()
}


def test_no_class_counts_twice_for_an_activity() -> None:
    assert not [text for text, classes in ACTIVITIES.items() if len(set(classes)) < len(classes)]


def test_words_that_no_picture_shows_have_classes() -> None:
    assert not [word.text for word in read_words() if word.share == 0 and word.text not in ACTIVITIES]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("playing the guitar", "tapping guitar"),
        ("making music", "tapping guitar"),
        ("cooking", "scrambling eggs"),
        ("exercising", "deadlifting"),
    ],
)
def test_activity_has_the_classes_of_the_activities_it_names(text: str, name: str) -> None:
    assert action_names().index(name) in ACTIVITIES[text]


def test_words_below_an_activity_have_only_its_classes() -> None:
    words = read_words()
    for general in ("making music", "cooking", "exercising", "doing crafts", "cleaning", "gardening"):
        below = [text for text in ACTIVITIES if words[NUMBERS[text]].parent == NUMBERS[general]]
        others = {text for text in below if not set(ACTIVITIES[text]) <= set(ACTIVITIES[general])}
        assert others <= {"making a drink"}, general


@given(st.integers(0, 1000), st.sampled_from(sorted(ACTIVITIES)))
def test_likelihood_is_a_curve_of_the_sum_of_its_classes(seed: int, text: str) -> None:
    actions = np.random.default_rng(seed).dirichlet(np.full(N_CLASSES, 0.01))
    share = min(max(sum(actions[number] for number in ACTIVITIES[text]), 1e-6), 1 - 1e-6)
    odds = (share / (1 - share)) ** ACTION_CURVE[0] * np.exp(ACTION_CURVE[1])
    result = activity_probabilities(actions[None].astype(np.float32))[0, NUMBERS[text]]
    assert result == pytest.approx(odds / (1 + odds), abs=1e-3)


def test_things_and_places_are_not_seen_in_movement() -> None:
    chances = activity_probabilities(np.full((2, N_CLASSES), 1 / N_CLASSES, np.float32))
    assert not chances[
        :, [number for number, word in enumerate(read_words()) if word.kind != "activity"]
    ].any()
