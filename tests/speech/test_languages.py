"""The languages of windows, and of transcripts."""

from typing import Any

import numpy as np
import pytest

from vidsum.results.transcript import Segment, Transcript
from vidsum.speech.recognize import (
    WindowTranscript,
    _is_repetitive,
    choose_language,
    language_changes,
    merge_windows,
    split_by_language,
)
from vidsum.speech.voice import RATE, SpeechPiece, Window


class Loudness:
    """A model to which English is as probable as samples are loud, and all else is German."""

    def __init__(self) -> None:
        self.looked = 0

    def feature_extractor(self, samples: np.ndarray) -> np.ndarray:
        return samples[None]

    def detect_language(self, *, features: np.ndarray) -> tuple[str, float, list[tuple[str, float]]]:
        self.looked += 1
        english = float(np.clip((features > 0.5).mean(), 0.01, 0.99))
        ranked = sorted([("en", english), ("de", 1 - english)], key=lambda one: -one[1])
        return *ranked[0], ranked


def window_of(volumes: list[float]) -> Window:
    return Window(
        tuple(
            SpeechPiece(4.0 * at, np.full(3 * RATE, volume, np.float32)) for at, volume in enumerate(volumes)
        )
    )


@pytest.mark.parametrize("n_quiet", [1, 2, 4, 6])
def test_a_window_is_cut_where_the_language_changes(n_quiet: int) -> None:
    model: Any = Loudness()
    window = window_of([0.1] * n_quiet + [0.9] * (7 - n_quiet))
    (before, german), (after, english) = split_by_language(model, window)
    assert (len(before.pieces), len(after.pieces)) == (n_quiet, 7 - n_quiet)
    assert before.pieces + after.pieces == window.pieces
    assert german["de"] == english["en"] == pytest.approx(0.99)
    assert model.looked <= 1 + 2 + 3 + 2  # the window, its ends, bisection, the parts


@pytest.mark.parametrize(("volumes", "looked"), [([0.9] * 4, 1), ([0.9], 1), ([0.9, 0.1, 0.1, 0.9], 3)])
def test_a_window_in_one_language_stays_whole(volumes: list[float], looked: int) -> None:
    model: Any = Loudness()
    window = window_of(volumes)
    ((same, _),) = split_by_language(model, window)
    assert (same, model.looked) == (window, looked)


def test_a_language_stays_unless_another_one_is_much_more_likely() -> None:
    assert choose_language({"es": 0.3, "it": 0.5}, None) == "it"
    assert choose_language({"es": 0.3, "it": 0.5}, "es") == "es"
    assert choose_language({"es": 0.1, "it": 0.5}, "es") == "it"
    assert choose_language({"es": 0.1, "it": 0.5}, "es", odds=10) == "es"
    assert choose_language({"it": 0.5}, "es") == "it"


def test_the_main_language_is_spoken_the_longest() -> None:
    def segment(start_s: float, end_s: float) -> Segment:
        return Segment(start_s, end_s, "x", 0.9, 0.0)

    language, probability, segments = merge_windows(
        [
            WindowTranscript("en", 0.9, [segment(0, 2)]),
            WindowTranscript("de", 0.6, [segment(2, 8), segment(8, 10)]),
            WindowTranscript("de", 0.8, [segment(10, 18)]),
            WindowTranscript("en", 0.5, [segment(18, 20)]),
        ]
    )
    assert (language, probability) == ("de", pytest.approx(0.7))
    assert [one.language for one in segments] == ["en", None, None, None, "en"]
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
def test_a_text_that_repeats_itself_is_told_from_speech(text: str, is_loop: bool) -> None:
    assert _is_repetitive(text) == is_loop
