"""Titles of passages: questions, noun phrases, and the first words of a sentence."""

from collections.abc import Sequence

import numpy as np
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
    asked = "What is sourdough bread?"
    first, second = title_passages([(asked, *BAKING), (f"So, {asked}", *BAKING)], embed)
    assert (first, second) == (asked, "Sourdough starter")


def test_same_first_words_get_a_number() -> None:
    titles = title_passages([("They came.",)] * 3, embed)
    assert titles == ["They came", "They came (2)", "They came (3)"]


def test_what_the_rest_says_makes_no_title() -> None:
    said = ("The cold water and the dry leather met.",)
    assert title_passages([said], embed, ["The cold water rose."] * 20) == ["Dry leather"]


def test_without_a_phrase_it_is_the_beginning_of_a_sentence() -> None:
    (title,) = title_passages([("And ask not what they can do for you, but ask them.",)], embed)
    assert title == "Ask not what they can do for you…"


def test_short_sentence_is_a_title_as_it_is() -> None:
    assert title_passages([("We have nothing to fear.",)], embed) == ["We have nothing to fear"]


def test_other_languages_have_first_words() -> None:
    said = ("Die Kunst des Buchdrucks ist in Europa nicht sehr alt.",)
    (title,) = title_passages([said], embed, is_english=False)
    assert title == "Die Kunst des Buchdrucks ist in Europa nicht…"


SENTENCES = st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=4)


@given(st.lists(SENTENCES, min_size=1, max_size=4).flatmap(lambda made: st.sampled_from([made, made * 2])))
def test_titles_are_short_and_not_empty(passages: list[list[str]]) -> None:
    titles = title_passages(passages, embed)
    assert len(titles) == len(passages)
    assert all(title.strip() and len(title) <= MAX_LETTERS for title in titles)
    assert len({*titles}) == len(titles)
