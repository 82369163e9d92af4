"""Pieces of shots, as an editor takes them: the best window of a shot, of one shot after another.

`choose_segments` maximises what the pieces P hold of the importance curve and show of the video's looks,

    F(P) = sum over p of c(p) + novelty_weight * sum over shots s of w(s) max over p of sim(s, p)

c(p) is the sum of the curve in p, w(s) the sum of the curve in the best window of s, over the sum of the
similarities of s to all shots. docs/algorithms/selection.md has the rules, a bound, and how the constants
were chosen.
"""

import heapq
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from vidsum.summary.looks import Coverage, Looks
from vidsum.types import FloatArray, IntArray, Interval

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class SelectionParams:
    """Tuned numbers (docs/algorithms/selection.md, tests/summary/test_best_windows.py)."""

    novelty_weight: float = 0.2  # of a look not covered yet, relative to the importance
    density: float = 3.0  # a summary of B seconds has about the square root of this many times B segments
    good: float = 0.8  # shots of this fraction of the highest score come first
    fair: float = 0.5  # candidates of this fraction close gaps, and show looks before others repeat them
    much_room: float = 0.1  # fraction of the room that whole short shots fill
    rounding: float = 1e-9  # sums per frame that differ by less are equal


PARAMS: Final = SelectionParams()


@dataclass(frozen=True)
class Candidate:
    """A window of a shot: frames [start, end)."""

    shot: int
    start: int
    end: int
    cell: tuple[int, int]  # where it may lie: its shot, or what another piece leaves of it
    score: float  # mean of the curve
    is_first: bool = True

    @property
    def size(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, eq=False)
class CandidateFinder:
    """A curve whose best windows are looked for."""

    sums: Floats  # [F + 1] of the curve before each frame
    places: IntArray  # frames before which a cut may be, ascending
    shortest: int
    min_score: float = 0.0  # candidates below this are not returned

    def best(self, shot: int, cell: tuple[int, int], size: int, *, is_first: bool = True) -> Candidate | None:
        """Return the window of at most `size` frames with the highest sum, the middle one of several."""
        first, stop = np.searchsorted(self.places, (cell[0], cell[1] - self.shortest + 1))
        starts = self.places[first:stop]
        ends = np.minimum(starts + size, cell[1])
        ends = self.places[np.searchsorted(self.places, ends, side="right") - 1]
        is_long = ends - starts >= self.shortest
        if not is_long.any():
            return None
        starts, ends = starts[is_long], ends[is_long]
        sums = self.sums[ends] - self.sums[starts]
        equal = np.flatnonzero(sums >= sums.max() - PARAMS.rounding * size)
        best = equal[len(equal) // 2]
        piece = self.window(shot, int(starts[best]), int(ends[best]), cell, is_first=is_first)
        return piece if piece.score >= self.min_score else None

    def window(
        self, shot: int, start: int, end: int, cell: tuple[int, int], *, is_first: bool = True
    ) -> Candidate:
        score = float(self.sums[end] - self.sums[start]) / (end - start)
        return Candidate(shot, start, end, cell, score, is_first)


def frame_importance(importance: FloatArray, sampled: IntArray, edges: IntArray) -> Floats:
    """Return [F] importance of each frame, from the sample before it; in a shot's first frames, from the
    sample after it.

    `importance` [T] is of the samples, at the frames `sampled` [T]; `edges` [S + 1] of the shots are in
    frames.
    """
    number = np.searchsorted(sampled, np.arange(edges[-1]), side="right") - 1
    after = np.searchsorted(sampled, edges)
    for first, (start, end) in zip(after.tolist(), pairwise(edges.tolist()), strict=False):
        if first < len(sampled) and sampled[first] < end:
            number[start : sampled[first]] = first
    return importance[np.maximum(number, 0)].astype(np.float64)


def allowed_cuts(words: Sequence[Interval], fps: float, n_frames: int) -> IntArray:
    """Return the frames, up to `n_frames`, before which a cut falls inside none of the words."""
    is_inside = np.zeros(n_frames + 1, np.bool_)
    for start_s, end_s in words:
        first, last = int(start_s * fps) + 1, int(np.ceil(end_s * fps)) - 1
        is_inside[max(first, 0) : max(last + 1, 0)] = True
    is_inside[[0, -1]] = False
    return np.flatnonzero(~is_inside)


def segment_size(room: int, fps: float, shortest: int, longest: int, most: int, least: int = 0) -> int:
    """Frames of a piece: the more room, the more pieces there are, and the longer they are.

    There are at most `most`, unless the `longest` asks for more, and `least` if they fit.
    """
    several = min(max(round(math.sqrt(PARAMS.density * room / fps)), least), room // shortest, most)
    n_pieces = max(several, math.ceil(room / longest), 1)
    return min(max(math.ceil(room / n_pieces), shortest), longest)


@dataclass(frozen=True)
class Bounds:
    """How much a summary may hold, in frames."""

    room: int  # of all segments
    size: int  # of a segment
    max_gap: int  # a longer part of the video without a segment is a gap
    n_frames: int  # of the video
    max_segments: int | None = None


_Entry = tuple[int, float, int, int, int, Candidate]  # the order, the number taken before, the candidate


class _Choice:
    """The segments taken so far, and what may be taken next."""

    def __init__(
        self,
        windows: CandidateFinder,
        firsts: Sequence[Candidate],
        looks: Looks,
        fixed: Sequence[tuple[int, int]],
        bounds: Bounds,
    ) -> None:
        self.windows, self.looks, self.bounds, self.room = windows, looks, bounds, bounds.room
        self.taken, self.parts = list[Candidate](), list(fixed)
        self.highest = max(firsts, key=lambda piece: piece.score)
        self.firsts, self.cells = firsts, {piece.shot: [piece.cell] for piece in firsts}
        worth = [piece.score * piece.size for piece in firsts]
        self.coverage = Coverage(looks, [(piece.start, piece.end) for piece in firsts], worth)
        for start, end in fixed:
            self.coverage.add(start, end)

    def is_full(self, least: int) -> bool:
        return self.room < least or len(self.taken) == self.bounds.max_segments

    def best(self, shot: int, cell: tuple[int, int], *, is_first: bool = False) -> Candidate | None:
        return self.windows.best(shot, cell, min(self.bounds.size, self.room), is_first=is_first)

    def fit(self, piece: Candidate) -> Candidate | None:
        """Return a candidate, or the best one of its cell that is as short as the room demands."""
        if piece.size <= self.room:
            return piece
        return self.best(piece.shot, piece.cell, is_first=piece.is_first)

    def order(self, piece: Candidate) -> tuple[int, float, int, int]:
        """Return what sorts candidates, the next to take first; it only grows as segments are taken."""
        is_new = not self.coverage.has_look(piece.start, piece.end)
        is_good = piece.is_first and piece.score >= PARAMS.good * self.highest.score
        is_fair = piece.score >= PARAMS.fair * self.highest.score
        rank = 2 * (not (is_new and is_fair)) + (not is_good)
        # the gain in F per frame
        gain = piece.score + PARAMS.novelty_weight * self.coverage.gain(piece.start, piece.end) / piece.size
        return rank, -gain, piece.cell[0] - piece.cell[1], piece.start

    def take(self, piece: Candidate) -> list[tuple[int, int]]:
        """Take a candidate, and return the cells that it leaves of its own."""
        self.taken.append(piece)
        self.parts.append((piece.start, piece.end))
        self.coverage.add(piece.start, piece.end)
        self.room -= piece.size
        start, end = piece.cell
        left = [(start, piece.start - self.bounds.size), (piece.end + self.bounds.size, end)]
        cells = self.cells.get(piece.shot, [])
        self.cells[piece.shot] = [cell for cell in cells if cell != piece.cell] + left
        return left

    def take_highest(self) -> None:
        piece = self.fit(self.highest)
        if piece and self.room >= self.windows.shortest:
            self.take(piece)

    def close_gaps(self) -> None:
        """Take the best fair candidate of each gap, if possible where it leaves no gap."""
        hopeless = set[tuple[int, int]]()
        while not self.is_full(self.windows.shortest):
            gaps = [gap for gap in self._gaps() if gap not in hopeless]
            if not gaps:
                return
            gap = max(gaps, key=lambda gap: gap[1] - gap[0])
            if piece := self._best_within(self._middle_of(gap)) or self._best_within(gap):
                self.take(piece)
            else:
                hopeless.add(gap)

    def _gaps(self) -> list[tuple[int, int]]:
        ends = [0, *sorted(itertools.chain(*self.parts)), self.bounds.n_frames]
        gaps = zip(ends[::2], ends[1::2], strict=True)
        return [(start, end) for start, end in gaps if end - start > self.bounds.max_gap]

    def _middle_of(self, gap: tuple[int, int]) -> tuple[int, int]:
        """Return where a segment leaves the fewest gaps: further segments to close them are spread evenly."""
        start, end = gap
        reach = (math.ceil((end - start) / self.bounds.max_gap) - 1) * self.bounds.max_gap
        reach += self.windows.shortest
        return max(start, end - reach), min(end, start + reach)

    def _best_within(self, part: tuple[int, int]) -> Candidate | None:
        least, fair = PARAMS.fair * self.highest.score, list[Candidate]()
        for shot, cells in self.cells.items():
            for cell in cells:
                inside = max(cell[0], part[0]), min(cell[1], part[1])
                if inside[0] >= inside[1]:
                    continue
                # a slide is worth most at its end, which may be outside
                is_slide = self.looks.slide(*cell) >= 0
                piece = self.best(shot, cell if is_slide else inside, is_first=len(cells) == 1)
                if piece and piece.score >= least and piece.start < part[1] and piece.end > part[0]:
                    fair.append(replace(piece, cell=cell))
        return min(fair, key=self.order, default=None)

    def best_of_cells(self) -> Iterator[Candidate | None]:
        for first in self.firsts:
            cells = self.cells[first.shot]
            yield from [first] if cells == [first.cell] else map(partial(self.best, first.shot), cells)

    def fill_room(self, pieces: Iterable[Candidate | None], least: int) -> None:
        """Take the first candidate by `order`, of pieces and what they leave, until there is less room."""
        waiting = self._queue(pieces)
        while waiting and not self.is_full(least):
            *_, n_taken, piece = heapq.heappop(waiting)
            if n_taken < len(self.taken):
                # an order only grows: a candidate that is still the first is so for certain
                heapq.heappush(waiting, self._entry(piece))
                continue
            for part in map(partial(self.best, piece.shot), self.take(piece)):
                if part:
                    heapq.heappush(waiting, self._entry(part))
            if self.room < self.bounds.size:
                # the order of a shorter window can be lower: replace all candidates that no longer fit
                waiting = self._queue(entry[-1] for entry in waiting)

    def _queue(self, pieces: Iterable[Candidate | None]) -> list[_Entry]:
        """Return a heap of candidates, each as short as the room demands."""
        waiting = [self._entry(fitting) for piece in pieces if piece and (fitting := self.fit(piece))]
        heapq.heapify(waiting)
        return waiting

    def _entry(self, piece: Candidate) -> _Entry:
        return (*self.order(piece), len(self.taken), piece)


def choose_segments(
    windows: CandidateFinder,
    firsts: Sequence[Candidate],
    looks: Looks,
    fixed: Sequence[tuple[int, int]],
    bounds: Bounds,
    short_shots: Sequence[Candidate] = (),
) -> list[Candidate]:
    """Return the segments of a summary, in the order in which they are taken.

    The candidate with the highest score comes first, then the best candidates of gaps. Then each step takes
    the highest gain per frame: of new looks in good shots while there are any, then of new looks, then of
    all. A segment leaves its shot two cells, a segment's length away on both sides. The last one may be
    shorter, to fit.

    Args:
        windows: finds further candidates.
        firsts: the best candidate of each shot that may be in; one or more.
        fixed: frames [start, end) that are in the summary anyway.
        short_shots: whole shots that fill room that is left.
    """
    choice = _Choice(windows, firsts, looks, fixed, bounds)
    choice.take_highest()
    choice.close_gaps()
    choice.fill_room(choice.best_of_cells(), windows.shortest)
    choice.fill_room(short_shots, max(1, math.ceil(PARAMS.much_room * bounds.room)))
    return choice.taken
