"""Find the parts of a sound that are worth keeping: those louder than a threshold, or those with a voice."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from vidsum.speech.voice import RATE, find_speech
from vidsum.types import FloatArray, Interval, join_near

HOP_S = 0.01  # of the levels
MIN_CUT_S = 0.2  # a shorter cut would be a jump in the picture for nothing
MIN_PART_S = 0.1  # a shorter part between two cuts would be a flash
VOICE_LATE_S = 0.1  # by which the detector misses the edges of voices
SILENT_DB = -60.0  # a film in which nothing is louder is silent
_ROUNDING_S = 1e-4
_LOWEST_DB = -120.0
_LOUD, _QUIET = 95, 5  # percentiles of the levels that stand for the voice and for its pauses
_QUIET_S = 0.3  # pauses are at least this long
_ABOVE_NOISE_DB = 8.0  # the threshold over the level of the pauses
_BELOW_VOICE_DB = (30.0, 16.0)  # the threshold under the voice: at most, at least (ITU-T P.56 has 15.9)


@dataclass(frozen=True, eq=False)
class Levels:
    """Levels [T] of a sound in dB of full scale, one every `HOP_S`, from 0 s on."""

    db: FloatArray

    def quietest(self, start_s: float, end_s: float) -> float:
        """Return the time of the lowest level in [start_s, end_s); its middle where there is none."""
        first, end = round(start_s / HOP_S), round(end_s / HOP_S)
        part = self.db[max(first, 0) : max(end, 0)]
        return (max(first, 0) + int(part.argmin()) + 0.5) * HOP_S if len(part) else (start_s + end_s) / 2

    def silence_around(self, span: Interval, threshold_db: float) -> Interval:
        """Return the silence that a span lies in or between: from the sound before it to that after it."""
        is_loud = self.db >= threshold_db
        first, end = round(span[0] / HOP_S), round(span[1] / HOP_S)
        before, after = np.flatnonzero(is_loud[: max(first, 0)]), np.flatnonzero(is_loud[end:])
        start_s = (int(before[-1]) + 1) * HOP_S if len(before) else 0.0
        end_s = (end + int(after[0])) * HOP_S if len(after) else len(self.db) * HOP_S
        return min(start_s, span[0]), max(end_s, span[1])


class LevelMeter:
    """Measures the levels of a sound while others read it."""

    def __init__(self) -> None:
        self._powers = [np.zeros(0, np.float32)]

    def measure(self, blocks: Iterable[FloatArray]) -> Iterator[FloatArray]:
        """Yield the blocks [N] at `RATE` of a sound, whole tens of milliseconds, after measuring each."""
        hop = round(HOP_S * RATE)
        for block in blocks:
            self._powers.append(np.square(block).reshape(-1, hop).mean(axis=1))
            yield block

    @property
    def levels(self) -> Levels:
        """The levels of what was read."""
        power = np.maximum(np.concatenate(self._powers), 10 ** (_LOWEST_DB / 10))
        return Levels((10 * np.log10(power)).astype(np.float32))


def choose_threshold(levels: Levels) -> float | None:
    """Choose the level in dB below which a film is silent, from its voice and its pauses; None if all is."""
    loud = levels.db[levels.db > SILENT_DB]
    if not len(loud):
        return None
    voice_db = float(np.percentile(loud, _LOUD))
    size = round(_QUIET_S / HOP_S)
    chunks = levels.db[: max(len(levels.db) // size, 1) * size]
    means = np.array([part.mean() for part in np.array_split(chunks, max(len(chunks) // size, 1))])
    means = means[means > _LOWEST_DB + 1]  # without what is no recording
    noise_db = float(np.percentile(means, _QUIET)) if len(means) else _LOWEST_DB
    low_db, high_db = (voice_db - below for below in _BELOW_VOICE_DB)
    return round(min(max(noise_db + _ABOVE_NOISE_DB, low_db), high_db), 1)


def loud_spans(levels: Levels, threshold_db: float) -> list[Interval]:
    """Return the parts that are as loud as a threshold, in order of time."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], levels.db >= threshold_db, [False]])))
    return [(first * HOP_S, end * HOP_S) for first, end in edges.reshape(-1, 2).tolist()]


def voice_spans(blocks: Iterable[FloatArray], min_pause_s: float) -> Iterator[Interval]:
    """Yield the parts in which somebody speaks, by Silero's detector, across pauses of less than a length."""
    for piece in find_speech(blocks, min_pause_s, pad_s=0.0):
        yield max(piece.start_s - VOICE_LATE_S, 0.0), piece.start_s + piece.length_s + VOICE_LATE_S


def keep_sound(
    sounds: Iterable[Interval],
    duration_s: float,
    min_pause_s: float,
    min_sound_s: float,
    margins_s: tuple[float, float],
) -> list[Interval]:
    """Return what to keep of a film: its sounds with margins before and after them.

    Pauses of less than `min_pause_s` stay, sounds of less than `min_sound_s` between longer pauses go.
    """
    runs = [(low, high) for low, high in join_near(sounds, min_pause_s) if high - low >= min_sound_s]
    before_s, after_s = margins_s
    parts = [(max(low - before_s, 0.0), min(high + after_s, duration_s)) for low, high in runs]
    if parts and runs[0][0] < min_pause_s:
        parts[0] = 0.0, parts[0][1]
    if parts and duration_s - runs[-1][1] < min_pause_s:
        parts[-1] = parts[-1][0], duration_s
    return [(low, high) for low, high in join_near(parts) if low < high]


def without_short_cuts(
    parts: Sequence[Interval], duration_s: float, words: Sequence[Interval] = ()
) -> list[Interval]:
    """Return what to keep of a film without cuts of less than `MIN_CUT_S`, unless they remove `words`."""
    gaps = [
        (low, high)
        for low, high in gaps_of(join_near(parts), duration_s)
        if high - low > MIN_CUT_S - _ROUNDING_S or any(low <= sum(word) / 2 < high for word in words)
    ]
    return gaps_of(gaps, duration_s)


def subtract(parts: Sequence[Interval], cuts: Sequence[Interval], min_s: float = 0.0) -> list[Interval]:
    """Return the parts of spans outside cuts that are at least `min_s` long; all are in order of time."""
    rest = list[Interval]()
    for low, high in parts:
        inside = [(max(start, low), min(end, high)) for start, end in cuts if start < high and end > low]
        edges = [low, *(edge for cut in inside for edge in cut), high]
        rest += [(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True) if start < end]
    return [(start, end) for start, end in rest if end - start >= min_s]


def gaps_of(parts: Sequence[Interval], duration_s: float) -> list[Interval]:
    """Return what lies between the spans, before the first and after the last."""
    edges = [(0.0, 0.0), *parts, (duration_s, duration_s)]
    return [(before[1], after[0]) for before, after in pairwise(edges) if after[0] > before[1]]
