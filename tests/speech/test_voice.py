"""Where somebody speaks."""

import sys
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

from vidsum.speech.voice import RATE, WINDOW_S, SpeechPiece, Window, find_speech, pack_windows


def blocks_of(samples: np.ndarray, seconds: float) -> Iterator[np.ndarray]:
    step = round(seconds * RATE)
    return (samples[at : at + step] for at in range(0, len(samples), step))


def seconds(count: float) -> np.ndarray:
    return np.zeros(round(count * RATE), np.float32)


@pytest.fixture(scope="module")
def talk(sentence: np.ndarray) -> np.ndarray:
    """A sentence from 5 s, from 18.5 s and from 41 s on, in a minute of silence."""
    samples = seconds(60)
    for start_s in (5, 18.5, 41):
        at = round(start_s * RATE)
        samples[at : at + len(sentence)] = sentence
    return samples


@pytest.mark.parametrize("block_s", [60.0, 20.0, 7.0, 1.0])
def test_speech_is_found_where_it_is_in_blocks_of_any_length(
    talk: np.ndarray, sentence: np.ndarray, block_s: float
) -> None:
    pieces = list(find_speech(blocks_of(talk, block_s)))
    assert [piece.start_s for piece in pieces] == pytest.approx([5, 18.5, 41], abs=0.6)
    for piece in pieces:
        at = round(piece.start_s * RATE)
        assert piece.length_s == pytest.approx(len(sentence) / RATE, abs=0.9)
        assert np.array_equal(piece.samples, talk[at : at + len(piece.samples)])


@pytest.mark.parametrize("kind", ["silence", "noise", "tone", "chord"])
def test_what_is_not_speech_has_no_pieces(kind: str) -> None:
    times = np.arange(20 * RATE) / RATE
    sounds = {
        "silence": seconds(20),
        "noise": np.random.default_rng(0).normal(0, 0.2, len(times)),
        "tone": 0.5 * np.sin(2 * np.pi * 440 * times),
        "chord": sum(0.2 * np.sin(2 * np.pi * f * times) * (times % 0.5 < 0.4) for f in (220, 277, 330)),
    }
    assert list(find_speech(blocks_of(np.asarray(sounds[kind], np.float32), 8))) == []


def test_hours_of_silence_are_not_listened_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faster_whisper.vad", None)
    assert list(find_speech(seconds(30) for _ in range(120))) == []


def test_speech_without_a_pause_is_cut_into_pieces_that_whisper_can_hear(sentence: np.ndarray) -> None:
    endless = np.tile(sentence[RATE // 4 : -RATE // 4], 40)
    pieces = list(find_speech(blocks_of(endless, 60)))
    assert max(piece.length_s for piece in pieces) <= WINDOW_S
    assert sum(piece.length_s for piece in pieces) > 0.9 * len(endless) / RATE
    assert all(later.start_s >= one.start_s + one.length_s - 1e-6 for one, later in pairwise(pieces))


def test_windows_hold_as_many_pieces_as_fit() -> None:
    pieces = [
        SpeechPiece(start_s, seconds(length_s))
        for start_s, length_s in ((0, 12), (20, 12), (40, 12), (60, 29))
    ]
    windows = list(pack_windows(pieces))
    assert [len(window.pieces) for window in windows] == [2, 1, 1]
    assert [len(window.samples) / RATE for window in windows] == [24, 12, 29]


def test_a_word_lies_in_the_piece_of_its_middle() -> None:
    window = Window((SpeechPiece(10, seconds(4)), SpeechPiece(100, seconds(3))))
    expected = {
        (1, 2): (11, 12),
        (3.5, 4): (13.5, 14),
        (3.8, 4.6): (100, 100.6),  # begins before the border by Whisper's clock
        (3.3, 4.1): (13.3, 14),
        (4, 4.2): (100, 100.2),
        (6.5, 9): (102.5, 103),  # Whisper's window goes on with silence
        (8, 9): (103, 103),
    }
    for heard, spoken in expected.items():
        assert window.word_in_source(*heard) == pytest.approx(spoken)


def test_times_in_a_window_are_those_of_the_source() -> None:
    window = Window((SpeechPiece(10, seconds(4)), SpeechPiece(100, seconds(3))))
    assert window.time_in_source(0) == 10
    assert window.time_in_source(3.5) == 13.5
    assert window.time_in_source(4.0) == 100
    assert window.time_in_source(4.0, is_end=True) == 14
    assert window.time_in_source(6.0) == 102
    assert window.time_in_source(30.0, is_end=True) == 103  # Whisper may count beyond the sound
