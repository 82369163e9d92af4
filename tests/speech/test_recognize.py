"""Windows of speech, their languages, and the transcript that they make, without Whisper."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.speech.stub import StubModel
from vidsum.errors import PackageError
from vidsum.results.transcript import Segment, Word
from vidsum.speech.recognize import (
    WindowTranscript,
    choose_language,
    load_recognizer,
    merge_windows,
    split_at_pauses,
    split_by_language,
    transcribe_windows,
)
from vidsum.speech.voice import RATE, SpeechPiece, Window


def test_missing_package_is_named_before_weights_are_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vidsum.io.packages.has_extra", lambda extra: False)
    monkeypatch.setattr("vidsum.speech.recognize.checkpoints.path_of", lambda *_: pytest.fail("fetches them"))
    with pytest.raises(PackageError, match="speech recognition needs faster_whisper"):
        load_recognizer()


def by_loudness(samples: np.ndarray) -> dict[str, float]:
    """English is as probable as samples are loud, and all else is German."""
    english = float(np.clip((samples > 0.5).mean(), 0.01, 0.99))
    return {"en": english, "de": 1 - english}


def window_of(volumes: list[float]) -> Window:
    samples = (np.full(3 * RATE, volume, np.float32) for volume in volumes)
    return Window(tuple(SpeechPiece(4.0 * at, piece) for at, piece in enumerate(samples)))


@pytest.mark.parametrize("n_quiet", [1, 2, 4, 6])
def test_window_is_split_where_its_language_changes(n_quiet: int) -> None:
    model: Any = StubModel(language=by_loudness)
    window = window_of([0.1] * n_quiet + [0.9] * (7 - n_quiet))
    (before, german), (after, english) = split_by_language(model, window)
    assert (len(before.pieces), len(after.pieces)) == (n_quiet, 7 - n_quiet)
    assert before.pieces + after.pieces == window.pieces
    assert german["de"] == english["en"] == pytest.approx(0.99)


@pytest.mark.parametrize("n_quiet", [1, 2, 4, 6])
def test_change_of_language_is_found_by_bisection(n_quiet: int) -> None:
    model: Any = StubModel(language=by_loudness)
    split_by_language(model, window_of([0.1] * n_quiet + [0.9] * (7 - n_quiet)))
    assert model.n_detected <= 1 + 2 + 3 + 2  # the window, its ends, bisection, the parts


@pytest.mark.parametrize(("volumes", "calls"), [([0.9] * 4, 1), ([0.9], 1), ([0.9, 0.1, 0.1, 0.9], 3)])
def test_window_whose_ends_agree_stays_whole(volumes: list[float], calls: int) -> None:
    model: Any = StubModel(language=by_loudness)
    window = window_of(volumes)
    ((same, _),) = split_by_language(model, window)
    assert (same, model.n_detected) == (window, calls)


def test_most_probable_language_is_chosen() -> None:
    assert choose_language({"es": 0.3, "it": 0.5}, None) == "it"


def test_language_so_far_is_kept_where_it_is_nearly_as_probable() -> None:
    assert choose_language({"es": 0.3, "it": 0.5}, "es") == "es"


def test_language_so_far_is_left_where_it_is_improbable() -> None:
    assert choose_language({"es": 0.1, "it": 0.5}, "es") == "it"
    assert choose_language({"it": 0.5}, "es") == "it"


def test_odds_decide_how_long_a_language_is_kept() -> None:
    assert choose_language({"es": 0.1, "it": 0.5}, "es", odds=10) == "es"


@pytest.fixture
def windows() -> list[WindowTranscript]:
    """English and German in turn; most of the time is German."""
    spans = [
        ("en", 0.9, [(0, 2)]),
        ("de", 0.6, [(2, 8), (8, 10)]),
        ("de", 0.8, [(10, 18)]),
        ("en", 0.5, [(18, 20)]),
    ]
    return [
        WindowTranscript(language, probability, [Segment(*span, "x", 0.9, 0.0) for span in segments])
        for language, probability, segments in spans
    ]


def test_language_of_a_transcript_is_spoken_longest(windows: list[WindowTranscript]) -> None:
    assert merge_windows(windows)[0] == "de"


def test_probability_of_a_language_is_the_mean_of_its_windows(windows: list[WindowTranscript]) -> None:
    assert merge_windows(windows)[1] == pytest.approx(0.7)


def test_segments_in_other_languages_name_theirs(windows: list[WindowTranscript]) -> None:
    assert [segment.language for segment in merge_windows(windows)[2]] == ["en", None, None, None, "en"]


def test_no_windows_have_no_language() -> None:
    assert merge_windows([]) == (None, None, ())


@pytest.mark.parametrize("translate", [True, False])
def test_segment_ends_with_its_words_or_at_its_own_end(translate: bool) -> None:
    model: Any = StubModel()
    (segment,) = transcribe_windows(model, [window_of([0.9])], "de", translate=translate).segments
    assert (segment.start_s, segment.end_s, bool(segment.words)) == (0.0, 2.5, not translate)


@pytest.fixture
def paused() -> Segment:
    """A segment with two seconds without a word."""
    words = (
        Word(0.0, 0.5, "One,", 0.9),
        Word(0.5, 1.0, "two.", 0.9),
        Word(3.0, 3.5, "Three", 0.4),
        Word(5.4, 6.0, "four.", 0.4),
    )
    return Segment(0.0, 6.0, "One, two. Three four.", 0.6, 0.1, words)


def test_segment_ends_where_two_seconds_pass_without_a_word(paused: Segment) -> None:
    first, last = split_at_pauses([paused])
    assert (first.start_s, first.end_s, first.text) == (0.0, 1.0, "One, two.")
    assert (last.start_s, last.end_s, last.text) == (3.0, 6.0, "Three four.")
    assert (first.words, last.words) == (paused.words[:2], paused.words[2:])


def test_part_of_a_segment_has_the_probability_of_its_words(paused: Segment) -> None:
    first, last = split_at_pauses([paused])
    assert (first.probability, last.probability) == (pytest.approx(0.9), pytest.approx(0.4))
    assert (first.uncertain, last.uncertain) == (False, True)


def test_segments_without_pauses_stay(paused: Segment) -> None:
    parts = [*split_at_pauses([paused])]
    assert [*split_at_pauses(parts)] == parts


def test_segment_without_words_stays(paused: Segment) -> None:
    untimed = replace(paused, words=())
    assert [*split_at_pauses([untimed])] == [untimed]


def test_segments_before_a_repeated_word_stay() -> None:
    """A word that two windows share is joined; what the first window said before it is left alone."""

    class PausedModel(StubModel):
        def transcribe(self, samples: np.ndarray, **options: Any) -> Any:
            (segment,), none = super().transcribe(samples, **options)
            first, *others = segment.words
            late = SimpleNamespace(
                **{**vars(segment), "text": "".join(word.word for word in others), "words": others}
            )
            early = SimpleNamespace(
                **{**vars(segment), "text": first.word, "words": [first], "end": first.end}
            )
            return iter([early, late]), none

    model: Any = PausedModel()
    second = Window((SpeechPiece(3.0, window_of([0.9]).pieces[0].samples),))
    recognized = transcribe_windows(model, [window_of([0.9]), second], "de", translate=False)
    assert " ".join(segment.text.strip() for segment in recognized.segments).count("word0") == 2
