"""The languages of windows, and of transcripts."""

from typing import Any

import numpy as np
import pytest

from vidsum.results.transcript import Segment, Transcript
from vidsum.speech.recognize import Heard, changes_of, in_one_language, language_of, with_main_language
from vidsum.speech.voice import RATE, Speech, Window


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
        tuple(Speech(4.0 * at, np.full(3 * RATE, volume, np.float32)) for at, volume in enumerate(volumes))
    )


@pytest.mark.parametrize("n_quiet", [1, 2, 4, 6])
def test_a_window_is_cut_where_the_language_changes(n_quiet: int) -> None:
    model: Any = Loudness()
    window = window_of([0.1] * n_quiet + [0.9] * (7 - n_quiet))
    (before, german), (after, english) = in_one_language(model, window)
    assert (len(before.pieces), len(after.pieces)) == (n_quiet, 7 - n_quiet)
    assert before.pieces + after.pieces == window.pieces
    assert german["de"] == english["en"] == pytest.approx(0.99)
    assert model.looked <= 1 + 2 + 3 + 2  # the window, its ends, bisection, the parts


@pytest.mark.parametrize(("volumes", "looked"), [([0.9] * 4, 1), ([0.9], 1), ([0.9, 0.1, 0.1, 0.9], 3)])
def test_a_window_in_one_language_stays_whole(volumes: list[float], looked: int) -> None:
    model: Any = Loudness()
    window = window_of(volumes)
    ((same, _),) = in_one_language(model, window)
    assert (same, model.looked) == (window, looked)


def test_a_language_stays_unless_another_one_is_much_more_likely() -> None:
    assert language_of({"es": 0.3, "it": 0.5}, None) == "it"
    assert language_of({"es": 0.3, "it": 0.5}, "es") == "es"
    assert language_of({"es": 0.1, "it": 0.5}, "es") == "it"
    assert language_of({"es": 0.1, "it": 0.5}, "es", odds=10) == "es"
    assert language_of({"it": 0.5}, "es") == "it"


def test_the_main_language_is_spoken_the_longest() -> None:
    def segment(start_s: float, end_s: float) -> Segment:
        return Segment(start_s, end_s, "x", 0.9, 0.0)

    language, probability, segments = with_main_language(
        [
            Heard("en", 0.9, [segment(0, 2)]),
            Heard("de", 0.6, [segment(2, 8), segment(8, 10)]),
            Heard("de", 0.8, [segment(10, 18)]),
            Heard("en", 0.5, [segment(18, 20)]),
        ]
    )
    assert (language, probability) == ("de", pytest.approx(0.7))
    assert [one.language for one in segments] == ["en", None, None, None, "en"]
    transcript = Transcript(segments, language, probability, 20.0)
    assert changes_of(transcript) == [("en", "de", 2), ("de", "en", 18)]
    assert with_main_language([]) == (None, None, ())
    assert changes_of(Transcript((), None, None, 1.0)) == []
