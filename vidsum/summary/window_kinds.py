"""Kinds of windows by their edges: in pauses of speech wherever there are such windows, else anywhere."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np

from vidsum.summary.constraints import VideoFrames
from vidsum.summary.film import Film
from vidsum.summary.units import Unit, WindowFinder, window_cells, window_units
from vidsum.types import IntArray

LONGER: Final = 1.5  # as long as the longest window may be for its edges to lie in pauses
FLASH_S: Final = 0.5  # of another shot, at least, in a window that goes on over a cut
_Cells = Mapping[int, tuple[int, int]]


@dataclass(frozen=True, eq=False)
class WindowKind:
    """Windows with edges of one kind that overlap no possible window with better edges."""

    cells: _Cells  # the frames [start, end) in which windows lie
    finder: WindowFinder
    longest: int  # frames
    n_better: IntArray  # [F + 1] frames before each that lie in windows with better edges

    @property
    def units(self) -> list[Unit]:
        """The best windows."""
        return [unit for unit in window_units(self.cells, self.finder, self.longest) if self._is_free(unit)]

    def has(self, unit: Unit) -> bool:
        """Return whether a window is of this kind."""
        low, high = self.cells.get(unit.cell, (unit.end, unit.start))
        is_cut = np.isin((unit.start, unit.end), self.finder.places).all()
        return low <= unit.start and unit.end <= high and bool(is_cut) and self._is_free(unit)

    def longer(self, unit: Unit, most: int) -> Unit | None:
        """Return the best window of this kind around one, or near it, of at most so many frames."""
        size = min(most, self.longest)
        if size <= unit.size or unit.cell not in self.cells:
            return None
        low, high = self.cells[unit.cell]
        span = max(low, unit.end - size), min(high, unit.start + size)
        longer = self.finder.best(unit.cell, span, size)
        is_better = longer is not None and longer.size > unit.size and self._is_free(longer)
        return longer if is_better else None

    def _is_free(self, unit: Unit) -> bool:
        return bool(self.n_better[unit.start] == self.n_better[unit.end])


def window_kinds(film: Film, video: VideoFrames, shortest: int, longest: int) -> list[WindowKind]:
    """Return the kinds of windows of a film, those with the best edges first.

    Each of `film.cuts` but the last gives windows of a shot up to `longest` frames, and up to half longer;
    then the same across cuts between shots, where speech goes on. Last are windows of a shot that begin and
    end at any of `film.places`. `video` is the film without the frames in which no window lies.
    """
    shots, pauses = window_cells(video, shortest), film.cuts[:-1]
    lengths = {longest, max(min(int(LONGER * longest), film.room), longest)}
    choices = [(shots, places) for places in pauses]
    choices += [(_join_at_speech(shots, places), _without_flashes(places, video)) for places in pauses]
    kinds, is_better = list[WindowKind](), np.zeros(len(video.required), np.bool_)
    for (cells, places), most in (*product(choices, sorted(lengths)), ((shots, film.places), longest)):
        finder = WindowFinder(film.worth, places, shortest, film.least)
        kinds.append(WindowKind(cells, finder, most, np.append(0, np.cumsum(is_better))))
        is_better = is_better | finder.reached(cells.values(), most)
    return kinds


def _join_at_speech(cells: _Cells, places: IntArray) -> dict[int, tuple[int, int]]:
    """Return cells, those that touch where speech goes on as one."""
    joined, last = dict[int, tuple[int, int]](), -1
    pauses = {*places.tolist()}
    for number, (start, end) in sorted(cells.items(), key=lambda cell: cell[1]):
        if joined and joined[last][1] == start and start not in pauses:
            joined[last] = joined[last][0], end
        else:
            joined[number], last = (start, end), number
    return joined


def _without_flashes(places: IntArray, video: VideoFrames) -> IntArray:
    """Return places that are at a cut between shots, or far enough from it for no shot to flash up."""
    after = np.searchsorted(video.edges, places)
    distances = np.minimum(video.edges[after] - places, places - video.edges[np.maximum(after - 1, 0)])
    is_cut = video.edges[after] == places
    far: IntArray = places[is_cut | (distances >= round(FLASH_S * video.fps))]
    return far
