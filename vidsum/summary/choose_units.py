"""Choose the units of a film, windows of its shots or speech, that maximise the objective."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from vidsum.summary.constraints import VideoFrames, cut_edges
from vidsum.summary.film import WORTHLESS, Film, mean_in, objective_of
from vidsum.summary.optimise import Blocked, maximise
from vidsum.summary.units import SPOKEN, Unit, WindowFinder, ends_of, window_cells, window_units
from vidsum.types import BoolArray, IntArray

_NO_RUNS: Final = np.zeros((0, 2), np.int64)
_BLOCK: Final = 1000  # units that are compared with others at once: this bounds the memory


@dataclass(frozen=True)
class WindowLimits:
    """How long windows are, and how far apart in a shot, in frames."""

    shortest: int
    longest: int
    apart: int


def choose_units(
    film: Film, limits: WindowLimits, speech: Mapping[Unit, float], is_said: BoolArray
) -> BoolArray:
    """Return [F] which frames are in.

    Args:
        speech: units with how certain they are, in [0, 1].
        is_said: [F] frames of speech. Windows lie elsewhere, if there are units of speech, and there are none
            where half of the video is speech.
    """
    video, room = film.video, film.room
    units = {
        unit: certain
        for unit, certain in speech.items()
        if 0 < _new_frames(unit, video) <= room
        and unit.size >= limits.shortest
        and not video.dropped[unit.start : unit.end].any()
    }
    silent = _without(video, is_said & ~video.required) if units else video
    if not units or 2 * is_said.sum() < video.n_left:
        units |= dict.fromkeys(_windows(film, silent, limits, is_needed=not units), 0.0)
    chosen, listed = video.required.copy(), list(units)
    if listed:
        sizes = np.array([_new_frames(unit, video) for unit in listed], np.int64)
        numbers = maximise(objective_of(film, units), sizes, room, exclusion(listed, limits))
        for unit in _lengthen(film, silent, [listed[number] for number in numbers], limits):
            chosen[unit.start : unit.end] = True
    return chosen


def _without(video: VideoFrames, is_out: BoolArray) -> VideoFrames:
    """Return a video without some frames, at which its shots are cut."""
    dropped = video.dropped | is_out
    return replace(video, edges=cut_edges(video.edges, video.required, dropped), dropped=dropped)


def _windows(film: Film, video: VideoFrames, limits: WindowLimits, *, is_needed: bool) -> list[Unit]:
    """Return the windows of a video that are worth something; others where none is and one `is_needed`."""
    anywhere, windows = np.arange(len(film.worth)), list[Unit]()
    # where speech or fades leave no place to cut, or no shot is long enough, something is taken all the same
    choices = (film.places, limits.shortest), (anywhere, limits.shortest), (anywhere, 1)
    for places, shortest in choices if is_needed else choices[:1]:
        windows = windows or window_units(video, WindowFinder(film.worth, places, shortest), limits.longest)
    scores = mean_in(film.worth, windows)
    least = WORTHLESS * scores.max(initial=0)
    return [unit for unit, score in zip(windows, scores, strict=True) if score >= least]


def exclusion(units: Sequence[Unit], limits: WindowLimits) -> Blocked:
    """Return a function that says which units may not join others.

    Units exclude each other that overlap; windows that are not far enough apart, lest the picture jump, but
    may touch at a cut; and windows that touch and are too long together.
    """
    starts, ends = ends_of(units)
    cells = np.array([unit.cell for unit in units])

    def blocked(chosen: Sequence[int], others: IntArray) -> BoolArray:
        blocks = (others[first : first + _BLOCK] for first in range(0, len(others), _BLOCK))
        return np.concatenate([np.zeros(0, np.bool_), *(compare(chosen, block) for block in blocks)])

    def compare(chosen: Sequence[int], others: IntArray) -> BoolArray:
        first, last, cell = (array[others][:, None] for array in (starts, ends, cells))
        start, end, place = (array[[*chosen]] for array in (starts, ends, cells))
        are_windows, touch = (cell != SPOKEN) & (place != SPOKEN), (first == end) | (last == start)
        across = np.where(touch, 0, limits.apart // 4)
        apart = are_windows * np.where(cell == place, limits.apart, across)
        is_out = ((first < end + apart) & (last > start - apart)).any(axis=1)
        runs = (
            _runs(start[place != SPOKEN], end[place != SPOKEN]) if (touch & are_windows).any() else _NO_RUNS
        )
        touching = ((first == runs[:, 1]) | (last == runs[:, 0])) @ (runs[:, 1] - runs[:, 0])
        is_long = (touching > 0) & (touching + (last - first)[:, 0] > limits.longest)
        return np.asarray(is_out | (is_long & (cell[:, 0] != SPOKEN)))

    return blocked


def _runs(starts: IntArray, ends: IntArray) -> IntArray:
    """Return [R, 2] the frames [start, end) of parts, those that touch as one."""
    starts, ends = np.sort(starts), np.sort(ends)
    is_apart = starts[1:] > ends[:-1]
    return np.stack([starts[np.append(True, is_apart)], ends[np.append(is_apart, True)]], axis=1)


def _lengthen(film: Film, video: VideoFrames, chosen: Sequence[Unit], limits: WindowLimits) -> list[Unit]:
    """Return chosen units, of which windows are longer where the budget has room left, the best first."""
    units = [*chosen]
    room = film.room - sum(_new_frames(unit, video) for unit in units)
    cells, windows = (
        window_cells(video, limits.shortest),
        WindowFinder(film.worth, film.places, limits.shortest),
    )
    for number in np.argsort(-mean_in(film.worth, units), kind="stable").tolist():
        unit = units[number]
        size = min(unit.size + room, limits.longest)
        if unit.cell not in cells or size <= unit.size:
            continue
        low, high = cells[unit.cell]
        span = max(low, unit.end - size), min(high, unit.start + size)
        longer = windows.best(unit.cell, span, size)
        others = [*units[:number], *units[number + 1 :]]
        if longer and longer.size > unit.size:
            blocked = exclusion([*others, longer], limits)
            if not blocked(range(len(others)), np.array([len(others)]))[0]:
                room -= longer.size - unit.size
                units[number] = longer
    return units


def _new_frames(unit: Unit, video: VideoFrames) -> int:
    """Return the frames of a unit that are not in anyway."""
    return int((~video.required[unit.start : unit.end]).sum())
