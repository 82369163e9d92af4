"""Sentences of segments in a row, and those that fit into pauses."""

from typing import Any

import numpy as np
import pytest

from vidsum.description.writers import Sentence
from vidsum.pipelines.describe import _fit_into_gaps, join_descriptions
from vidsum.results.descriptions import Description
from vidsum.results.features import Features

SEGMENTS = [(0.0, 2.0), (2.0, 5.0), (5.0, 6.0)]
FEATURES = Features.from_array(np.ones((12, 2)), fps=2.0)
IMPORTANCE = np.ones(12, np.float32)


def said(*texts: str, confidence: float | None = 0.8) -> list[Sentence]:
    return [Sentence(text, confidence) for text in texts]


def test_description_of_equal_neighbours_lasts_from_the_first_to_the_last() -> None:
    joined = join_descriptions(SEGMENTS, said("a dog", "a dog", "a cat"))
    assert [(part.start_s, part.end_s, part.text) for part in joined] == [(0, 5, "a dog"), (5, 6, "a cat")]


def test_equal_sentences_that_are_apart_are_not_joined() -> None:
    joined = join_descriptions(SEGMENTS, said("a dog", "a cat", "a dog"))
    assert [part.text for part in joined] == ["a dog", "a cat", "a dog"]


def test_confidence_of_joined_sentences_is_their_mean() -> None:
    (joined,) = join_descriptions(SEGMENTS[:2], [*said("a dog", confidence=0.6), *said("a dog")])
    assert joined.confidence == pytest.approx(0.7)


def test_joined_sentences_without_a_confidence_have_none() -> None:
    (joined,) = join_descriptions(SEGMENTS[:2], said("a dog", "a dog", confidence=None))
    assert joined.confidence is None


def test_sentences_that_are_not_sure_are_left_out() -> None:
    joined = join_descriptions(SEGMENTS, [*said("a dog", confidence=0.2), *said("a cat", "a cat")], 0.5)
    assert [part.text for part in joined] == ["a cat"]


def fit(*descriptions: Description, gaps: Any = ((0.0, 2.0),)) -> tuple[list[Description], list[str]]:
    return _fit_into_gaps(descriptions, "words", gaps, FEATURES, IMPORTANCE)


def test_descriptions_are_fitted_into_pauses_and_none_need_nothing() -> None:
    assert [part.text for part in fit(Description(0.0, 2.0, "a dog", 0.8))[0]] == ["a dog"]
    assert fit() == ([], [])


def test_speech_without_a_pause_is_a_warning() -> None:
    spoken, (warning,) = fit(Description(0.0, 2.0, "a dog", 0.8), gaps=())
    assert (spoken, warning.startswith("the speech has no pause of")) == ([], True)


def test_descriptions_that_fit_into_no_pause_are_counted() -> None:
    spoken, (warning,) = fit(Description(4.0, 6.0, "a dog that runs over a wide green meadow", 0.8))
    assert (spoken, warning) == ([], "1 of 1 descriptions has no pause that is long enough")
