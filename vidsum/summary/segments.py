"""Pieces of shots, as an editor takes them: the best window of a shot, of one shot after another.

`choose_segments` maximises what the pieces P hold of the importance curve and show of the video's looks,

    F(P) = sum over p of c(p) + novelty_weight * sum over shots s of w(s) max over p of sim(s, p)

c(p) is the sum of the curve in p, w(s) that of the best window of s, over the sum of the similarities of s to
all shots. docs/algorithms/selection.md has the rules, a bound, and how the constants were chosen.
"""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from vidsum.models.scaling import unit_rows
from vidsum.results.features import Features
from vidsum.types import FloatArray, Interval

IntArray = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class SelectionParams:
    """Tuned numbers (docs/algorithms/selection.md, tests/summary/test_segments.py)."""

    novelty_weight: float = 0.2  # of a look not covered yet, relative to the importance
    density: float = 3.0  # a summary of B seconds has about the square root of this many times B segments
    good: float = 0.8  # shots of this fraction of the highest score come before second pieces
    repeat_weight: float = 0.2  # weight of another segment of a still picture
    rounding: float = 1e-9  # sums per frame that differ by less are equal
    min_direction: float = 1e-4  # a look is that of the whole video where it differs by less


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
        start, end = int(starts[best]), int(ends[best])
        score = float(sums[best]) / (end - start)
        return Candidate(shot, start, end, cell, score, is_first) if score >= self.min_score else None


def frame_importance(importance: FloatArray, sampled: IntArray, edges: IntArray) -> Floats:
    """Return [F] importance of each frame: that of the sample before it, in a shot's first frames of the one
    after.

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


def segment_size(room: int, fps: float, shortest: int, longest: int) -> int:
    """Frames of a piece: the more room, the more pieces there are, and the longer they are."""
    several = min(round(math.sqrt(PARAMS.density * room / fps)), room // shortest)
    n_pieces = max(several, math.ceil(room / longest), 1)
    return min(max(math.ceil(room / n_pieces), shortest), longest)


class _Coverage:
    """How much of the looks of shots has been shown."""

    def __init__(self, features: Features, sampled: IntArray, firsts: Sequence[Candidate]) -> None:
        rows = unit_rows(features.array)
        self._rows, self._sampled = rows - rows.mean(axis=0), sampled
        self._looks = np.stack([self._look(piece.start, piece.end) for piece in firsts])
        alike = np.array([np.maximum(self._looks @ look, 0).sum() for look in self._looks])
        self._weights = np.array([piece.score * piece.size for piece in firsts]) / np.maximum(alike, 1)
        self._most_alike = np.zeros(len(firsts), np.float32)
        counts = np.diff(features.picture_starts, append=len(rows))
        self._picture = np.repeat(np.arange(len(counts)), counts)
        self._is_new = np.ones(len(counts), np.bool_)
        self._is_still = counts > 1

    def _samples(self, start: int, end: int) -> slice:
        first, stop = np.searchsorted(self._sampled, (start, end))
        first = first if first < stop else max(first - 1, 0)  # between two samples, the one before
        return slice(first, max(stop, first + 1))

    def _look(self, start: int, end: int) -> FloatArray:
        """Return [D] the mean feature of frames [start, end), of length 1; zeros where it is the video's."""
        mean = self._rows[self._samples(start, end)].mean(axis=0)
        length = float(np.linalg.norm(mean))
        return np.asarray(mean / length if length > PARAMS.min_direction else mean * 0, np.float32)

    def _alike(self, start: int, end: int) -> FloatArray:
        """Return [S] how much frames look like the best window of each shot."""
        return np.asarray(np.maximum(self._looks @ self._look(start, end), 0))

    def gain(self, piece: Candidate) -> float:
        """Return the gain in F by a candidate, per frame."""
        unshown = np.maximum(self._alike(piece.start, piece.end) - self._most_alike, 0)
        return piece.score + PARAMS.novelty_weight * float(self._weights @ unshown) / piece.size

    def repeats(self, piece: Candidate) -> bool:
        """Return whether a piece holds nothing but still pictures of which the summary has a piece."""
        pictures = self._picture[self._samples(piece.start, piece.end)]
        return not (self._is_new[pictures] | ~self._is_still[pictures]).any()

    def add(self, start: int, end: int) -> None:
        self._is_new[self._picture[self._samples(start, end)]] = False
        self._most_alike = np.maximum(self._most_alike, self._alike(start, end))


def choose_segments(
    windows: CandidateFinder,
    firsts: Sequence[Candidate],
    features: Features,
    sampled: IntArray,
    fixed: Sequence[tuple[int, int]],
    room: int,
    size: int,
) -> list[Candidate]:
    """Return the segments of a summary, in the order in which they are taken.

    The candidate with the highest score comes first. Then each step takes the highest gain per frame: of the
    first candidates of good shots while there are any, then of all. A segment leaves its shot two cells, a
    segment's length away on both sides. The last one may be shorter, to fit.

    Args:
        windows: finds further candidates.
        firsts: the best candidate of each shot that may be in; one or more.
        features, sampled: of the video, and [T] frames of its samples.
        fixed: frames [start, end) that are in the summary anyway.
        room: maximum frames of all segments.
        size: maximum frames of a segment.
    """
    coverage, taken = _Coverage(features, sampled, firsts), list[Candidate]()
    for start, end in fixed:
        coverage.add(start, end)
    highest = max(firsts, key=lambda piece: piece.score)

    def entry(piece: Candidate) -> tuple[int, float, int, int, int, Candidate]:
        is_highest = piece.is_first and piece.shot == highest.shot
        is_good = piece.is_first and piece.score >= PARAMS.good * highest.score
        rank, left = 2 - is_highest - is_good, piece.cell[0] - piece.cell[1]
        gain = coverage.gain(piece) * (PARAMS.repeat_weight if coverage.repeats(piece) else 1)
        return rank, -gain, left, piece.start, len(taken), piece

    waiting = [entry(piece) for piece in firsts]
    heapq.heapify(waiting)
    while waiting and room >= windows.shortest:
        *_, n_taken, piece = heapq.heappop(waiting)
        if n_taken < len(taken):  # gains only fall: one that is still the highest is so for certain
            heapq.heappush(waiting, entry(piece))
            continue
        parts = [(piece.cell, piece.is_first)]
        if piece.size <= room:
            taken.append(piece)
            coverage.add(piece.start, piece.end)
            room -= piece.size
            start, end = piece.cell
            parts = [((start, piece.start - size), False), ((piece.end + size, end), False)]
        for cell, is_first in parts:
            part = windows.best(piece.shot, cell, min(size, room), is_first=is_first)
            if part:
                heapq.heappush(waiting, entry(part))
    return taken
