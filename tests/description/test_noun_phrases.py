"""Noun phrases of sentences: those that are clear are there, and no fragment is."""

import pytest

from vidsum.description.noun_phrases import find_phrases


@pytest.mark.parametrize(
    ("sentence", "phrases"),
    [
        ("The printing press came late.", ["printing press"]),
        ("It is the invention of movable metal letters.", ["the invention of movable metal letters"]),
        ("They knew the art of printing.", ["the art of printing", "printing"]),
        ("We replace the attention pooling layer, and go on.", ["attention pooling layer"]),
        ("Look at your country’s long history.", ["country’s long history"]),
        ("Photosynthesis is slow.", ["Photosynthesis"]),
    ],
)
def test_clear_phrases_are_there(sentence: str, phrases: list[str]) -> None:
    assert set(phrases) <= {*find_phrases(sentence)}


@pytest.mark.parametrize(
    ("sentence", "fragment"),
    [
        ("The press changes the world.", "press changes"),
        ("The middle of it was empty.", "middle"),
        ("Printing differs from most of the crafts.", "Printing differs"),
        ("The fact chops down the list.", "fact chops"),
        ("Of all the highly skilled, two came.", "highly skilled"),
        ("The primary aim shifts to others.", "primary aim shifts"),
        ("Draw the line perpendicular to it.", "line perpendicular"),
        ("The log of I'm not sure.", "log of I'm"),
        ("In May the hive gains three kilograms.", "hive gains"),
        ("In June my phone rang in a concert.", "phone rang"),
        ("In the beautiful and cold country.", "beautiful"),
    ],
)
def test_fragments_are_left_out(sentence: str, fragment: str) -> None:
    assert fragment not in {*find_phrases(sentence)}


def test_phrase_does_not_cross_a_comma() -> None:
    assert {*find_phrases("With the cold water, warm air came.")} == {"cold water", "warm air"}


def test_text_without_words_has_no_phrase() -> None:
    assert [*find_phrases("... 17 !")] == []
