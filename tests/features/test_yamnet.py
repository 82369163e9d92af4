"""Sounds: windows of blocks, and scores of the shipped network against those of the published one."""

import json
from pathlib import Path

import numpy as np
import pytest

from vidsum.features.yamnet import N_CLASSES, RATE, WINDOW, iter_windows, score_sounds
from vidsum.types import FloatArray

SCORES = Path(__file__).with_name("yamnet_scores.json")
"""Classes that score .005 or more, by the published file in LiteRT."""


def synthetic_sounds() -> dict[str, FloatArray]:
    rng, times = np.random.default_rng(0), np.arange(WINDOW) / RATE
    noise = rng.normal(0, 0.1, WINDOW)
    spectrum = np.fft.rfft(noise)
    pink = np.fft.irfft(spectrum / np.sqrt(np.arange(1, len(spectrum) + 1)), WINDOW)
    sine = np.sin(2 * np.pi * 440 * times)
    bell = sum(np.sin(2 * np.pi * 330 * n * times) / n for n in (1, 2.76, 5.4)) * np.exp(-4 * times)
    vowel = sum(np.sin(2 * np.pi * 140 * n * times + 0.3 * n * np.sin(30 * times)) / n for n in range(1, 20))
    sounds = {
        "silence": np.zeros(WINDOW),
        "sine": 0.3 * sine,
        "square": 0.3 * np.sign(sine),
        "chirp": 0.3 * np.sin(2 * np.pi * (200 * times + 1500 * times**2)),
        "white noise": noise,
        "pink noise": 20 * pink,
        "pulses of noise": noise * (times % 0.25 < 0.05),
        "clicks": 0.8 * (np.arange(WINDOW) % 1600 < 8),
        "bell": 0.4 * bell,
        "vowel": 0.2 * vowel,
    }
    return {name: samples.astype(np.float32) for name, samples in sounds.items()}


@pytest.fixture(scope="module")
def scores() -> tuple[np.ndarray, np.ndarray]:
    """Scores of synthetic sounds [N, C], and those that LiteRT computed from the published file in fp32."""
    sounds, stored = synthetic_sounds(), json.loads(SCORES.read_text("utf-8"))
    rows = np.concatenate([score_sounds([samples]) for samples in sounds.values()])
    expected = np.zeros((len(sounds), N_CLASSES))
    for row, name in zip(expected, sounds, strict=True):
        row[[int(number) for number in stored[name]]] = list(stored[name].values())
    assert (expected > 0).any(axis=1).all()
    return rows, expected


def test_scores_agree_with_the_published_network(scores: tuple[np.ndarray, np.ndarray]) -> None:
    rows, expected = scores
    np.testing.assert_allclose(rows[expected > 0], expected[expected > 0], atol=1e-3)


def test_classes_that_are_not_stored_have_low_scores(scores: tuple[np.ndarray, np.ndarray]) -> None:
    rows, expected = scores
    assert rows[expected == 0].max() < 0.006


def test_no_sounds_have_no_scores() -> None:
    assert score_sounds([]).shape == (0, N_CLASSES)


@pytest.mark.parametrize("length", [1, 700, 15_599, 15_600, 40_000, 100_000])
def test_windows_are_the_same_whatever_the_blocks(length: int) -> None:
    samples = np.random.default_rng(0).normal(size=100_000).astype(np.float32)
    padded = np.pad(samples, (0, 15_360 * 7 + 240 - 100_000))
    expected = np.stack([padded[first : first + WINDOW] for first in range(0, 15_360 * 7, 15_360)])
    blocks = (samples[first : first + length] for first in range(0, 100_000, length))
    np.testing.assert_array_equal(np.concatenate(list(iter_windows(blocks)))[:7], expected)
