"""From an importance curve to the segments to keep: pieces of shots, or whole shots; `keep` and `drop`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from vidsum.errors import UsageError
from vidsum.results.features import Features
from vidsum.results.shots import Shots
from vidsum.results.summary import ScoredShot
from vidsum.summary.knapsack import knapsack, values_of
from vidsum.summary.segments import (
    Candidate,
    CandidateFinder,
    allowed_cuts,
    choose_segments,
    frame_importance,
    segment_size,
)
from vidsum.times import format_time
from vidsum.types import FloatArray, Interval, TimeArray
from vidsum.video.probe import start_offset_s

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Limits = tuple[float, float | None]

_WORTHLESS = 0.05  # segments that score below this fraction of the highest never fill up the budget
_SAME_S = 0.001  # times that differ by less are those of one frame: containers round


@dataclass(frozen=True)
class SelectedSegments:
    """Segments to keep, and messages for the user."""

    segments: tuple[Interval, ...]  # in order; two that touch are pieces of two shots
    shots: tuple[ScoredShot, ...]  # all, cut at `keep` and `drop`; `selected` if a part of it is in
    messages: tuple[str, ...]


@dataclass(frozen=True)
class _Video:
    """A video in frames: [F] which must and must not be in."""

    edges: IntArray  # [S + 1] of the shots, cut where `keep` and `drop` begin and end
    required: BoolArray
    dropped: BoolArray
    capacity: int  # frames of the summary

    @property
    def n_left(self) -> int:
        return int((~self.dropped).sum())


def select(
    features: Features,
    shots: Shots,
    importance: FloatArray,
    budget_s: float,
    *,
    keep: Sequence[Interval] = (),
    drop: Sequence[Interval] = (),
    words: Sequence[Interval] = (),
    limits_s: Limits = (1.0, 5.0),
) -> SelectedSegments:
    """Choose the pieces of shots that fit the budget, see `choose_segments`, or the best whole shots.

    Edges and sample times are counted in frames of equal length; where those of the video are not, the edges
    of its shots stay where they are, and the last segments end a little earlier. A shot's score
    is the mean importance of its best piece. Whole shots, of which each is at most as long as the budget,
    have the highest sum of score times length; where all scores are equal, as many are taken as fit. A piece
    with a score below a twentieth of the highest (black, frozen) is not taken, though there is room. The
    summary is never empty, and not longer than the budget.

    Args:
        features: of the video.
        shots: of the video.
        importance: [T] in [0, 1].
        budget_s: maximum length of the summary.
        keep: segments that are in whatever their score; they count against the budget.
        drop: segments that are out.
        words: (start_s, end_s) of spoken words. No edge falls inside one, except those of `keep` and `drop`,
            and where speech leaves no place to cut.
        limits_s: minimum length of a piece, unless all shots or the budget are shorter, and the maximum,
            unless the budget is more than half of the video; None: whole shots.

    Raises UsageError where a segment lies outside the video, `keep` and `drop` overlap, `keep` is longer than
    the budget, or `drop` leaves nothing.
    """
    video, messages = _in_frames(features, shots, budget_s, keep, drop), []
    if video.n_left <= video.capacity:
        video = replace(video, required=~video.dropped, capacity=video.n_left)
        exception = " except --drop" if video.dropped.any() else ""
        messages.append(
            f"the video is not longer than the budget ({format_time(budget_s)}): keeping all of it{exception}"
        )
    places = allowed_cuts(words, features.video_fps, len(video.required))
    chosen, scores = _choose(video, features, importance, places, limits_s)
    is_joined = limits_s[1] is None or 2 * video.capacity > video.n_left
    breaks = _frames(shots.edges_s[1:-1], features.video_fps)
    breaks = breaks[:0] if is_joined else np.intersect1d(breaks, video.edges)
    selected = _build_selection(video, chosen, breaks, scores, shots, features, tuple(messages))
    return replace(selected, segments=_shorten(selected.segments, budget_s))


def _in_frames(
    features: Features, shots: Shots, budget_s: float, keep: Sequence[Interval], drop: Sequence[Interval]
) -> _Video:
    fps = features.video_fps
    n_frames = max(1, round(features.duration_s * fps))
    required = _mark(keep, features, n_frames, "keep")
    # a frame in which one segment ends and the other begins is kept
    dropped = _mark(drop, features, n_frames, "drop") & ~required
    if any(start < stop and begin < end for start, end in keep for begin, stop in drop):
        raise UsageError("--keep and --drop overlap")
    if dropped.all():
        raise UsageError("--drop leaves nothing of the video")
    # a budget of the video's length holds its last frame, of which only a part may be left
    capacity = n_frames if budget_s >= features.duration_s else max(1, int(budget_s * fps + 1e-6))
    if required.sum() > capacity:
        needed = format_time(float(required.sum()) / fps)
        raise UsageError(f"--keep takes {needed}, more than the budget", hint=f"--budget {needed}")
    return _Video(_edges(_frames(shots.edges_s, fps), required, dropped), required, dropped, capacity)


def _choose(
    video: _Video, features: Features, importance: FloatArray, places: IntArray, limits_s: Limits
) -> tuple[BoolArray, TimeArray]:
    """Return which frames are in, and the score of each shot."""
    fps, (shortest_s, longest_s) = features.video_fps, limits_s
    room = video.capacity - int(video.required.sum())
    shortest, sizes = 1, [max(room, 1)]
    if longest_s is not None:
        longest = min(max(int(longest_s * fps + 1e-6), 1), video.capacity)
        shortest = min(max(round(shortest_s * fps), 1), longest)
        if 2 * video.capacity <= video.n_left:
            sizes = _sizes(segment_size(room, fps, shortest, longest), longest)
    sampled = np.minimum(_frames(features.timestamps, fps), len(video.required) - 1)
    curve = frame_importance(importance, sampled, video.edges)
    sums = np.concatenate([[0.0], np.cumsum(curve if curve.any() else curve + 1)])
    best, scores, most = list[Candidate](), np.zeros(0), -1
    for size in sizes:
        pieces, windows, shot_scores = _best_candidates(video, sums, places, shortest, size)
        if longest_s is None:
            pieces = _knapsack(pieces, room)
        elif pieces:
            fixed = _runs(video.required)
            pieces = choose_segments(windows, pieces, features, sampled, fixed, room, size)
        if (taken := sum(piece.size for piece in pieces)) > most:
            best, scores, most = pieces, shot_scores, taken
        if room - taken < shortest:
            break
    chosen = video.required.copy()
    for piece in best:
        chosen[piece.start : piece.end] = True
    return chosen, scores


def _sizes(size: int, longest: int) -> list[int]:
    """Sizes of pieces to try: longer ones where the space between pieces leaves room in the budget."""
    sizes = [size]
    while sizes[-1] < longest:
        sizes.append(min(math.ceil(1.25 * sizes[-1]), longest))
    return sizes


def _best_candidates(
    video: _Video, sums: TimeArray, places: IntArray, shortest: int, size: int
) -> tuple[list[Candidate], CandidateFinder, TimeArray]:
    """Return the best candidate of each free shot, a finder of others, and the scores of all shots."""
    cells = dict(enumerate(pairwise(video.edges.tolist())))
    anywhere = np.arange(len(sums))
    ideal = CandidateFinder(sums, anywhere, 1)
    scores = np.array([piece.score for cell in cells.items() if (piece := ideal.best(*cell, size))])
    free = {shot: cell for shot, cell in cells.items() if not (video.required | video.dropped)[cell[0]]}
    # where speech leaves no place to cut, or no shot is long enough, something is taken all the same
    for allowed, least_size in (places, shortest), (anywhere, shortest), (anywhere, 1):
        windows = CandidateFinder(sums, allowed, least_size)
        if pieces := [piece for cell in free.items() if (piece := windows.best(*cell, size))]:
            break
    least = _WORTHLESS * scores[~video.dropped[video.edges[:-1]]].max()
    worth = [piece for piece in pieces if piece.score >= least]
    is_enough = bool(worth) or bool(video.required.any())  # a summary is never empty
    return worth if is_enough else pieces, replace(windows, min_score=float(least)), scores


def _knapsack(pieces: Sequence[Candidate], room: int) -> list[Candidate]:
    """Return the pieces with the most importance in total; where it is flat, as many as fit."""
    scores = np.array([piece.score for piece in pieces])
    sizes = np.array([piece.size for piece in pieces], np.int64)
    is_flat = len(scores) == 0 or np.ptp(scores) < 1e-9  # any pieces would do, for instance the opening
    taken = knapsack(values_of(np.ones_like(scores)) if is_flat else values_of(scores) * sizes, sizes, room)
    return [piece for piece, is_in in zip(pieces, taken, strict=True) if is_in]


def _runs(marked: BoolArray, breaks: Sequence[int] | IntArray = ()) -> list[tuple[int, int]]:
    """Return the frames [start, end) of each run of marked ones; a run is cut at breaks."""
    cuts = np.flatnonzero(np.diff(marked)) + 1
    edges = np.unique(np.concatenate([[0], cuts, breaks, [len(marked)]]))
    return [(start, end) for start, end in pairwise(edges.astype(int).tolist()) if marked[start]]


def _frames(times_s: TimeArray, fps: float) -> IntArray:
    return np.round(times_s * fps).astype(np.int64)


def _mark(segments: Sequence[Interval], features: Features, n_frames: int, option: str) -> BoolArray:
    """Return [n_frames] whether a frame lies in one of the segments, in part or whole."""
    marked = np.zeros(n_frames, np.bool_)
    for start_s, end_s in segments:
        offset_s = start_offset_s(features.video)
        if start_s == end_s == 0 < offset_s:  # as a player shows it, it is not that short
            raise UsageError(f"--{option} ends before the first picture, at {format_time(offset_s)}")
        if not 0 <= start_s < end_s:
            raise UsageError(f"--{option} {start_s:g}-{end_s:g} s is not a time range")
        if start_s >= features.duration_s:
            length = format_time(features.duration_s + offset_s)
            segment = f"{format_time(start_s + offset_s)}-{format_time(end_s + offset_s)}"
            raise UsageError(f"--{option} {segment} lies after the video's end at {length}")
        first = min(int(start_s * features.video_fps + 1e-6), n_frames - 1)
        last = int(np.ceil(end_s * features.video_fps - 1e-6))
        marked[first : max(last, first + 1)] = True
    return marked


def _edges(shot_edges: IntArray, required: BoolArray, dropped: BoolArray) -> IntArray:
    """Edges, in frames, of shots cut where `keep` and `drop` begin and end."""
    n_frames = len(required)
    changes = [np.flatnonzero(np.diff(mask)) + 1 for mask in (required, dropped)]
    inside = np.concatenate([shot_edges, *changes])
    return np.unique(np.concatenate([[0], inside[(inside > 0) & (inside < n_frames)], [n_frames]]))


def _times(edges: IntArray, shots: Shots, features: Features, required: BoolArray) -> TimeArray:
    """Return seconds of edges that are given in frames; those of a video's shots are where they were, unless
    a required segment would be shorter.
    """
    times: TimeArray = np.minimum(edges / features.video_fps, features.duration_s)
    if features.video is None:
        return times
    video_edges = shots.edges_s[1:-1]
    place = np.searchsorted(edges, _frames(video_edges, features.video_fps)).clip(0, len(edges) - 1)
    off_s = np.abs(times[place] - video_edges)
    moved = (place > 0) & (off_s > _SAME_S) & (off_s * features.video_fps <= 0.5)
    begins, ends = np.diff(required.astype(int), prepend=0, append=0)[edges[place]] == [[1], [-1]]
    moved &= ~np.where(video_edges > times[place], begins, ends)
    times[place[moved]] = video_edges[moved]
    return times


def _shorten(segments: Sequence[Interval], budget_s: float) -> tuple[Interval, ...]:
    """Return segments that are not longer than the budget: the last ones end a little earlier."""
    shortened, excess_s = list[Interval](), sum(end_s - start_s for start_s, end_s in segments) - budget_s
    for start_s, end_s in reversed(segments):
        cut_s = max(0.0, min(excess_s, end_s - start_s - _SAME_S))
        shortened.append((start_s, end_s - cut_s))
        excess_s -= cut_s
    return tuple(reversed(shortened))


def _build_selection(
    video: _Video,
    chosen: BoolArray,
    breaks: IntArray,
    scores: TimeArray,
    shots: Shots,
    features: Features,
    messages: tuple[str, ...],
) -> SelectedSegments:
    inside_kept = np.flatnonzero(video.required[1:] & video.required[:-1]) + 1
    runs = _runs(chosen, np.setdiff1d(breaks, inside_kept))
    edges = np.union1d(video.edges, np.array(runs, np.int64))
    times = _times(edges, shots, features, video.required)
    if chosen.all():
        times[-1] = features.duration_s
    at_s = dict(zip(edges.tolist(), times.tolist(), strict=True))
    scored = zip(pairwise(video.edges.tolist()), scores.tolist(), strict=True)
    return SelectedSegments(
        tuple((at_s[start], at_s[end]) for start, end in runs),
        tuple(
            ScoredShot(at_s[start], at_s[end], score, bool(chosen[start:end].any()))
            for (start, end), score in scored
        ),
        messages,
    )
