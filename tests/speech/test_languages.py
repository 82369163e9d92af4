"""The languages of windows, and of transcripts."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.speech.stub import StubModel
from vidsum.results.transcript import Segment, Transcript, Word
from vidsum.speech.guards import is_repetitive
from vidsum.speech.recognize import (
    WindowTranscript,
    choose_language,
    language_changes,
    merge_windows,
    split_at_pauses,
    split_by_language,
    transcribe_windows,
)
from vidsum.speech.voice import RATE, SpeechPiece, Window


def by_loudness(samples: np.ndarray) -> dict[str, float]:
    """English is as probable as samples are loud, and all else is German."""
    english = float(np.clip((samples > 0.5).mean(), 0.01, 0.99))
    return {"en": english, "de": 1 - english}


def window_of(volumes: list[float]) -> Window:
    samples = (np.full(3 * RATE, volume, np.float32) for volume in volumes)
    return Window(tuple(SpeechPiece(4.0 * at, piece) for at, piece in enumerate(samples)))


@pytest.mark.parametrize("n_quiet", [1, 2, 4, 6])
def test_split_by_language(n_quiet: int) -> None:
    model: Any = StubModel(language=by_loudness)
    window = window_of([0.1] * n_quiet + [0.9] * (7 - n_quiet))
    (before, german), (after, english) = split_by_language(model, window)
    assert (len(before.pieces), len(after.pieces)) == (n_quiet, 7 - n_quiet)
    assert before.pieces + after.pieces == window.pieces
    assert german["de"] == english["en"] == pytest.approx(0.99)
    assert model.n_detected <= 1 + 2 + 3 + 2  # the window, its ends, bisection, the parts


@pytest.mark.parametrize(("volumes", "calls"), [([0.9] * 4, 1), ([0.9], 1), ([0.9, 0.1, 0.1, 0.9], 3)])
def test_split_by_language_of_one_language(volumes: list[float], calls: int) -> None:
    model: Any = StubModel(language=by_loudness)
    window = window_of(volumes)
    ((same, _),) = split_by_language(model, window)
    assert (same, model.n_detected) == (window, calls)


def test_choose_language() -> None:
    assert choose_language({"es": 0.3, "it": 0.5}, None) == "it"
    assert choose_language({"es": 0.3, "it": 0.5}, "es") == "es"
    assert choose_language({"es": 0.1, "it": 0.5}, "es") == "it"
    assert choose_language({"es": 0.1, "it": 0.5}, "es", odds=10) == "es"
    assert choose_language({"it": 0.5}, "es") == "it"


def test_merge_windows_main_language() -> None:
    spans = [
        ("en", 0.9, [(0, 2)]),
        ("de", 0.6, [(2, 8), (8, 10)]),
        ("de", 0.8, [(10, 18)]),
        ("en", 0.5, [(18, 20)]),
    ]
    windows = [
        WindowTranscript(language, probability, [Segment(*span, "x", 0.9, 0.0) for span in segments])
        for language, probability, segments in spans
    ]
    language, probability, segments = merge_windows(windows)
    assert (language, probability) == ("de", pytest.approx(0.7))
    assert [segment.language for segment in segments] == ["en", None, None, None, "en"]
    transcript = Transcript(segments, language, probability, 20.0)
    assert language_changes(transcript) == [("en", "de", 2), ("de", "en", 18)]
    assert merge_windows([]) == (None, None, ())
    assert language_changes(Transcript((), None, None, 1.0)) == []


@pytest.mark.parametrize(
    ("text", "is_loop"),
    [
        ("And so, my fellow Americans, ask not what your country can do for you.", False),
        ("A person examines the cups on the counter and notices how scratched they are.", False),
        ("Yes. Yes.", False),
        ("A person e" + 220 * "m", True),
        (12 * "Thank you for watching. ", True),
    ],
)
def test_is_repetitive(text: str, is_loop: bool) -> None:
    assert is_repetitive(text) == is_loop


@pytest.mark.parametrize("translate", [True, False])
def test_transcribe_windows_times(translate: bool) -> None:
    """A segment without words has times too."""
    model: Any = StubModel()
    (segment,) = transcribe_windows(model, [window_of([0.9])], "de", translate=translate).segments
    assert (segment.start_s, segment.end_s, bool(segment.words)) == (0.0, 2.5, not translate)


def test_split_at_pauses() -> None:
    """A segment ends where two seconds pass without a word; each part has its own text and probability."""
    spans = [
        (0.0, 0.5, "One,", 0.9),
        (0.5, 1.0, "two.", 0.9),
        (3.0, 3.5, "Three", 0.4),
        (5.4, 6.0, "four.", 0.4),
    ]
    words = tuple(Word(*span) for span in spans)
    segment = Segment(0.0, 6.0, "One, two. Three four.", 0.6, 0.1, words)
    first, last = split_at_pauses([segment])
    assert (first.start_s, first.end_s, first.text, first.uncertain) == (0.0, 1.0, "One, two.", False)
    assert (last.start_s, last.end_s, last.text, last.uncertain) == (3.0, 6.0, "Three four.", True)
    assert (first.words, last.words, last.probability) == (words[:2], words[2:], 0.4)
    assert [*split_at_pauses([first, last])] == [first, last]
    untimed = replace(segment, words=())
    assert [*split_at_pauses([untimed])] == [untimed]
