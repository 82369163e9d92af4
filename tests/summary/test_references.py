"""Loose references: words for what was named before a passage begins."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.summary.references import OPENING, joins, loose_references

CLEAR = 0.7  # weight of a reference that is clear

LABELLED = (
    ("Clay remembers every touch of the hand.", False),
    ("For although the Chinese took impressions from wood blocks, books came late.", False),
    ("There are twelve bridges in the town.", False),
    ("It is hard to throw away a pot.", False),
    ("It is worth mentioning that printers were rich.", False),
    ("Which bridge was the busiest?", False),
    ("Now we come to the results.", False),
    ("Do you sell your work at markets?", False),
    ("It's a good idea to walk.", False),
    ("On a good day in May the hive gains honey.", False),
    ("In winter it is cold.", False),
    ("Dr. Weber sold his house.", False),
    ("My sister says that she will come.", False),
    ("People say what they like.", False),
    ("A pot is easy to make, and the child likes it.", False),
    ("If context matters, it matters here.", False),
    ("Those who walk see more.", False),
    ("This morning we walked to a town.", False),
    ("These people who walk see more.", False),
    ("A bridge that was built by hand is old.", False),
    ("My house stood by a lake, and we swam there.", False),
    ("My brother built a boat in a year, and for this we love him.", False),
    ("It stood in the cellar for years.", True),
    ("I was born there.", True),
    ("For this we love walking.", True),
    ("It's related to the idea that light is slow.", True),
    ("It's a little easier to think about if we wait.", True),
    ("They ask how long a bowl takes.", True),
    ("But he never came back.", True),
    ("And the town paid.", True),
    ("This surprised the engineers.", True),
    ("That smell is the best part of the day.", True),
    ("So that's why we walk.", True),
    ("Yes, every second Saturday in the old town hall.", True),
    ("Which were the immediate predecessors of the printed book.", True),
    ("Then the engineers came.", True),
    ("We need half of it for the winter.", True),
    ("Well, why does he have a claim?", True),
    ("I think that's a closer call.", True),
    ("The reason is simple.", True),
    ("The second reason is variety.", True),
    ("Another tactic was a dance.", True),
    ("As you said before, the fund is small.", True),
    ("For example, a shear has none.", True),
    ("On a day of rain it loses two hundred grams.", True),
    ("Is there anything that you learned from that experience?", True),
)


@pytest.mark.parametrize(("text", "is_loose"), LABELLED)
def test_sentence_that_refers_to_what_was_named_before(text: str, is_loose: bool) -> None:
    assert (loose_references([text])[0] >= CLEAR) == is_loose


def test_pronoun_further_on_refers_to_what_the_passage_named() -> None:
    named, unnamed = "My mother was a potter.", "We came to a town by the sea."
    assert loose_references([named, "She taught me."]) == [0, 0]
    assert loose_references([unnamed, "She taught me."]) == [0, 1]


def test_definite_noun_that_was_named_a_moment_ago_is_loose() -> None:
    text = "Nobody could open the kiln in the morning."
    assert loose_references([text])[0] == 0
    assert loose_references([text], ["We had built a kiln."])[0] > 0
    assert loose_references(["We had built a kiln.", text], ["A kiln is hot."])[1] == 0


def test_name_that_was_said_a_moment_ago_is_loose() -> None:
    text = "Before the war, young Emmanuel was a soldier."
    assert loose_references([text], ["His name was Emmanuel."])[0] > loose_references([text])[0]


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [("We walk.", 0, 0), ("So we walk.", 0.1, 0.6), ("And so we walk.", 1, 2), ("Exactly.", 1, 2)],
)
def test_first_words_that_join_a_sentence_to_the_one_before(text: str, least: float, most: float) -> None:
    assert least <= joins(text) <= most


def test_link_at_the_beginning_counts_once_and_further_on_as_a_reference() -> None:
    assert loose_references(["Too many people came here."]) == [1.0]
    assert loose_references(["We too came home."]) == [0.7]


def test_reply_joins_a_sentence_as_its_first_word_alone() -> None:
    assert joins("Yes, we walk.") > 1
    assert joins("We walk, yes.") == 0


@given(st.lists(st.text(max_size=60), min_size=1, max_size=6), st.lists(st.text(max_size=20), max_size=3))
def test_weights_are_of_the_first_sentences_and_not_below_0(texts: list[str], before: list[str]) -> None:
    weights = loose_references(texts, before)
    assert len(weights) == min(len(texts), OPENING)
    assert min(weights) >= 0


@given(st.sampled_from([text for text, _ in LABELLED]), st.sampled_from([text for text, _ in LABELLED]))
def test_what_a_passage_names_first_only_helps_what_follows(first: str, second: str) -> None:
    """A sentence refers to no more after another one than at the beginning."""
    assert loose_references([first, second])[1] <= loose_references([second])[0]
