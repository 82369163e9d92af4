"""From an importance curve to the segments to keep: units that maximise one objective, or whole shots."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np

from vidsum.grounding.scenes import samples_between
from vidsum.models.scaling import LEAST_IMPORTANCE, logit
from vidsum.results.features import Features
from vidsum.results.shots import Shots
from vidsum.results.summary import ScoredShot
from vidsum.summary.choose_units import WindowLimits, choose_units
from vidsum.summary.constraints import (
    ENOUGH,
    VideoFrames,
    frames_at,
    free_cells,
    marked_runs,
    to_frames,
)
from vidsum.summary.content import TimedText, content_of
from vidsum.summary.film import Film, mean_in
from vidsum.summary.knapsack import knapsack, values_of
from vidsum.summary.settings import DEFAULT_BUDGET, DEFAULT_SHARE, Selection
from vidsum.summary.slide_importance import number_slides, weigh_slides
from vidsum.summary.speech_units import SpokenParts
from vidsum.summary.units import SPOKEN, WORTHLESS, Unit, WindowFinder, allowed_cuts, frame_sums
from vidsum.times import format_time, parse_budget
from vidsum.types import BoolArray, FloatArray, IntArray, Interval, TimeArray

_SAME_S: Final = 0.001  # times that differ by less are of one frame: containers round
LEAST_S: Final = 5.0  # of the default summary


@dataclass(frozen=True)
class SegmentLimits:
    """How long a window is, in seconds."""

    shortest_s: float = 2.0  # unless the shot is shorter, or the budget
    longest_s: float | None = 5.0  # unless the budget is more than half of the video; None: whole shots


@dataclass(frozen=True)
class SelectedSegments:
    """Segments to keep, and messages for the user."""

    segments: tuple[Interval, ...]  # in order, apart
    shots: tuple[ScoredShot, ...]  # all, cut at `keep` and `drop`; `selected` if a part of it is in
    messages: tuple[str, ...]
    note: str = ""  # why the budget is not used


def budget_of(selection: Selection, duration_s: float) -> tuple[float, tuple[str, ...]]:
    """Return seconds of the summary, and a message where a share would be shorter than a segment."""
    if selection.budget == DEFAULT_BUDGET:
        return max(DEFAULT_SHARE * duration_s, min(LEAST_S, duration_s)), ()
    share_s = parse_budget(selection.budget, duration_s)
    least_s = 0.0 if selection.max_segment_s is None else selection.min_segment_s
    budget_s = parse_budget(selection.budget, duration_s, least_s)
    message = f"{selection.budget} is only {format_time(share_s)}: took {format_time(budget_s)} (min_segment)"
    # `select` says that a video shorter than a segment is kept whole
    return budget_s, () if budget_s == share_s or budget_s >= duration_s else (message,)


def select(
    features: Features,
    shots: Shots,
    importance: FloatArray,
    budget_s: float,
    *,
    keep: Sequence[Interval] = (),
    drop: Sequence[Interval] = (),
    uncut: Sequence[Interval] = (),
    voices: Sequence[Sequence[Interval]] = (),
    limits: SegmentLimits = SegmentLimits(),
    quality: FloatArray | None = None,
    slope: float = 1.0,
    speech: SpokenParts = SpokenParts(),
    texts: Sequence[TimedText] = (),
    slides: Sequence[Interval] = (),
) -> SelectedSegments:
    """Choose the units of a video, of the highest value, that fit the budget; or the best whole shots.

    Edges and sample times are counted in frames of equal length; where the frames of the video are not,
    the edges of its shots stay where they are, and the last segments end a little earlier. A shot's score
    is the mean importance of its best window. The summary is never empty, and not longer than the budget.

    Args:
        importance: [T] in [0, 1].
        budget_s: maximum length of the summary.
        keep: segments that are in whatever their score; they count against the budget.
        drop: segments that are out.
        uncut: (start_s, end_s) of spoken words, fades and dissolves. No edge falls inside one, except those
            of `keep` and `drop`, and where they leave no place to cut.
        voices: spans that do the same for windows, the strictest first. A window with such an edge is taken
            only where it overlaps none without. They do not count with whole shots.
        quality: [T] in [0, 1] of the pictures, by which their importance counts less in the choice.
        slope: of people's scores, in their deviations over a video, on the logit of the importance: how much
            importance knows.
        speech: of the video; windows of shots lie in its silence. It does not count with whole shots.
        texts: what is said and written.
        slides: of the video.

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
    sampled = np.minimum(frames_at(features.timestamps, video.fps), len(video.required) - 1)
    worth = importance if quality is None else importance * quality
    expected = slope * logit(worth, LEAST_IMPORTANCE)
    worth = weigh_slides(worth, features.timestamps, slides)
    expected = weigh_slides(expected - expected.min(), features.timestamps, slides)  # the lowest is nothing
    film = Film(
        video,
        frame_sums(worth if worth.any() else worth + 1, sampled, video.edges),
        frame_sums(expected, sampled, video.edges),
        [allowed_cuts((*uncut, *spans), video.fps, len(video.required)) for spans in (*voices, ())],
        sampled,
        content_of(features, _samples_of(video, sampled), number_slides(features, slides), texts),
    )
    if limits.longest_s is None:
        chosen, size, unit = _choose_shots(film), max(film.room, 1), "shot"
    else:
        chosen, size, unit = _choose_units(film, limits, speech), _shortest(video, limits), "segment"
        unit = "sentence" if speech.units else unit
    scores = _shot_scores(video, frame_sums(importance, sampled, video.edges), size)
    segments, scored = _in_seconds(video, chosen, scores, shots, features)
    note = f"no further {unit} fits" if chosen.sum() < ENOUGH * video.capacity else ""
    return SelectedSegments(_shorten(segments, budget_s), scored, tuple(messages), note)


def _samples_of(video: VideoFrames, sampled: IntArray) -> list[slice]:
    """Return the samples of each shot."""
    return [samples_between(sampled, *shot) for shot in pairwise(video.edges.tolist())]


def _choose_units(film: Film, limits: SegmentLimits, speech: SpokenParts) -> BoolArray:
    """Return [F] which frames are in, of units."""
    assert limits.longest_s is not None
    video, shortest = film.video, _shortest(film.video, limits)
    if not film.room:
        return video.required
    longest = max(int(limits.longest_s * video.fps + 1e-6), shortest)
    is_half = 2 * video.capacity > video.n_left  # parts that touch are as good as one
    bounds = WindowLimits(
        shortest=min(shortest, film.room),
        longest=film.room if is_half else min(longest, film.room),
        apart=0 if is_half else shortest,
    )
    units = {Unit(*unit.frames(video), SPOKEN): unit.certain * unit.worth for unit in speech.units}
    return choose_units(film, bounds, units, speech.is_said(video))


def _choose_shots(film: Film) -> BoolArray:
    """Return [F] which frames are in, of whole shots; of one longer than the budget, its best part.

    The choice has the most importance in total; where it is flat, as many shots as fit.
    """
    video, room, parts = film.video, film.room, list[Unit]()
    chosen = video.required.copy()
    for places in film.places, np.arange(len(film.worth)):  # where words leave no place to cut, they are cut
        finder = WindowFinder(film.worth, places, 1)
        parts = parts or [part for cell in free_cells(video) if (part := finder.best(*cell, room))]
    scores = mean_in(film.worth, parts)
    least = WORTHLESS * scores.max(initial=0)
    parts = [part for part, score in zip(parts, scores, strict=True) if score >= least]
    scores = scores[scores >= least]
    sizes = np.array([part.size for part in parts], np.int64)
    is_flat = scores.max(initial=0) - scores.min(initial=1) < 1e-9  # any would do, for instance the opening
    taken = knapsack(values_of(np.ones_like(scores)) if is_flat else values_of(scores) * sizes, sizes, room)
    for part, is_in in zip(parts, taken, strict=True):
        chosen[part.start : part.end] |= is_in
    return chosen


def _shot_scores(video: VideoFrames, sums: TimeArray, size: int) -> TimeArray:
    """Return [S] the mean importance of the best window of each shot."""
    ideal, cells = WindowFinder(sums, np.arange(len(sums)), 1), enumerate(pairwise(video.edges.tolist()))
    best = [unit for cell in cells if (unit := ideal.best(*cell, size))]
    return np.array([(sums[unit.end] - sums[unit.start]) / unit.size for unit in best])


def _shortest(video: VideoFrames, limits: SegmentLimits) -> int:
    """Return the minimum frames of a window."""
    return min(max(round(limits.shortest_s * video.fps), 1), video.capacity)


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
    scores: TimeArray,
    shots: Shots,
    features: Features,
) -> tuple[list[Interval], tuple[ScoredShot, ...]]:
    """Return the chosen segments, and all shots with their scores."""
    runs = marked_runs(chosen)
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
