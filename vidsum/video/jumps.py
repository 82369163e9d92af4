"""Repair time stamps that start again or leap ahead.

On the steady time line a part that starts again follows the one before it, and a gap is left out
(docs/video.md). A file without either keeps its time stamps to the bit.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from vidsum.types import IntArray, TimeArray

MAX_FRAME_S = 3600.0  # that a frame stays; longer without picture and sound is a gap
MIN_GAP_S = 600.0  # minimum length of a gap that is much longer than the time between frames
MIN_CLOCK_GAP_S = 10.0  # minimum where time stamps come from a clock (MPEG-TS, MPEG-PS), as in FFmpeg
_MIN_GAP_STEPS = 100  # minimum length of a gap, in times between frames
BACK_S = 1.0  # decode times never run back: where they do by more than this, they start again
_MAX_STRAY_FRAMES = 8  # maximum number of frames in a row with wrong time stamps, because of damage


@dataclass(frozen=True, eq=False)
class Stamps:
    """The time stamps of one stream's packets in the order they are stored, in seconds; NaN where none."""

    dts_s: TimeArray  # [N] when each is decoded
    pts_s: TimeArray  # [N] when each is shown
    length_s: TimeArray  # [N] how long each lasts; 0 where the file does not say

    @cached_property
    def times_s(self) -> TimeArray:
        """[N] when each is shown, else decoded, else as the one before it; NaN where nothing is known."""
        times_s = np.where(np.isnan(self.pts_s), self.dts_s, self.pts_s)
        known = np.flatnonzero(~np.isnan(times_s))
        if not len(known):
            return times_s
        n_known = np.searchsorted(known, np.arange(len(times_s)), side="right")
        return times_s[known[np.maximum(n_known - 1, 0)]]

    def take(self, numbers: IntArray) -> "Stamps":
        """Return the time stamps of some packets."""
        return Stamps(self.dts_s[numbers], self.pts_s[numbers], self.length_s[numbers])


@dataclass(frozen=True)
class TimeShift:
    """Shift by `shift_s` of time stamps of `from_s` or later, from packet number `packet` on."""

    packet: int
    from_s: float
    shift_s: float


@dataclass(frozen=True)
class Jumps:
    """Jumps of the time stamps of a file; none in a well-behaved one."""

    restarts_s: tuple[float, ...] = ()  # when each part is shown whose time stamps start again
    gaps: tuple[tuple[float, float], ...] = ()  # when the first picture after each is shown, and its length
    pictures: tuple[TimeShift, ...] = ()  # shifts of the video's packets, by (`packet`, `from_s`)
    sound: tuple[TimeShift, ...] = ()  # the shifts of the packets of the first sound stream
    untimed: int = 0  # pictures without a time stamp among others; a step after another
    lead_s: float = 0.0  # how long those last that come before all others
    step_s: float = 0.0

    def __bool__(self) -> bool:
        return bool(self.restarts_s or self.gaps or self.untimed)

    def describe(self) -> tuple[str, ...]:
        """Return warnings on the jumps."""
        lines = []
        if self.untimed:
            lines.append(f"{self.untimed} pictures have no time stamps: placed at the usual rate")
        if count := len(self.restarts_s):
            times = {1: "once", 2: "twice"}.get(count, f"{count} times")
            where = _list_first([f"{time_s:.2f} s" for time_s in self.restarts_s])
            lines.append(f"time stamps start again {times}, at {where}; what follows is joined on")
        if self.gaps:
            where = _list_first([f"{length_s:.0f} s at {at_s:.2f} s" for at_s, length_s in self.gaps])
            lines.append(f"without pictures or sound for {where}; left out of the time line")
        return tuple(lines)


class PacketShifter:
    """Shifter of the packets of one stream, which must come in stored order, from the first on."""

    def __init__(self, pieces: tuple[TimeShift, ...]) -> None:
        self._pieces = pieces
        self._keys = [(piece.packet, piece.from_s) for piece in pieces]
        self._number = -1

    def shift(self, packet: Any) -> None:
        """Put a packet's time stamps on the steady time line; an empty packet is left as it is."""
        if not self._pieces or not packet.size:
            return
        self._number += 1
        for name in ("pts", "dts"):
            ticks = getattr(packet, name)
            if ticks is not None:
                shift_s = self._shift_s(float(ticks * packet.time_base))
                setattr(packet, name, ticks + round(shift_s / packet.time_base))

    def _shift_s(self, time_s: float) -> float:
        part = self._pieces[bisect_right(self._keys, (self._number, float("inf"))) - 1].packet
        return self._pieces[bisect_right(self._keys, (part, time_s)) - 1].shift_s


def renumber(pieces: tuple[TimeShift, ...], numbers: IntArray) -> tuple[TimeShift, ...]:
    """Return shifts of the packets `numbers` as shifts of all; those before belong to the first part."""
    return tuple(replace(piece, packet=int(numbers[piece.packet]) if piece.packet else 0) for piece in pieces)


def shift_times(times_s: TimeArray, pieces: tuple[TimeShift, ...]) -> TimeArray:
    """Return [N] time stamps of all packets of a stream, in the order stored, on the steady time line."""
    result = times_s.copy()
    by_part = _group_by_part(pieces)
    for start, end in pairwise([*by_part, len(times_s)]):
        edges = [piece.from_s for piece in by_part[start]]
        shifts = np.array([piece.shift_s for piece in by_part[start]])
        part = times_s[start:end]
        result[start:end] = part + shifts[np.searchsorted(edges, part, side="right") - 1]
    return result


def _group_by_part(pieces: Iterable[TimeShift]) -> dict[int, list[TimeShift]]:
    return {packet: list(shifts) for packet, shifts in groupby(pieces, key=lambda piece: piece.packet)}


def find_jumps(
    pictures: Stamps,
    sound: Stamps | None,
    sound_at: IntArray,
    start_s: float,
    step_s: float,
    min_gap_s: float = MAX_FRAME_S,
) -> Jumps:
    """Find where the time stamps of a file jump, and how to repair that.

    Args:
        pictures: the video's packets.
        sound: the packets of the first stream of sound; None where it has none, or no time stamps.
        sound_at: [N] number of the picture packet that is stored next after each packet of sound.
        start_s: the first picture's time stamp on the steady time line.
        step_s: time from a frame to the next, where the frames do not show it.
        min_gap_s: see MIN_GAP_S.
    """
    times_s = pictures.times_s
    if not len(times_s) or np.isnan(times_s[0]):
        return Jumps()
    parts = _split_at_restarts(pictures.dts_s, len(times_s))
    steps = np.concatenate([np.diff(np.sort(times_s[first:last])) for first, last in parts])
    steps = steps[(steps > 0) & (steps <= MAX_FRAME_S)]
    step_s = float(np.median(steps)) if len(steps) else step_s
    limit_s = min(MAX_FRAME_S, max(min_gap_s, _MIN_GAP_STEPS * step_s))

    pieces: list[TimeShift] = []
    restarts: list[float] = []
    gaps: list[tuple[float, float]] = []
    end_s = start_s
    for number, (first, last) in enumerate(parts):
        order = np.argsort(times_s[first:last], kind="stable")
        part_s, lengths_s = times_s[first:last][order], pictures.length_s[first:last][order]
        lengths_s = np.where(lengths_s <= MAX_FRAME_S, lengths_s, 0.0)
        # the sound that is stored among the pictures [first, last), or just behind them
        low, high = np.searchsorted(sound_at, first), np.searchsorted(sound_at, last, side="right")
        sound_s = sound.times_s[low:high] if sound else np.empty(0)
        shift_s = end_s - float(part_s[0]) if first or len(parts) > 1 else 0.0
        if first:
            restarts.append(end_s - start_s)
        pieces.append(TimeShift(first, -np.inf, shift_s))
        previous_s = float(times_s[parts[number - 1][0] : first].max()) if number else None
        following_s = float(times_s[last]) if last < len(times_s) else None
        for before, after in _find_gaps(
            part_s, part_s + lengths_s, sound_s, limit_s, previous_s, following_s
        ):
            shift_s -= after - before - step_s
            pieces.append(TimeShift(first, (before + after) / 2, shift_s))
            gaps.append((after + shift_s - start_s, after - before))
        end_s = float(part_s[-1]) + shift_s + (float(lengths_s[-1]) or step_s)
    if not restarts and not gaps:
        return Jumps()
    of_sound = _shift_sound(sound, sound_at, parts, times_s, pieces) if sound else ()
    return Jumps(tuple(restarts), tuple(gaps), tuple(pieces), of_sound)


def _split_at_restarts(dts_s: TimeArray, n_packets: int) -> list[tuple[int, int]]:
    """Return [first packet, end) of each part within which decode times do not start again."""
    known = np.flatnonzero(~np.isnan(dts_s))
    starts = known[1:][np.diff(dts_s[known]) < -BACK_S].tolist()
    return list(pairwise([0, *starts, n_packets]))


def _find_gaps(
    times_s: TimeArray,
    ends_s: TimeArray,
    sound_s: TimeArray,
    limit_s: float,
    previous_s: float | None,
    following_s: float | None,
) -> list[tuple[float, float]]:
    """Find the gaps in the sorted `times_s` that neither sound nor a frame, which lasts to its end, fills.

    The hole that a few wrong time stamps leave, which a restart undoes, is a gap too. `previous_s` is the
    last time stamp of the part before, `following_s` the first of the part after.
    """
    sound_s = sound_s[(sound_s > times_s[0]) & (sound_s < times_s[-1])]
    times = np.sort(np.concatenate([times_s, sound_s]))
    lengths_s, number = np.diff(times), np.arange(1, len(times))
    last_frame = np.searchsorted(times_s, times[:-1], side="right") - 1
    is_gap = times[1:] - np.maximum(times[:-1], ends_s[last_frame]) > limit_s
    if previous_s is not None:
        is_gap |= (number <= _MAX_STRAY_FRAMES) & (np.abs(times[1:] - previous_s) < BACK_S)
    if following_s is not None:
        is_gap |= (number >= len(times) - _MAX_STRAY_FRAMES) & (np.abs(times[:-1] - following_s) < BACK_S)
    at = np.flatnonzero(is_gap & (lengths_s > BACK_S))
    return [(float(times[i]), float(times[i + 1])) for i in at]


def _shift_sound(
    sound: Stamps,
    sound_at: IntArray,
    parts: list[tuple[int, int]],
    times_s: TimeArray,
    pieces: list[TimeShift],
) -> tuple[TimeShift, ...]:
    """Return the shifts of sound: the shifts of the part of the pictures with most time in common.

    Only parts stored near the sound count, and no part before the part of the preceding sound.
    """
    ranges = [(times_s[first:last].min(), times_s[first:last].max()) for first, last in parts]
    starts, by_part = [first for first, _ in parts], _group_by_part(pieces)
    moved_sound: list[TimeShift] = []
    chosen = -1
    for first, last in _split_at_restarts(sound.dts_s, len(sound.dts_s)):
        stored_in = max(bisect_right(starts, sound_at[first]) - 1, 0)
        near = range(max(chosen + 1, stored_in - 1), min(stored_in + 2, len(parts)))
        low, high = sound.times_s[first:last].min(), sound.times_s[first:last].max()
        common = [min(high, ranges[part][1]) - max(low, ranges[part][0]) for part in near]
        chosen = near[int(np.argmax(common))] if common else chosen
        moved_sound += [TimeShift(first, piece.from_s, piece.shift_s) for piece in by_part[starts[chosen]]]
    return tuple(moved_sound)


def _list_first(texts: list[str]) -> str:
    more = f" and {len(texts) - 3} more" if len(texts) > 3 else ""
    return ", ".join(texts[:3]) + more
