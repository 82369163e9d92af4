"""From an importance curve to the segments to keep: pieces of shots, or whole shots; `keep` and `drop`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from vidsum.results.features import Features
from vidsum.results.shots import Shots
from vidsum.results.summary import ScoredShot
from vidsum.summary.best_windows import (
    Bounds,
    Candidate,
    CandidateFinder,
    allowed_cuts,
    choose_segments,
    frame_importance,
    segment_size,
)
from vidsum.summary.constraints import (
    VideoFrames,
    cut_edges,
    frames_at,
    free_cells,
    join_cells,
    marked_runs,
    to_frames,
)
from vidsum.summary.knapsack import knapsack, values_of
from vidsum.summary.looks import Looks
from vidsum.summary.slide_importance import weigh_slides
from vidsum.summary.speech_units import ChosenSpeech, SpeechUnit, choose_speech, split_long
from vidsum.times import format_time
from vidsum.types import BoolArray, FloatArray, IntArray, Interval, TimeArray

_WORTHLESS = 0.05  # segments that score below this fraction of the highest never fill up the budget
_SAME_S = 0.001  # times that differ by less are of one frame: containers round
_SHORT_S, _SHORT_SEGMENTS = 30.0, 3  # a shorter video has at most so many segments
LEAST_S = 5.0  # of the default summary
_USED = 0.9  # fraction of the budget that is enough
_LONG_SENTENCE = 2  # segments of maximum length: a longer sentence across several cuts is no unit
_GAP_PARTS = 3  # no part of the video longer than one of these is without a segment, if it is worth one


@dataclass(frozen=True)
class SegmentLimits:
    """How long a segment is, in seconds."""

    shortest_s: float = 2.0  # unless the shot is shorter, or the budget
    longest_s: float | None = 5.0  # unless the budget is more than half of the video; None: whole shots
    is_strict: bool = False  # whether shots shorter than a segment are left out while there are others
    is_whole_sentences: bool = False  # whether a sentence is never split


@dataclass(frozen=True)
class SelectedSegments:
    """Segments to keep, and messages for the user."""

    segments: tuple[Interval, ...]  # in order; two that touch are pieces of two shots
    shots: tuple[ScoredShot, ...]  # all, cut at `keep` and `drop`; `selected` if a part of it is in
    messages: tuple[str, ...]
    note: str = ""  # why the budget is not used


def select(
    features: Features,
    shots: Shots,
    importance: FloatArray,
    budget_s: float,
    *,
    keep: Sequence[Interval] = (),
    drop: Sequence[Interval] = (),
    uncut: Sequence[Interval] = (),
    limits: SegmentLimits = SegmentLimits(),
    quality: FloatArray | None = None,
    speech: Sequence[SpeechUnit] = (),
    slides: Sequence[Interval] = (),
) -> SelectedSegments:
    """Choose the pieces of shots that fit the budget, see `choose_segments`, or the best whole shots.

    With speech, sentences come before pieces of silence, see `choose_speech`; not with whole shots.

    Edges and sample times are counted in frames of equal length; where the frames of the video are not,
    the edges of its shots stay where they are, and the last segments end a little earlier. A shot's score
    is the mean importance of its best piece. Whole shots, of which each is at most as long as the budget,
    have the highest sum of score times length; where all scores are equal, as many are taken as fit. A piece
    with a score below a twentieth of the highest (black, frozen) is not taken, though there is room. The
    summary is never empty, and not longer than the budget.

    Args:
        importance: [T] in [0, 1].
        budget_s: maximum length of the summary.
        keep: segments that are in whatever their score; they count against the budget.
        drop: segments that are out.
        uncut: (start_s, end_s) of spoken words, fades and dissolves. No edge falls inside one, except those
            of `keep` and `drop`, and where they leave no place to cut.
        quality: [T] in [0, 1] of the pictures, by which their importance counts less in the choice.
        speech: the sentences of the video.
        slides: of the video; a segment of each important slide comes first (`summary.slide_importance`).

    Raises UsageError where a segment lies outside the video, `keep` and `drop` overlap, `keep` is longer than
    the budget, or `drop` leaves nothing.
    """
    video, messages = to_frames(features, shots, budget_s, keep, drop), []
    if video.n_left <= video.capacity:
        video = replace(video, required=~video.dropped, capacity=video.n_left)
        exception = " except what is dropped" if video.dropped.any() else ""
        messages.append(
            f"the video is not longer than the budget ({format_time(budget_s)}): keeping all of it{exception}"
        )
    fps = features.video_fps
    places = allowed_cuts(uncut, fps, len(video.required))
    looks = Looks(features, np.minimum(frames_at(features.timestamps, fps), len(video.required) - 1), slides)
    worth = importance if quality is None else importance * quality
    worth = weigh_slides(worth, features.timestamps, slides)
    chosen_speech = _choose_speech(video, worth, looks, limits, speech)
    filled = _require_speech(video, frames_at(shots.edges_s, fps), chosen_speech)
    chosen, size = _choose(
        filled, worth, places, looks, replace(limits, is_strict=limits.is_strict or filled is not video)
    )
    scores = _shot_scores(video, _sums(importance, video, looks), size)
    breaks = list[int]()
    if limits.longest_s is not None and (chosen_speech or 2 * video.capacity <= video.n_left):
        cuts = np.intersect1d(frames_at(shots.edges_s[1:-1], fps), video.edges)
        edges = chosen_speech.edges if chosen_speech else cuts
        longest, shortest = round(limits.longest_s * fps), _shortest(video, limits)
        breaks = _breaks(chosen, edges, None if chosen_speech else looks, longest, shortest)
    segments, scored = _in_seconds(video, chosen, breaks, scores, shots, features)
    note = ""
    if chosen.sum() < _USED * video.capacity:
        of_speech = "sentence" if limits.is_whole_sentences else "clause"
        unit = "shot" if limits.longest_s is None else of_speech if chosen_speech else "segment"
        note = f"no further {unit} fits"
    return SelectedSegments(_shorten(segments, budget_s), scored, tuple(messages), note)


def _choose_speech(
    video: VideoFrames,
    importance: FloatArray,
    looks: Looks,
    limits: SegmentLimits,
    units: Sequence[SpeechUnit],
) -> ChosenSpeech | None:
    """Return the speech to take; None where there is none that fits, or whole shots are asked for."""
    if not units or limits.longest_s is None or video.required.sum() >= video.capacity:
        return None
    sums, is_whole = _sums(importance, video, looks), limits.is_whole_sentences
    if not is_whole:
        units = split_long(units, video, _LONG_SENTENCE * limits.longest_s)
    of_slides = dict[int, SpeechUnit]()  # the best sentence during each important slide
    for unit in sorted(units, key=lambda unit: unit.score):
        of_slides[looks.slide(unit.start_s * video.fps, unit.end_s * video.fps)] = unit
    first = [unit for number, unit in of_slides.items() if number in looks.important_slides]
    shortest = _shortest(video, limits)
    speech = choose_speech(units, video, sums, is_whole=is_whole, first=first, shortest=shortest)
    return speech if speech.chosen.any() else None


def _require_speech(video: VideoFrames, shot_edges: IntArray, speech: ChosenSpeech | None) -> VideoFrames:
    """Return a video with chosen speech in and other speech out: silence may fill the rest.

    Where the budget is nearly used, or half of the video is speech, nothing else may be in.
    """
    if speech is None:
        return video
    required = video.required | speech.chosen
    is_enough = required.sum() >= _USED * video.capacity or 2 * speech.spoken.sum() >= video.n_left
    dropped = ~required if is_enough else (video.dropped | speech.spoken) & ~required
    return replace(video, edges=cut_edges(shot_edges, required, dropped), required=required, dropped=dropped)


def _choose(
    video: VideoFrames, importance: FloatArray, places: IntArray, looks: Looks, limits: SegmentLimits
) -> tuple[BoolArray, int]:
    """Return which frames are in, and the maximum size of a piece."""
    room = video.capacity - int(video.required.sum())
    shortest, sizes, most = _sizes(video, limits, looks, room)
    sums, n_frames = _sums(importance, video, looks), len(video.required)
    best, best_size, most_used = list[Candidate](), 1, -1
    for size in sizes:
        pieces, windows = _best_candidates(video, sums, places, shortest, size, is_strict=limits.is_strict)
        if limits.longest_s is None:
            pieces = _knapsack(pieces, room)
        elif pieces:
            whole = [] if limits.is_strict else _short_shots(video, windows, size)
            bounds = Bounds(room, size, n_frames // _GAP_PARTS, n_frames, most)
            pieces = choose_segments(windows, pieces, looks, marked_runs(video.required), bounds, whole)
        if (used := sum(piece.size for piece in pieces)) > most_used:
            best, best_size, most_used = pieces, size, used
        if used >= _USED * room:
            break
    chosen = video.required.copy()
    for piece in best:
        chosen[piece.start : piece.end] = True
    return chosen, best_size


def _sums(curve: FloatArray, video: VideoFrames, looks: Looks) -> TimeArray:
    """Return [F + 1] the importance before each frame; if none has any, all count the same."""
    frames = frame_importance(curve, looks.sampled, video.edges)
    return np.concatenate([[0.0], np.cumsum(frames if frames.any() else frames + 1)])


def _shot_scores(video: VideoFrames, sums: TimeArray, size: int) -> TimeArray:
    """Return [S] the mean importance of the best window of each shot."""
    ideal, cells = CandidateFinder(sums, np.arange(len(sums)), 1), enumerate(pairwise(video.edges.tolist()))
    return np.array([piece.score for cell in cells if (piece := ideal.best(*cell, size))])


def _shortest(video: VideoFrames, limits: SegmentLimits) -> int:
    """Return the minimum frames of a segment."""
    return min(max(round(limits.shortest_s * video.fps), 1), video.capacity)


def _breaks(
    chosen: BoolArray, cuts: Sequence[int] | IntArray, looks: Looks | None, longest: int, shortest: int
) -> list[int]:
    """Return the cuts between two segments; there is none inside of what looks alike and is not too long.

    Without looks, all looks alike. No segment between two cuts is shorter than `shortest`.
    """
    breaks = list[int]()
    begun, last = 0, (0, 0)  # of the segment so far, and its last part
    for part in marked_runs(chosen, cuts):
        is_next = part[0] == last[1] > 0
        is_long = min(part[0] - begun, part[1] - part[0]) >= shortest
        if is_next and is_long and (part[1] - begun > longest or (looks and not looks.are_alike(last, part))):
            breaks.append(part[0])
        if not is_next or part[0] in breaks:
            begun = part[0]
        last = part
    return breaks


def _sizes(
    video: VideoFrames, limits: SegmentLimits, looks: Looks, room: int
) -> tuple[int, list[int], int | None]:
    """Return the minimum frames of a piece, the maximum to try one after the other, and how many pieces.

    Others are tried where the space between pieces, or short shots, leave room in the budget.
    """
    if limits.longest_s is None:
        return 1, [max(room, 1)], None
    fps = video.fps
    longest = min(max(int(limits.longest_s * fps + 1e-6), 1), video.capacity)
    shortest = min(_shortest(video, limits), longest)
    is_half = 2 * video.capacity > video.n_left
    is_short = len(video.required) < _SHORT_S * fps and (not is_half or video.capacity <= LEAST_S * fps + 1)
    most = _SHORT_SEGMENTS if is_short else room
    n_looks = looks.count([cell for _, cell in free_cells(video) if cell[1] - cell[0] >= shortest], most)
    sizes = [
        max(room, 1)
        if is_half
        else segment_size(room, fps, shortest, longest, max(n_looks, 1), len(looks.important_slides))
    ]
    while sizes[-1] < longest and not is_half:
        sizes.append(min(math.ceil(1.25 * sizes[-1]), longest))
    smaller = [round(sizes[0] / ratio) for ratio in (1.25, 1.6, 2) if sizes[0] / ratio >= shortest]
    return shortest, sizes + smaller, max(_SHORT_SEGMENTS, math.ceil(room / longest)) if is_short else None


def _short_shots(video: VideoFrames, windows: CandidateFinder, size: int) -> list[Candidate]:
    """Return the best candidate of each run of free shots that are too short, but together not."""
    short = [cell for cell in free_cells(video) if cell[1][1] - cell[1][0] < windows.shortest]
    return [piece for run in join_cells(short) if (piece := windows.best(*run, size))]


def _best_candidates(
    video: VideoFrames, sums: TimeArray, places: IntArray, shortest: int, size: int, *, is_strict: bool
) -> tuple[list[Candidate], CandidateFinder]:
    """Return the best candidate of each free shot, and a finder of others.

    Where all shots are shorter than a segment, a run of them is one.
    """
    anywhere, free = np.arange(len(sums)), free_cells(video)
    if max((end - start for _, (start, end) in free), default=shortest) < shortest:
        free = join_cells(free)
    # where speech leaves no place to cut, or no shot is long enough, something is taken all the same
    choices = (places, shortest), (anywhere, shortest), (anywhere, 1)
    for allowed, least_size in choices[:1] if is_strict and video.required.any() else choices:
        windows = CandidateFinder(sums, allowed, least_size)
        if pieces := [piece for cell in free if (piece := windows.best(*cell, size))]:
            break
    least = _WORTHLESS * _shot_scores(video, sums, size)[~video.dropped[video.edges[:-1]]].max()
    worth = [piece for piece in pieces if piece.score >= least]
    is_enough = bool(worth) or bool(video.required.any())  # a summary is never empty
    return worth if is_enough else pieces, replace(windows, min_score=float(least))


def _knapsack(pieces: Sequence[Candidate], room: int) -> list[Candidate]:
    """Return the pieces with the most importance in total; where it is flat, as many as fit."""
    scores = np.array([piece.score for piece in pieces])
    sizes = np.array([piece.size for piece in pieces], np.int64)
    is_flat = len(scores) == 0 or np.ptp(scores) < 1e-9  # any pieces would do, for instance the opening
    taken = knapsack(values_of(np.ones_like(scores)) if is_flat else values_of(scores) * sizes, sizes, room)
    return [piece for piece, is_in in zip(pieces, taken, strict=True) if is_in]


def _times(edges: IntArray, shots: Shots, features: Features, required: BoolArray) -> TimeArray:
    """Return seconds of edges that are given in frames; edges of a video's shots stay where they were, unless
    a required segment would be shorter.
    """
    times: TimeArray = np.minimum(edges / features.video_fps, features.duration_s)
    if features.video is None:
        return times
    video_edges = shots.edges_s[1:-1]
    place = np.searchsorted(edges, frames_at(video_edges, features.video_fps)).clip(0, len(edges) - 1)
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


def _in_seconds(
    video: VideoFrames,
    chosen: BoolArray,
    breaks: Sequence[int],
    scores: TimeArray,
    shots: Shots,
    features: Features,
) -> tuple[list[Interval], tuple[ScoredShot, ...]]:
    """Return the chosen segments, and all shots with their scores."""
    inside_kept = np.flatnonzero(video.required[1:] & video.required[:-1]) + 1
    runs = marked_runs(chosen, np.setdiff1d(breaks, inside_kept))
    edges = np.union1d(video.edges, np.array(runs, np.int64))
    times = _times(edges, shots, features, video.required)
    if chosen.all():
        times[-1] = features.duration_s
    at_s = dict(zip(edges.tolist(), times.tolist(), strict=True))
    cells = pairwise(video.edges.tolist())
    return [(at_s[start], at_s[end]) for start, end in runs], tuple(
        ScoredShot(at_s[start], at_s[end], score, bool(chosen[start:end].any()))
        for (start, end), score in zip(cells, scores.tolist(), strict=True)
    )
