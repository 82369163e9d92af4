"""Leave flashes out of the changes of pictures: a cut beside a flash is one change, a flash alone is none."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from vidsum.results.features import Features
from vidsum.types import BoolArray, FloatArray, TimeArray
from vidsum.video.changes import AGO_S
from vidsum.video.frames import TOLERANCE_S

_MAX_FLASH_S = 0.35
_MIN_LEVELS = 20.0  # by which all pictures of a flash are brighter, or darker, than those before and after
_MIN_STEP, _STEP_RATIO = 6.0, 1.5  # change into a flash and out of it, and its ratio to the change next to it
_MIN_APART, _MOTION_RATIO = 12.0, 1.3
"""A cut at a flash: how much the pictures before and after differ, and its ratio to what motion changes."""


def remove_flashes(changes: Features) -> Features:
    """Return changes [N, 11] of pictures without flashes, white or black, of up to a third of a second.

    Where the pictures before a flash differ from those after it, a shot begins behind the flash: the picture
    there gets the difference as its change.
    """
    times, rows = changes.timestamps, changes.array.copy()
    flashes = list(_find_flashes(times, changes.array))
    if not flashes:
        return changes
    is_flash = np.zeros(len(times), dtype=bool)
    for first, end in flashes:
        is_flash[first:end] = True
        rows[first : end + 1, 0] = 0.0
    # a difference from half a second ago is known where neither picture is of a flash
    is_known = ~is_flash & ~is_flash[np.searchsorted(times, times - AGO_S - TOLERANCE_S)]
    rows[:, 2] = rows[np.maximum.accumulate(np.where(is_known, np.arange(len(times)), 0)), 2]
    for first, end in flashes:
        rows[end, 0] = _change_across(times, changes.array[:, 2], is_known, first, end)
    return replace(changes, array=rows)


def _find_flashes(times: TimeArray, array: FloatArray) -> Iterator[tuple[int, int]]:
    """Yield [first picture, end) of each flash, which another picture follows."""
    amounts, levels = array[:, 0], array[:, 5]
    at = 1
    for number in np.flatnonzero(amounts >= _MIN_STEP).tolist():
        if number >= at:
            sign = 1.0 if levels[number] > levels[number - 1] else -1.0
            end = _flash_end(times, amounts, sign * levels, number)
            if end > number:
                yield number, end
                at = end


def _flash_end(times: TimeArray, amounts: FloatArray, levels: FloatArray, first: int) -> int:
    """Return the end of a flash that begins at a picture, by levels that rise in it; `first` if none does."""
    limit = int(np.searchsorted(times, times[first] + _MAX_FLASH_S, side="right"))
    last, lowest = first, levels[first]
    for end in range(first + 1, min(limit, len(times))):
        if lowest - levels[first - 1] < _MIN_LEVELS:
            break
        if lowest - levels[end] >= _MIN_LEVELS and amounts[end] >= _MIN_STEP:
            last = end  # or later, where the flash fades
        lowest = min(lowest, levels[end])
    neighbour = max(amounts[first - 1], amounts[last + 1 : last + 2].sum())
    is_clear = min(amounts[first], amounts[last]) >= _STEP_RATIO * neighbour  # a pan past lights is not
    return last if is_clear else first


def _change_across(times: TimeArray, apart: FloatArray, is_known: BoolArray, first: int, end: int) -> float:
    """Return how much pictures before and after a flash differ; 0 where motion alone does as much."""

    def median(from_s: float, until_s: float) -> float:
        within = slice(*np.searchsorted(times, np.array([from_s, until_s]) - TOLERANCE_S).tolist())
        values = apart[within][is_known[within]]
        return float(np.median(values)) if len(values) else 0.0

    start_s, end_s = float(times[first]), float(times[end])
    change = median(end_s, start_s + AGO_S)
    motion = max(median(start_s - AGO_S, start_s), median(end_s + AGO_S, end_s + 2 * AGO_S))
    return change if change >= max(_MIN_APART, _MOTION_RATIO * motion) else 0.0
