"""Worth of sentences: their subject, their place, and words of greeting."""

import pytest

from tests.evidence.test_spoken import transcript
from tests.summary.test_speech_units import said
from vidsum.summary.speech_worth import worth_of

SUBJECT = ("Pottery begins with heavy clay.", "Heavy clay remembers every finger.")


def worth(*texts: str) -> list[float]:
    """Return the worth of sentences that begin every ten seconds."""
    words = [word for number, text in enumerate(texts) for word in said(10.0 * number, text)]
    return worth_of(transcript(*words).sentences(float("inf"), 0.0))


def test_sentences_that_share_words_are_on_the_subject() -> None:
    assert worth(*SUBJECT, "Nobody asked for money.") == [1, 1, 0.25]


def test_plurals_count_as_the_same_word() -> None:
    assert worth("A potter fires bowls slowly.", "The potters wait.", "It rains.")[0] == 0.5


@pytest.mark.parametrize(
    "text", ["Thank you for coming.", "Good evening, heavy clay.", "My name is Maria Clay."]
)
def test_greetings_are_worth_nothing(text: str) -> None:
    assert worth(*SUBJECT, text)[2] == 0


def test_conclusion_is_worth_more() -> None:
    assert worth(*SUBJECT * 3)[-1] > worth(*SUBJECT * 3)[0] == 1


def test_few_sentences_have_no_conclusion() -> None:
    assert worth(*SUBJECT) == [1, 1]


def test_nothing_that_is_said_has_no_worth() -> None:
    assert worth_of([]) == []
