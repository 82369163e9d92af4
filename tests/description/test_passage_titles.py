"""Titles of passages: questions, noun phrases, and the first words of a sentence."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.description.passage_titles import MAX_LETTERS, title_passages
from vidsum.types import FloatArray

PRINTING = (
    "The invention of movable metal letters changed Europe.",
    "Printers cast movable metal letters from lead.",
    "After that, the invention of movable metal letters spread.",
)
BAKING = ("A good sourdough starter takes five days.", "Feed the sourdough starter with flour.")


def embed(texts: Sequence[str]) -> FloatArray:
    """Return vectors that know nothing: all texts mean the same."""
    return np.ones((len(texts), 1), np.float32)


def test_title_is_a_phrase_of_the_passage() -> None:
    printing, baking = title_passages([PRINTING, BAKING], embed)
    assert printing in ("The invention of movable metal letters", "Movable metal letters")
    assert baking == "Sourdough starter"


def test_question_at_the_beginning_is_the_title() -> None:
    assert title_passages([("So, how do plants drink?", *PRINTING)], embed) == ["How do plants drink?"]


def test_question_further_on_is_no_title() -> None:
    (title,) = title_passages([(*BAKING, "How do plants drink?")], embed)
    assert title == "Sourdough starter"


def test_passages_have_titles_of_their_own() -> None:
    first, second = title_passages([BAKING, BAKING], embed)
    assert first != second


def test_question_of_two_passages_is_the_title_of_the_first() -> None:
    question = "What is sourdough bread?"
    first, second = title_passages([(question, *BAKING), (f"So, {question}", *BAKING)], embed)
    assert (first, second) == (question, "Sourdough starter")


def test_no_two_titles_are_alike() -> None:
    assert title_passages([("A scale costs sixty dollars.",)] * 2, embed) == [
        "A scale costs sixty dollars",
        "",
    ]


def test_what_the_rest_says_makes_no_title() -> None:
    said = ("The cold water and the dry leather met.", "The dry leather was under the cold water.")
    assert title_passages([said], embed, ["The cold water rose."] * 20) == ["Dry leather"]


def test_phrase_that_is_said_once_is_no_title() -> None:
    assert title_passages([("Please take a jar of honey home.",)], embed) == [
        "Please take a jar of honey home"
    ]


def test_single_word_is_no_title() -> None:
    said = ("A hive costs sixty dollars.", "The hive is under the hive.")
    assert title_passages([said], embed) == ["A hive costs sixty dollars"]


@pytest.mark.parametrize(
    ("sentence", "title"),
    [
        ("We have nothing to fear.", "We have nothing to fear"),
        ("Actually, education is what matters most.", "Education is what matters most"),
        ("However, people, variety is a spice of life.", "People, variety is a spice of life"),
        ("Spring is the best time of year.", "Spring is the best time of year"),
        ("3D printers changed everything.", "3D printers changed everything"),
        (
            "I lifted every frame into the wind, and the brood was chilled within five minutes.",
            "I lifted every frame into the wind",
        ),
        ("Look at roses took away.", "Look at roses took away"),  # no link within words, or further on
        ("I ran out, took a taxi, and found the swarm that was hanging from a light.", ""),
        ("People have been pretty much trained in this country that, if they drive, all is well there.", ""),
        ("Lies about the other became, if not common, then a thing that nobody minded any more at all.", ""),
        ("That's why remembrance is so powerful.", ""),
        ("makes the lesson feel urgent.", ""),  # the end of a sentence
    ],
)
def test_without_a_phrase_it_is_a_whole_clause_or_nothing(sentence: str, title: str) -> None:
    assert title_passages([(sentence,)], embed) == [title]


def test_clause_that_needs_no_other_is_preferred() -> None:
    said = (
        "On a day of rain it loses weight.",
        "The second reason is variety.",
        "A scale costs sixty dollars.",
    )
    assert title_passages([said], embed) == ["A scale costs sixty dollars"]


def test_question_with_its_answer_is_the_title() -> None:
    said = ("Somebody over there has a question.", "Do bees sting the patients?", "No.", "There was not one.")
    assert title_passages([said], embed) == ["Do bees sting the patients?"]


def test_other_languages_have_whole_sentences() -> None:
    said = "Die Kunst des Buchdrucks ist in Europa nicht sehr alt", "Die Kunst" + " des Buchdrucks" * 9
    for sentence, title in zip(said, (said[0], ""), strict=True):
        assert title_passages([(f"{sentence}.",)], embed, is_english=False) == [title]


@pytest.mark.parametrize("said", [".", "So,", "。。"])
def test_sentence_without_words_of_its_own_has_no_title(said: str) -> None:
    assert title_passages([(said,)], embed) == [""]


SENTENCES = st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=4)


@given(st.lists(SENTENCES, min_size=1, max_size=4).flatmap(lambda made: st.sampled_from([made, made * 2])))
def test_titles_are_short_and_differ(passages: list[list[str]]) -> None:
    titles = title_passages(passages, embed)
    assert len(titles) == len(passages)
    assert all(len(title) <= MAX_LETTERS for title in titles)
    known = [title for title in titles if title]
    assert len({*known}) == len(known)
