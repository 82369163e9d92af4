"""From an importance curve to the segments to keep: shot scores, the knapsack, `keep` and `drop`."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from vidsum.errors import UsageError
from vidsum.summary.grouped_knapsack import grouped_knapsack
from vidsum.summary.knapsack import values_of
from vidsum.summary.repetition import repetition_groups
from vidsum.summary.word_edges import clear_of_words, inside_words, longest_run
from vidsum.times import format_time
from vidsum.types import Features, FloatArray, Interval, ScoredShot, Shots, TimeArray

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

_WORTHLESS = 0.05
"""Shots whose score is below this fraction of the highest do not fill what is left of the budget."""
_SAME_S = 0.001
"""Times that differ by less are those of one frame: containers round."""
_REPEATED = 4
"""A shot that repeats another one of the summary counts with its value divided by this."""


@dataclass(frozen=True)
class Selected:
    """Key shots, joined where they touch, and messages for the user."""

    segments: tuple[Interval, ...]
    shots: tuple[ScoredShot, ...]
    """All shots, chosen or not; where a shot was split, its pieces."""
    messages: tuple[str, ...]


def select(
    features: Features,
    shots: Shots,
    importance: FloatArray,
    budget_s: float,
    *,
    keep: Sequence[Interval] = (),
    drop: Sequence[Interval] = (),
    words: Sequence[Interval] = (),
) -> Selected:
    """Choose the shots with the most importance in total that fit the budget.

    Edges and sample times are counted in frames of equal length; where those of the video are not, the edges
    of its shots stay where they are, and the summary may be longer by half a frame for each. A shot's score
    is the mean importance of the samples in it, or if it has none, the importance of the sample nearest to
    its middle; its size is the number of its frames, and its value score times size. A shot that is longer
    than the budget is split into the fewest equal pieces that are not, each with a score of its own. A shot
    that shows about the same as another one in the summary (see `repetition_groups`) counts with a quarter of
    its value, so that others come first. A shot whose score is below a twentieth of the highest (black,
    frozen) is not taken, though there is room. The summary is never empty, and not longer than the budget or,
    if that is more, one frame.

    Args:
        features: of the video.
        shots: of the video.
        importance: [T] in [0, 1].
        budget_s: maximum length of the summary.
        keep: segments that are in whatever their score; they count against the budget.
        drop: segments that are out.
        words: (start_s, end_s) of spoken words. No edge falls inside one, but for those of `keep` and `drop`,
            and where a word is longer than half of the budget.

    Raises UsageError where a segment lies outside the video, `keep` and `drop` overlap, `keep` is longer than
    the budget, or `drop` leaves nothing.
    """
    fps = features.video_fps
    n_frames = max(1, round(features.duration_s * fps))
    kept = _marked(keep, features, n_frames, "keep")
    # a frame in which one segment ends and the other begins is kept
    dropped = _marked(drop, features, n_frames, "drop") & ~kept
    if any(start < stop and begin < end for start, end in keep for begin, stop in drop):
        raise UsageError("--keep and --drop overlap")
    if dropped.all():
        raise UsageError("--drop leaves nothing of the video")
    # a budget of the video's length holds its last frame, of which only a part may be left
    capacity = n_frames if budget_s >= features.duration_s else max(1, int(budget_s * fps + 1e-6))
    room = capacity - int(kept.sum())
    if room < 0:
        needed = format_time(float(kept.sum()) / fps)
        raise UsageError(f"--keep takes {needed}, more than the budget", hint=f"--budget {needed}")
    edges = _edges(_frames(shots.edges_s, fps), kept, dropped)
    if words:
        edges = _clear_of(words, edges, kept, dropped, capacity, fps)
    edges = _split_longer_than(capacity, edges, dropped)
    sampled = np.minimum(_frames(features.timestamps, fps), n_frames - 1)
    scores = _scores(edges, sampled, importance)
    state, sizes = edges[:-1], np.diff(edges)
    groups = repetition_groups(features, np.searchsorted(edges, sampled, side="right") - 1, len(sizes))
    free = ~(kept | dropped)[state]
    free &= scores >= _WORTHLESS * scores[~dropped[state]].max()
    is_shown = np.isin(groups, groups[kept[state]])
    chosen = kept[state]
    chosen[free] = _best(scores[free], sizes[free], groups[free], is_shown[free], room)
    messages = []
    if n_frames - int(dropped.sum()) <= capacity:
        chosen = ~dropped[state]
        exception = " except --drop" if dropped.any() else ""
        messages.append(
            f"the {format_time(budget_s)} budget is longer than the video; keeping all of it{exception}"
        )
    return _selected(
        edges, chosen, scores, _times(edges, shots, features), features.duration_s, tuple(messages)
    )


def _frames(times_s: TimeArray, fps: float) -> IntArray:
    """Number of the frame that starts nearest to each time."""
    return np.round(times_s * fps).astype(np.int64)


def _marked(segments: Sequence[Interval], features: Features, n_frames: int, option: str) -> BoolArray:
    """[n_frames] whether a frame lies in one of the segments, in part or whole."""
    marked = np.zeros(n_frames, np.bool_)
    for start_s, end_s in segments:
        if not 0 <= start_s < end_s:
            raise UsageError(f"--{option} {start_s:g}-{end_s:g} s is not a time range")
        if start_s >= features.duration_s:
            length = format_time(features.duration_s)
            segment = f"{format_time(start_s)}-{format_time(end_s)}"
            raise UsageError(f"--{option} {segment} lies after the video's end at {length}")
        first = min(int(start_s * features.video_fps + 1e-6), n_frames - 1)
        last = int(np.ceil(end_s * features.video_fps - 1e-6))
        marked[first : max(last, first + 1)] = True
    return marked


def _edges(shot_edges: IntArray, kept: BoolArray, dropped: BoolArray) -> IntArray:
    """Edges, in frames, of shots cut where `keep` and `drop` begin and end."""
    n_frames = len(kept)
    changes = [np.flatnonzero(np.diff(mask)) + 1 for mask in (kept, dropped)]
    inside = np.concatenate([shot_edges, *changes])
    return np.unique(np.concatenate([[0], inside[(inside > 0) & (inside < n_frames)], [n_frames]]))


def _clear_of(
    words: Sequence[Interval], edges: IntArray, kept: BoolArray, dropped: BoolArray, capacity: int, fps: float
) -> IntArray:
    """Edges of shots moved out of words; those of `keep` and `drop` stay where they are."""
    is_inside = inside_words(words, fps, len(kept))
    # moving an edge makes a piece longer
    shorter = max(capacity - longest_run(is_inside), capacity // 2, 1)
    moved = clear_of_words(_split_longer_than(shorter, edges, dropped), is_inside)
    fixed = [np.flatnonzero(np.diff(mask)) + 1 for mask in (kept, dropped)]
    return np.unique(np.concatenate([moved, *fixed]))


def _split_longer_than(capacity: int, edges: IntArray, dropped: BoolArray) -> IntArray:
    """Edges with those of the fewest equal pieces, none longer than the capacity, put between them."""
    pieces = []
    for start, end in pairwise(edges.tolist()):
        n_pieces = 1 if dropped[start] else -(-(end - start) // capacity)
        pieces.append(start + (end - start) * np.arange(n_pieces, dtype=np.int64) // n_pieces)
    return np.append(np.concatenate(pieces), edges[-1])


def _scores(edges: IntArray, sampled: IntArray, importance: FloatArray) -> TimeArray:
    """Mean importance between edges; `sampled` are the frames of the samples."""
    first = np.searchsorted(sampled, edges)
    sums = np.concatenate([[0.0], np.cumsum(importance, dtype=np.float64)])
    counts = np.diff(first)
    scores: TimeArray = np.diff(sums[first]) / np.maximum(counts, 1)
    empty = counts == 0
    scores[empty] = importance[_nearest(sampled, (edges[:-1] + edges[1:])[empty] / 2)]
    return scores


def _nearest(times: IntArray, targets: TimeArray) -> IntArray:
    """Index of the sample nearest to each target; the earlier of two."""
    after = np.clip(np.searchsorted(times, targets), 1, max(1, len(times) - 1))
    before = after - 1
    after = np.minimum(after, len(times) - 1)
    return np.where(targets - times[before] <= times[after] - targets, before, after)


def _best(scores: TimeArray, sizes: IntArray, groups: IntArray, is_shown: BoolArray, room: int) -> BoolArray:
    """Which pieces the knapsack takes: the highest sum of score times size.

    Where all scores are equal it takes as many pieces as fit: the most importance would be any that fill the
    budget, for instance the opening.

    Args:
        scores: [S].
        sizes: [S] frames.
        groups: [S] pieces of a group repeat each other.
        is_shown: [S] whether a piece repeats one that is in the summary anyway.
        room: frames.
    """
    is_flat = len(scores) == 0 or np.ptp(scores) == 0
    values = values_of(np.ones_like(scores)) if is_flat else values_of(scores) * sizes
    again = np.maximum(values // _REPEATED, np.minimum(values, 1))
    return grouped_knapsack(np.where(is_shown, again, values), again, sizes, groups, room)


def _times(edges: IntArray, shots: Shots, features: Features) -> TimeArray:
    """Seconds of edges that are given in frames; those of a video's shots are where they were."""
    times: TimeArray = np.minimum(edges / features.video_fps, features.duration_s)
    if features.video is None:
        return times
    own = shots.edges_s[1:-1]
    place = np.searchsorted(edges, _frames(own, features.video_fps)).clip(0, len(edges) - 1)
    off_s = np.abs(times[place] - own)
    moved = (off_s > _SAME_S) & (off_s * features.video_fps <= 0.5)
    times[place[moved]] = own[moved]
    return times


def _selected(
    edges: IntArray,
    chosen: BoolArray,
    scores: TimeArray,
    times: TimeArray,
    duration_s: float,
    messages: tuple[str, ...],
) -> Selected:
    if chosen.all():
        times[-1] = duration_s
    pieces = list(zip(pairwise(times.tolist()), chosen.tolist(), scores.tolist(), strict=True))
    segments: list[Interval] = []
    for (start, end), taken, _ in pieces:
        if taken and segments and segments[-1][1] == start:
            segments[-1] = (segments[-1][0], end)
        elif taken:
            segments.append((start, end))
    shots = tuple(ScoredShot(start, end, score, taken) for (start, end), taken, score in pieces)
    return Selected(tuple(segments), shots, messages)
