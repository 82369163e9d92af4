"""Loudness, its threshold, and what to keep."""

import numpy as np
import pytest

from tests.voices import RATE
from vidsum.speech.silence import (
    LevelMeter,
    Levels,
    choose_threshold,
    gaps_of,
    keep_sound,
    loud_spans,
    subtract,
    without_short_cuts,
)
from vidsum.types import join_near


def levels_of(*parts: tuple[float, float]) -> Levels:
    """Levels of noise: pairs of a length in seconds and a level in dB; -inf is digital silence."""
    random, meter = np.random.default_rng(0), LevelMeter()
    sound = [random.normal(0, 10 ** (db / 20), round(length_s * RATE)) for length_s, db in parts]
    for _ in meter.measure([np.concatenate(sound).astype(np.float32)]):
        pass
    return meter.levels


def test_levels_across_blocks() -> None:
    sound, meter = np.random.default_rng(1).normal(0, 0.1, 3 * RATE).astype(np.float32), LevelMeter()
    blocks = list(meter.measure(np.split(sound, 3)))
    assert len(blocks) == 3
    assert len(meter.levels.db) == 300
    assert np.allclose(meter.levels.db, -20, atol=2)
    assert len(LevelMeter().levels.db) == 0


@pytest.mark.parametrize(
    ("voice_db", "noise_db", "threshold_db"),
    [(-20, -80, -50), (-20, -45, -37), (-20, -30, -36), (-40, -75, -67), (-20, -np.inf, -50)],
)
def test_threshold_follows_the_film(voice_db: float, noise_db: float, threshold_db: float) -> None:
    parts = [(1.0, voice_db), (1.0, noise_db), (2.0, voice_db), (0.8, noise_db), (1.0, voice_db)]
    levels = levels_of(*parts)
    chosen = choose_threshold(levels)
    assert chosen == pytest.approx(threshold_db, abs=2)
    if noise_db < threshold_db - 3:
        edges = np.array(join_near(loud_spans(levels, chosen or 0.0), 0.3))
        assert edges == pytest.approx(np.array([[0, 1], [2, 4], [4.8, 5.8]]), abs=0.02)


def test_steady_sound_and_silence() -> None:
    noise = levels_of((5.0, -25))
    assert loud_spans(noise, choose_threshold(noise) or 0.0) == [(0.0, 5.0)]
    assert choose_threshold(levels_of((2.0, -np.inf))) is None
    assert choose_threshold(levels_of((2.0, -75))) is None
    assert choose_threshold(LevelMeter().levels) is None


def test_keep_sound() -> None:
    sounds = [(2.0, 3.0), (3.4, 4.0), (5.0, 5.05), (6.0, 7.0)]
    assert np.allclose(keep_sound(sounds, 10.0, 0.5, 0.1, (0.1, 0.3)), [(1.9, 4.3), (5.9, 7.3)])
    assert keep_sound(sounds, 10.0, 0.5, 0.0, (0.1, 0.3))[1] == pytest.approx((4.9, 5.35))
    assert keep_sound(sounds, 10.0, 0.5, 0.1, (2.0, 2.0)) == [(0.0, 9.0)]
    assert keep_sound(sounds, 10.0, 20.0, 0.1, (0.1, 0.1)) == [(0.0, 10.0)]
    assert keep_sound([(0.3, 9.8)], 10.0, 0.5, 0.1, (0.1, 0.1)) == [(0.0, 10.0)]
    assert keep_sound([], 10.0, 0.5, 0.1, (0.1, 0.1)) == []


def test_subtract_and_gaps() -> None:
    assert subtract([(0, 5), (6, 9)], [(1, 2), (4.95, 7)], 0.1) == [(0, 1), (2, 4.95), (7, 9)]
    assert subtract([(0, 5)], [(0.05, 4)], 0.1) == [(4, 5)]
    assert gaps_of([(1, 2), (3, 10)], 10) == [(0, 1), (2, 3)]


def test_silence_around() -> None:
    levels = levels_of((1, -20), (0.5, -80), (0.2, -20), (0.3, -80), (1, -20))
    assert levels.silence_around((1.45, 1.75), -50) == pytest.approx((1.0, 2.0))
    assert levels.silence_around((0.5, 0.5), -50) == pytest.approx((0.5, 0.5))
    assert 1.0 <= levels.quietest(0.8, 1.4) <= 1.4
    assert levels.quietest(9.0, 9.2) == pytest.approx(9.1)


def test_short_silence_stays_but_words_go() -> None:
    parts = [(0.15, 2.0), (2.12, 4.0), (4.2, 6.0), (6.1, 9.85)]
    assert without_short_cuts(parts, 10.0) == [(0.0, 4.0), (4.2, 10.0)]
    assert without_short_cuts(parts, 10.0, [(6.0, 6.1)]) == [(0.0, 4.0), (4.2, 6.0), (6.1, 10.0)]
    assert without_short_cuts([(0.0, 10.0)], 10.0) == [(0.0, 10.0)]
