"""Loudness, its threshold, and what to keep."""

import numpy as np
import pytest

from tests.voices import RATE
from vidsum.speech.silence import (
    VOICE_LATE_S,
    LevelMeter,
    Levels,
    choose_threshold,
    gaps_of,
    keep_sound,
    loud_spans,
    subtract,
    voice_spans,
    without_short_cuts,
)
from vidsum.speech.voice import SpeechPiece
from vidsum.types import join_near


def levels_of(*parts: tuple[float, float]) -> Levels:
    """Levels of noise: pairs of a length in seconds and a level in dB; -inf is digital silence."""
    random, meter = np.random.default_rng(0), LevelMeter()
    sound = [random.normal(0, 10 ** (db / 20), round(length_s * RATE)) for length_s, db in parts]
    for _ in meter.measure([np.concatenate(sound).astype(np.float32)]):
        pass
    return meter.levels


def test_levels_are_measured_across_blocks() -> None:
    sound, meter = np.random.default_rng(1).normal(0, 0.1, 3 * RATE).astype(np.float32), LevelMeter()
    blocks = list(meter.measure(np.split(sound, 3)))
    assert np.array_equal(np.concatenate(blocks), sound)
    assert len(meter.levels.db) == 300
    assert np.allclose(meter.levels.db, -20, atol=2)


def test_sound_that_was_not_read_has_no_levels() -> None:
    assert len(LevelMeter().levels.db) == 0


THRESHOLDS = pytest.mark.parametrize(
    ("voice_db", "noise_db", "threshold_db"),
    [(-20, -80, -50), (-20, -45, -37), (-20, -30, -36), (-40, -75, -67), (-20, -np.inf, -50)],
)


def voice_with_pauses(voice_db: float, noise_db: float) -> Levels:
    """A voice in [0, 1), [2, 4) and [4.8, 5.8) s."""
    return levels_of((1.0, voice_db), (1.0, noise_db), (2.0, voice_db), (0.8, noise_db), (1.0, voice_db))


@THRESHOLDS
def test_threshold_lies_between_voice_and_noise(
    voice_db: float, noise_db: float, threshold_db: float
) -> None:
    chosen = choose_threshold(voice_with_pauses(voice_db, noise_db))
    assert chosen == pytest.approx(threshold_db, abs=2)


@pytest.mark.parametrize(("voice_db", "noise_db"), [(-20, -80), (-20, -45), (-40, -75), (-20, -np.inf)])
def test_loud_spans_are_the_voice(voice_db: float, noise_db: float) -> None:
    levels = voice_with_pauses(voice_db, noise_db)
    edges = np.array(join_near(loud_spans(levels, choose_threshold(levels) or 0.0), 0.3))
    assert edges == pytest.approx(np.array([[0, 1], [2, 4], [4.8, 5.8]]), abs=0.02)


def test_steady_noise_is_loud_throughout() -> None:
    noise = levels_of((5.0, -25))
    assert loud_spans(noise, choose_threshold(noise) or 0.0) == [(0.0, 5.0)]


@pytest.mark.parametrize("parts", [[(2.0, -np.inf)], [(2.0, -75)]], ids=["digital silence", "faint noise"])
def test_silent_film_has_no_threshold(parts: list[tuple[float, float]]) -> None:
    assert choose_threshold(levels_of(*parts)) is None


def test_film_without_sound_has_no_threshold() -> None:
    assert choose_threshold(LevelMeter().levels) is None


SOUNDS = [(2.0, 3.0), (3.4, 4.0), (5.0, 5.05), (6.0, 7.0)]


def test_sounds_are_kept_with_margins_before_and_after() -> None:
    assert np.allclose(keep_sound(SOUNDS, 10.0, 0.5, 0.1, (0.1, 0.3)), [(1.9, 4.3), (5.9, 7.3)])


def test_short_sound_is_kept_where_no_length_is_asked_for() -> None:
    assert keep_sound(SOUNDS, 10.0, 0.5, 0.0, (0.1, 0.3))[1] == pytest.approx((4.9, 5.35))


def test_sounds_whose_margins_meet_are_one_part() -> None:
    assert keep_sound(SOUNDS, 10.0, 0.5, 0.1, (2.0, 2.0)) == [(0.0, 9.0)]


def test_film_without_a_long_pause_is_kept_whole() -> None:
    assert keep_sound(SOUNDS, 10.0, 20.0, 0.1, (0.1, 0.1)) == [(0.0, 10.0)]


def test_short_pauses_at_the_ends_of_a_film_are_kept() -> None:
    assert keep_sound([(0.3, 9.8)], 10.0, 0.5, 0.1, (0.1, 0.1)) == [(0.0, 10.0)]


def test_nothing_is_kept_of_a_film_without_sounds() -> None:
    assert keep_sound([], 10.0, 0.5, 0.1, (0.1, 0.1)) == []


def test_cuts_are_subtracted_and_short_rests_left_out() -> None:
    assert subtract([(0, 5), (6, 9)], [(1, 2), (4.95, 7)], 0.1) == [(0, 1), (2, 4.95), (7, 9)]
    assert subtract([(0, 5)], [(0.05, 4)], 0.1) == [(4, 5)]


def test_gaps_lie_before_between_and_after_parts() -> None:
    assert gaps_of([(1, 2), (3, 9)], 10) == [(0, 1), (2, 3), (9, 10)]
    assert gaps_of([(0, 2), (3, 10)], 10) == [(2, 3)]


@pytest.fixture(scope="module")
def levels() -> Levels:
    """Sound, silence from 1 to 1.5 s, a noise, silence from 1.7 to 2 s, and sound."""
    return levels_of((1, -20), (0.5, -80), (0.2, -20), (0.3, -80), (1, -20))


def test_silence_around_a_span_ends_at_the_sounds_outside_it(levels: Levels) -> None:
    assert levels.silence_around((1.45, 1.75), -50) == pytest.approx((1.0, 2.0))


def test_span_in_sound_has_no_silence_around_it(levels: Levels) -> None:
    assert levels.silence_around((0.5, 0.5), -50) == pytest.approx((0.5, 0.5))


def test_silence_reaches_to_the_ends_of_a_film(levels: Levels) -> None:
    assert levels.silence_around((0.5, 2.5), 0) == pytest.approx((0.0, 3.0))


def test_quietest_time_is_in_the_silence(levels: Levels) -> None:
    assert 1.0 <= levels.quietest(0.8, 1.4) <= 1.4


def test_quietest_time_after_the_end_is_the_middle(levels: Levels) -> None:
    assert levels.quietest(9.0, 9.2) == pytest.approx(9.1)


PARTS = [(0.15, 2.0), (2.12, 4.0), (4.2, 6.0), (6.1, 9.85)]


def test_short_cuts_are_not_made() -> None:
    assert without_short_cuts(PARTS, 10.0) == [(0.0, 4.0), (4.2, 10.0)]


def test_short_cuts_that_remove_words_are_made() -> None:
    assert without_short_cuts(PARTS, 10.0, [(6.0, 6.1)]) == [(0.0, 4.0), (4.2, 6.0), (6.1, 10.0)]


def test_film_without_cuts_stays_whole() -> None:
    assert without_short_cuts([(0.0, 10.0)], 10.0) == [(0.0, 10.0)]


def test_voices_are_widened_by_what_the_detector_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = [SpeechPiece(start_s, np.zeros(RATE, np.float32)) for start_s in (0.05, 3.0)]
    monkeypatch.setattr("vidsum.speech.silence.find_speech", lambda *_, **__: pieces)
    spans = list(voice_spans([], 0.5))
    assert np.allclose(spans, [(0.0, 1.05 + VOICE_LATE_S), (3 - VOICE_LATE_S, 4 + VOICE_LATE_S)])
