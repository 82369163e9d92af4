"""Housekeeping of speech: words of greeting, and advertisements with the sentences around."""

from math import inf

import pytest

from tests.evidence.test_spoken import transcript
from tests.summary.test_speech_units import said
from vidsum.summary.housekeeping import is_housekeeping

SUBJECT = ("Pottery begins with heavy clay.", "Heavy clay remembers every finger.")


def housekeeping(*texts: str, every_s: float = 10.0) -> list[bool]:
    """Return whether sentences that begin every ten seconds are housekeeping."""
    words = [word for number, text in enumerate(texts) for word in said(every_s * number, text)]
    return is_housekeeping(transcript(*words).sentences(inf, 0.0))


@pytest.mark.parametrize(
    "text", ["Thank you for coming.", "Good evening, heavy clay.", "My name is Maria Clay."]
)
def test_greeting_is_housekeeping_and_the_subject_is_not(text: str) -> None:
    assert housekeeping(*SUBJECT, text) == [False, False, True]


@pytest.mark.parametrize(
    "text",
    ["This show is brought to you by Clay.", "Our sponsors make clay.", "Buy clay today at heavyclay.com."],
)
def test_sentences_around_an_advertisement_belong_to_it(text: str) -> None:
    assert housekeeping(*SUBJECT, *SUBJECT, text, SUBJECT[0]) == [False, False, True, True, True, True]


def test_name_with_a_dot_advertises_nothing() -> None:
    assert housekeeping("Booking.com sold clay before anybody else.") == [False]


def test_nothing_that_is_said_has_no_housekeeping() -> None:
    assert is_housekeeping([]) == []
