"""The passage that opens a summary of speech, on made-up marks of sentences."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from tests.evidence.test_spoken import transcript
from vidsum.summary.speech_units import SpeechUnit, find_speech_units

N_SENTENCES, EVERY_S = 60, 10.0  # of 8 s each
SUBJECT = 4  # number of the sentence that states the subject


def _name(number: int) -> str:
    """Return a word that no other number has."""
    return "".join(chr(ord("a") + int(digit)) for digit in f"{number:04}")


def units_of(
    monkeypatch: pytest.MonkeyPatch,
    budget_s: float = 90.0,
    subject: int = SUBJECT,
    language: str = "en",
    decided: tuple[tuple[float, float], ...] = (),
) -> tuple[SpeechUnit, ...]:
    """Return the units of ten minutes, of which the first do not stand well, but one states the subject."""
    marks = np.full((N_SENTENCES, 3), (0.5, 0.5, 0.02), np.float32)
    marks[30:], marks[subject, 2] = (0.95, 0.95, 0.3), 0.3
    monkeypatch.setattr("vidsum.summary.standing.sentence_marks", lambda texts, **options: marks)
    words = [
        (EVERY_S * n + 2 * at, EVERY_S * n + 2 * at + 1.9, word)
        for n in range(N_SENTENCES)
        for at, word in enumerate(["Anna", "bakes", _name(n), f"{_name(n + N_SENTENCES)}."])
    ]
    spoken = replace(transcript(*words), language=language, duration_s=EVERY_S * N_SENTENCES)
    return find_speech_units(spoken, 2.0, budget_s, decided).units


def says(units: tuple[SpeechUnit, ...], sentence: int) -> bool:
    return any(unit.start_s <= EVERY_S * sentence < unit.end_s for unit in units)


@pytest.mark.parametrize("budget_s", [60.0, 90.0, 300.0])
def test_summary_is_opened_by_what_states_the_subject(
    budget_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    units = units_of(monkeypatch, budget_s)
    (opening,) = [unit for unit in units if says((unit,), SUBJECT)]
    assert opening.end_s - opening.start_s <= 30
    assert len(units) > 1


def test_short_summary_has_no_opening(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not says(units_of(monkeypatch, 59.9), SUBJECT)


def test_opening_begins_in_the_first_quarter(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not says(units_of(monkeypatch, subject=20), 20)


def test_speech_in_other_languages_has_no_opening(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not says(units_of(monkeypatch, language="de"), SUBJECT)


def test_no_opening_reaches_into_what_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not says(units_of(monkeypatch, decided=((EVERY_S * SUBJECT, EVERY_S * SUBJECT + 1),)), SUBJECT)


@pytest.mark.parametrize("budget_s", [60.0, 75.0, 90.0, 200.0])
def test_opening_and_units_fit_into_the_budget(budget_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    units = units_of(monkeypatch, budget_s)
    assert sum(unit.last_s - unit.first_s for unit in units) <= budget_s + 1e-6
    assert all(one.last_s <= two.first_s for one, two in pairwise(units))
