"""Titles from the words with which a passage begins."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.description.opening_titles import MAX_LETTERS, title_of


@pytest.mark.parametrize(
    ("sentences", "title"),
    [
        (["Letters of metal came late.", "Nobody knows why."], "Letters of metal came late"),
        (["So, I think letters of metal came late."], "Letters of metal came late"),
        (["We cast letters.", "Why did metal letters come late?"], "Why did metal letters come late?"),
        (
            ["My parents couldn't afford a teacher, so they sent me to a school for dancers."],
            "My parents couldn't afford a teacher",
        ),
        (
            ["The fact that there are no numbers of this kind indicates that there are no vectors at all."],
            "The fact that there are no numbers of this kind indicates …",
        ),
        (
            ['A philosopher once said, "When you let go of what you are, you become what you might be."'],
            'A philosopher once said, "When you let go of what you are, you become …"',
        ),
        (["为什么？"], "为什么"),
    ],
)
def test_title_is_what_the_passage_begins_with(sentences: list[str], title: str) -> None:
    assert title_of(sentences).rstrip("？") == title


def test_subordinate_clause_is_no_title() -> None:
    text = "If you want to catch a ball with a glove, because it is hard, you run to where the ball will be."
    assert title_of([text]).endswith("…")


@given(st.lists(st.text(min_size=1, max_size=200), min_size=1, max_size=3))
def test_title_fits_and_has_quotations_with_two_ends(sentences: list[str]) -> None:
    title = title_of(sentences)
    assert len(title) <= MAX_LETTERS + len(' …"') or len(title.split()) < 3
