"""Find speech by Silero's voice-activity detection (of faster-whisper), and pack it into windows."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from vidsum.io.packages import load_onnxruntime
from vidsum.types import FloatArray

RATE = 16_000
WINDOW_S = 30.0  # length of the sound that Whisper takes at once
_MAX_PIECE_S = 28.0  # longer speech is cut at a pause
_MIN_PAUSE_S = 0.5  # a shorter pause does not end a piece
_PAD_S = 0.2  # sound that is kept on either side of a piece
_EARLY_S = 0.1  # how far ahead of its piece the middle of a word may be


@dataclass(frozen=True, eq=False)
class SpeechPiece:
    """A piece of sound in which somebody speaks."""

    start_s: float
    samples: FloatArray  # [N] at RATE

    @property
    def length_s(self) -> float:
        return len(self.samples) / RATE


def find_speech(
    blocks: Iterable[FloatArray], min_pause_s: float = _MIN_PAUSE_S, pad_s: float = _PAD_S
) -> Iterator[SpeechPiece]:
    """Yield the pieces of speech of sound in blocks [N] at RATE, in time order, across blocks.

    A shorter pause than `min_pause_s` does not end a piece; `pad_s` of sound are kept on either side.
    """
    rest, at = np.zeros(0, np.float32), 0
    for block in blocks:
        samples = np.concatenate([rest, block])
        spans = _detect(samples, min_pause_s, pad_s)
        end = len(samples)
        if spans and end - spans[-1][1] < min_pause_s * RATE and (end - spans[-1][0]) < _MAX_PIECE_S * RATE:
            end = spans.pop()[0]
        else:  # the start of a word may lie here
            end = max(end - round(_PAD_S * RATE), spans[-1][1] if spans else 0)
        yield from (SpeechPiece((at + low) / RATE, samples[low:high]) for low, high in spans)
        rest, at = samples[end:].copy(), at + end
    yield from (
        SpeechPiece((at + low) / RATE, rest[low:high]) for low, high in _detect(rest, min_pause_s, pad_s)
    )


def _detect(samples: FloatArray, min_pause_s: float, pad_s: float) -> list[tuple[int, int]]:
    """Return [low, high) of each piece of speech in samples [N]."""
    if not samples.any():  # hours of it may lie between two recordings
        return []
    load_onnxruntime()  # before faster-whisper does
    from faster_whisper.vad import VadOptions, get_speech_timestamps

    options = VadOptions(
        max_speech_duration_s=_MAX_PIECE_S,
        min_silence_duration_ms=round(min_pause_s * 1000),
        speech_pad_ms=round(pad_s * 1000),
    )
    return [(span["start"], span["end"]) for span in get_speech_timestamps(samples, options)]


@dataclass(frozen=True, eq=False)
class Window:
    """Consecutive pieces of speech, at most `WINDOW_S` long."""

    pieces: tuple[SpeechPiece, ...]

    @property
    def samples(self) -> FloatArray:
        return np.concatenate([piece.samples for piece in self.pieces])

    @property
    def end_s(self) -> float:
        """Its end in the source."""
        return self.pieces[-1].start_s + self.pieces[-1].length_s

    def after(self, time_s: float, min_s: float) -> "Window | None":
        """Return the pieces that begin after a time in the source; None if they are shorter than `min_s`."""
        rest = tuple(piece for piece in self.pieces if piece.start_s >= time_s)
        return Window(rest) if sum(piece.length_s for piece in rest) >= min_s else None

    def word_in_source(self, start_s: float, end_s: float) -> tuple[float, float]:
        """Start and end in the source of a word, which lies in the piece of its middle, or just ahead of it.

        To Whisper the first word after a pause begins with the last of the silence before it.
        """
        begins = np.cumsum([0.0, *(piece.length_s for piece in self.pieces)])
        middle = (start_s + end_s) / 2 + _EARLY_S
        number = min(int(np.searchsorted(begins[1:], middle, side="right")), len(self.pieces) - 1)
        low, high = begins[number], begins[number + 1]
        shift = self.pieces[number].start_s - low
        start, end = (float(np.clip(time_s, low, high) + shift) for time_s in (start_s, end_s))
        return start, end

    def time_in_source(self, time_s: float, *, is_end: bool = False) -> float:
        """Return seconds in the source; at a border, an end is of the piece before, a start of the next."""
        begins = np.cumsum([0.0, *(piece.length_s for piece in self.pieces[:-1])])
        number = int(np.searchsorted(begins, time_s, side="left" if is_end else "right")) - 1
        number = min(max(number, 0), len(self.pieces) - 1)
        piece = self.pieces[number]
        return piece.start_s + min(max(time_s - float(begins[number]), 0.0), piece.length_s)


def pack_windows(pieces: Iterable[SpeechPiece]) -> Iterator[Window]:
    """Pack pieces of speech into windows."""
    packed: list[SpeechPiece] = []
    for piece in pieces:
        if packed and sum(previous.length_s for previous in packed) + piece.length_s > WINDOW_S:
            yield Window(tuple(packed))
            packed = []
        packed.append(piece)
    if packed:
        yield Window(tuple(packed))
