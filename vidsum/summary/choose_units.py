"""Choose the units of a film, windows of its shots or speech, that maximise the objective."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from vidsum.summary.constraints import VideoFrames, cut_edges
from vidsum.summary.demands import meet_demands
from vidsum.summary.film import Film, demands_of, mean_in, objective_of
from vidsum.summary.optimise import Excluded, maximise
from vidsum.summary.units import (
    SPOKEN,
    WORTHLESS,
    Unit,
    ends_of,
    shot_windows,
)
from vidsum.summary.window_kinds import WindowKind, window_kinds
from vidsum.types import BoolArray, IntArray, TimeArray

_MOSTLY: Final = 0.5  # of a window must be worth something: the end of an event, then nothing, is not taken
_FEW: Final = 50  # units of speech, of which a handful fits: greedy depends on the first


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
    kinds = window_kinds(film, silent, limits.shortest, limits.longest)
    if not units or 2 * is_said.sum() < video.n_left:
        units |= dict.fromkeys(_windows(film, silent, kinds, is_needed=not units), 0.0)
    chosen, listed = video.required.copy(), list(units)
    if listed:
        sizes = np.array([_new_frames(unit, video) for unit in listed], np.int64)
        objective, excluded = objective_of(film, units), exclusion(listed, limits)
        are_few = len(listed) <= _FEW and all(unit.cell == SPOKEN for unit in listed)
        numbers = maximise(objective, sizes, room, excluded, range(len(listed)) if are_few else ())
        numbers = meet_demands(objective, demands_of(film, listed), sizes, room, excluded, numbers)
        for unit in _lengthen(film, silent, [listed[number] for number in numbers], limits, kinds):
            chosen[unit.start : unit.end] = True
    return chosen


def _without(video: VideoFrames, is_out: BoolArray) -> VideoFrames:
    """Return a video without some frames, at which its shots are cut."""
    dropped = video.dropped | is_out
    return replace(video, edges=cut_edges(video.edges, video.required, dropped), dropped=dropped)


def _windows(film: Film, video: VideoFrames, kinds: Sequence[WindowKind], *, is_needed: bool) -> list[Unit]:
    """Return the windows of a video that are worth something; others where none is and one `is_needed`."""
    windows = [unit for kind in kinds for unit in kind.units]
    # where speech or fades leave no place to cut, or no shot is long enough, something is taken all the same
    last, anywhere = kinds[-1], np.arange(len(film.worth))
    for shortest in (last.finder.shortest, 1) if is_needed else ():
        finder = replace(last.finder, places=anywhere, shortest=shortest)
        windows = windows or shot_windows(video, finder, last.longest)
    shares = mean_in(_worthy_sums(film, windows), windows)
    least = min(_MOSTLY, shares.max(initial=0))
    return [unit for unit, share in zip(windows, shares, strict=True) if share >= least]


def _worthy_sums(film: Film, units: Sequence[Unit]) -> TimeArray:
    """Return [F + 1] how many frames before each are worth something, next to the best unit."""
    is_worthy = np.diff(film.worth) >= WORTHLESS * mean_in(film.worth, units).max(initial=0)
    return np.concatenate([[0.0], np.cumsum(is_worthy)])


def exclusion(units: Sequence[Unit], limits: WindowLimits) -> Excluded:
    """Return a function that says which units exclude each other.

    Units exclude each other that overlap; windows that are not far enough apart, lest the picture jump, but
    may touch at a cut; and windows that touch and are too long together.
    """
    starts, ends = ends_of(units)
    are_windows = np.array([unit.cell != SPOKEN for unit in units], np.bool_)
    first, second = _near_pairs(units, limits.apart)
    are_rivals, touch = _relations(units, first, second, limits)
    rivals = _neighbours(len(units), first[are_rivals], second[are_rivals])
    touching = _neighbours(len(units), first[touch], second[touch])

    def excluded(chosen: Sequence[int], unit: int) -> IntArray:
        alone = np.append(rivals[unit], unit)
        if not len(touching[unit]) or set(touching[unit].tolist()).isdisjoint(chosen):
            return alone
        windows = [number for number in (*chosen, unit) if are_windows[number]]
        begins, stops = _runs(starts[windows], ends[windows]).T
        others = np.concatenate([touching[number] for number in windows])
        before = (starts[others][:, None] == stops) @ (stops - begins)
        after = (ends[others][:, None] == begins) @ (stops - begins)
        return np.append(alone, others[before + (ends - starts)[others] + after > limits.longest])

    return excluded


def _near_pairs(units: Sequence[Unit], apart: int) -> tuple[IntArray, IntArray]:
    """Return [P] and [P] the pairs of units that overlap, touch or are not `apart`, the earlier one first."""
    starts, ends = ends_of(units)
    order = np.argsort(starts, kind="stable")
    stops = np.searchsorted(starts[order], ends[order] + apart, side="right")
    counts = stops - np.arange(1, len(units) + 1)
    first = np.repeat(np.arange(len(units)), counts)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
    return order[first], order[second]


def _relations(
    units: Sequence[Unit], first: IntArray, second: IntArray, limits: WindowLimits
) -> tuple[BoolArray, BoolArray]:
    """Return [P] which pairs of units exclude each other, and [P] which others are windows that touch."""
    starts, ends = ends_of(units)
    cells = np.array([unit.cell for unit in units], np.int64)
    are_windows = (cells[first] != SPOKEN) & (cells[second] != SPOKEN)
    space, length = starts[second] - ends[first], ends[second] - starts[first]
    apart = np.where(cells[first] == cells[second], limits.apart, np.where(space, limits.apart // 4, 0))
    touch = are_windows & (space == 0)
    are_rivals = (space < apart * are_windows) | (touch & (length > limits.longest))
    return are_rivals, touch & ~are_rivals


def _neighbours(count: int, first: IntArray, second: IntArray) -> list[IntArray]:
    """Return the other members of the pairs of each unit."""
    both, others = np.append(first, second), np.append(second, first)
    order = np.argsort(both, kind="stable")
    return np.split(others[order], np.searchsorted(both[order], np.arange(1, count)))


def _runs(starts: IntArray, ends: IntArray) -> IntArray:
    """Return [R, 2] the frames [start, end) of parts, those that touch as one."""
    starts, ends = np.sort(starts), np.sort(ends)
    is_apart = starts[1:] > ends[:-1]
    return np.stack([starts[np.append(True, is_apart)], ends[np.append(is_apart, True)]], axis=1)


def _lengthen(
    film: Film, video: VideoFrames, chosen: Sequence[Unit], limits: WindowLimits, kinds: Sequence[WindowKind]
) -> list[Unit]:
    """Return chosen units, of which windows are longer where the budget has room left, the best first."""
    units = [*chosen]
    room = film.room - sum(_new_frames(unit, video) for unit in units)
    worthy = _worthy_sums(film, units)
    for number in np.argsort(-mean_in(film.worth, units), kind="stable").tolist():
        unit, others = units[number], [*units[:number], *units[number + 1 :]]
        kind = next((kind for kind in kinds if kind.has(unit)), kinds[-1])
        longer = kind.longer(unit, unit.size + room)
        if longer is None or mean_in(worthy, [longer])[0] < _MOSTLY:
            continue
        if not _is_excluded(longer, others, limits):
            room -= longer.size - unit.size
            units[number] = longer
    return units


def _is_excluded(unit: Unit, others: Sequence[Unit], limits: WindowLimits) -> bool:
    """Return whether a unit may not join others."""
    reach = limits.longest + limits.apart
    near = [other for other in others if other.start < unit.end + reach and other.end > unit.start - reach]
    excluded, number = exclusion([*near, unit], limits), len(near)
    return any(number in excluded(range(place), place) for place in range(number))


def _new_frames(unit: Unit, video: VideoFrames) -> int:
    """Return the frames of a unit that are not in anyway."""
    return int((~video.required[unit.start : unit.end]).sum())
