"""Detection of speech, and windows of it."""

import sys
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

from vidsum.speech.voice import RATE, WINDOW_S, SpeechPiece, Window, find_speech, pack_windows
from vidsum.types import Interval


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
def test_speech_is_found_whatever_the_blocks(talk: np.ndarray, sentence: np.ndarray, block_s: float) -> None:
    pieces = list(find_speech(blocks_of(talk, block_s)))
    assert [piece.start_s for piece in pieces] == pytest.approx([5, 18.5, 41], abs=0.6)
    lengths_s = [piece.length_s for piece in pieces]
    assert lengths_s == pytest.approx([len(sentence) / RATE] * 3, abs=0.9)


@pytest.mark.parametrize("block_s", [60.0, 7.0])
def test_pieces_of_speech_have_the_samples_of_their_time(talk: np.ndarray, block_s: float) -> None:
    for piece in find_speech(blocks_of(talk, block_s)):
        at = round(piece.start_s * RATE)
        assert np.array_equal(piece.samples, talk[at : at + len(piece.samples)])


@pytest.mark.parametrize("kind", ["silence", "noise", "tone", "chord"])
def test_other_sounds_are_no_speech(kind: str) -> None:
    times = np.arange(20 * RATE) / RATE
    sounds = {
        "silence": seconds(20),
        "noise": np.random.default_rng(0).normal(0, 0.2, len(times)),
        "tone": 0.5 * np.sin(2 * np.pi * 440 * times),
        "chord": sum(0.2 * np.sin(2 * np.pi * f * times) * (times % 0.5 < 0.4) for f in (220, 277, 330)),
    }
    assert list(find_speech(blocks_of(np.asarray(sounds[kind], np.float32), 8))) == []


def test_silence_is_not_given_to_the_detector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faster_whisper.vad", None)
    assert list(find_speech(seconds(30) for _ in range(120))) == []


@pytest.fixture(scope="module")
def endless(sentence: np.ndarray) -> np.ndarray:
    """Speech without a pause."""
    return np.tile(sentence[RATE // 4 : -RATE // 4], 20)


def test_speech_without_a_pause_is_cut_to_windows(endless: np.ndarray) -> None:
    pieces = list(find_speech(blocks_of(endless, 20)))
    assert max(piece.length_s for piece in pieces) <= WINDOW_S
    assert all(b.start_s >= a.start_s + a.length_s - 1e-6 for a, b in pairwise(pieces))


def test_speech_without_a_pause_is_not_lost(endless: np.ndarray) -> None:
    pieces = find_speech(blocks_of(endless, 20))
    assert sum(piece.length_s for piece in pieces) > 0.9 * len(endless) / RATE


def test_pieces_are_packed_into_windows_of_half_a_minute() -> None:
    spans = ((0, 12), (20, 12), (40, 12), (60, 29))
    windows = list(pack_windows(SpeechPiece(start_s, seconds(length_s)) for start_s, length_s in spans))
    assert [len(window.pieces) for window in windows] == [2, 1, 1]
    assert [len(window.samples) / RATE for window in windows] == [24, 12, 29]


@pytest.fixture(scope="module")
def window() -> Window:
    """Four seconds from 10 s on, and three from 100 s on."""
    return Window((SpeechPiece(10, seconds(4)), SpeechPiece(100, seconds(3))))


@pytest.mark.parametrize(
    ("in_window", "in_source"),
    [
        ((1, 2), (11, 12)),
        ((3.5, 4), (13.5, 14)),
        ((3.8, 4.6), (100, 100.6)),  # begins before the border by Whisper's clock
        ((3.3, 4.1), (13.3, 14)),
        ((3.66, 4.24), (100, 100.24)),  # begins where the word before it ends: the pause is in between
        ((2.75, 4.03), (12.75, 14)),
        ((4, 4.2), (100, 100.2)),
        ((6.5, 9), (102.5, 103)),  # Whisper's window goes on with silence
        ((8, 9), (103, 103)),
    ],
)
def test_word_lies_in_the_piece_that_has_most_of_it(
    window: Window, in_window: Interval, in_source: Interval
) -> None:
    assert window.word_in_source(*in_window) == pytest.approx(in_source)


@pytest.mark.parametrize(
    ("time_s", "is_end", "in_source_s"),
    [
        (0, False, 10),
        (3.5, False, 13.5),
        (4.0, False, 100),
        (4.0, True, 14),
        (6.0, False, 102),
        (30.0, True, 103),  # Whisper may count beyond the sound
    ],
)
def test_time_of_a_window_is_found_in_the_source(
    window: Window, time_s: float, is_end: bool, in_source_s: float
) -> None:
    assert window.time_in_source(time_s, is_end=is_end) == in_source_s


def test_rest_of_a_window_is_the_pieces_after_a_time() -> None:
    window = Window(tuple(SpeechPiece(start_s, seconds(2)) for start_s in (0.0, 5.0, 9.0)))
    rest = window.after(5.0, 4.0)
    assert rest is not None
    assert [piece.start_s for piece in rest.pieces] == [5.0, 9.0]
    assert window.after(5.1, 2.5) is None
    assert window.after(11.0, 0.1) is None
