"""A video in frames: its shots, what a summary must hold and must not, and how much it may hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from vidsum.errors import Mention, UsageError, fill
from vidsum.results.features import Features
from vidsum.results.shots import Shots
from vidsum.times import format_time
from vidsum.types import BoolArray, IntArray, Interval, TimeArray
from vidsum.video.probe import start_offset_s

ENOUGH: Final = 0.9  # fraction of the budget that a choice should use


@dataclass(frozen=True)
class VideoFrames:
    """A video in frames: [F] which must and must not be in."""

    edges: IntArray  # [S + 1] of the shots, cut where `keep` and `drop` begin and end
    required: BoolArray
    dropped: BoolArray
    capacity: int  # frames of the summary
    fps: float

    @property
    def n_left(self) -> int:
        return int((~self.dropped).sum())

    def span(self, start_s: float, end_s: float) -> tuple[int, int]:
        """Return the frames [start, end) that are on screen in a span, at least one."""
        n_frames = len(self.required)
        start = min(max(int(start_s * self.fps), 0), n_frames - 1)
        return start, min(max(int(np.ceil(end_s * self.fps)), start + 1), n_frames)


def to_frames(
    features: Features, shots: Shots, budget_s: float, keep: Sequence[Interval], drop: Sequence[Interval]
) -> VideoFrames:
    """Return a video in frames, with the spans that are in and out, and the budget.

    Raises UsageError: a span is no time range or lies after the video; a part is to be both in and out;
    nothing is left; or `keep` is longer than the budget.
    """
    fps = features.video_fps
    n_frames = max(1, round(features.duration_s * fps))
    required = _mark(keep, features, n_frames, "keep")
    # a frame in which one segment ends and the other begins is kept
    dropped = _mark(drop, features, n_frames, "drop") & ~required
    if any(start < stop and begin < end for start, end in keep for begin, stop in drop):
        raise UsageError(fill("{} and {} overlap", Mention("keep"), Mention("drop")))
    if dropped.all():
        raise UsageError((Mention("drop"), " leaves nothing of the video"))
    # a budget of the video's length holds its last frame, of which only a part may be left
    capacity = n_frames if budget_s >= features.duration_s else max(1, int(budget_s * fps + 1e-6))
    if required.sum() > capacity:
        needed = format_time(float(required.sum()) / fps)
        raise UsageError(
            (Mention("keep"), f" takes {needed}, more than the budget"), hint=Mention("budget", needed)
        )
    edges = cut_edges(frames_at(shots.edges_s, fps), required, dropped)
    return VideoFrames(edges, required, dropped, capacity, fps)


def _mark(segments: Sequence[Interval], features: Features, n_frames: int, option: str) -> BoolArray:
    """Return [n_frames] whether a frame lies in one of the segments, in part or whole."""
    marked = np.zeros(n_frames, np.bool_)
    for start_s, end_s in segments:
        offset_s = start_offset_s(features.video)
        if start_s == end_s == 0 < offset_s:  # as a player shows it, it is not that short
            fault = f" ends before the first picture, at {format_time(offset_s)}"
            raise UsageError((Mention(option), fault))
        if not 0 <= start_s < end_s:
            raise UsageError((Mention(option), f" {start_s:g}-{end_s:g} s is not a time range"))
        if start_s >= features.duration_s:
            length = format_time(features.duration_s + offset_s)
            segment = f"{format_time(start_s + offset_s)}-{format_time(end_s + offset_s)}"
            raise UsageError((Mention(option), f" {segment} lies after the video's end at {length}"))
        first = min(int(start_s * features.video_fps + 1e-6), n_frames - 1)
        last = int(np.ceil(end_s * features.video_fps - 1e-6))
        marked[first : max(last, first + 1)] = True
    return marked


def cut_edges(shot_edges: IntArray, required: BoolArray, dropped: BoolArray) -> IntArray:
    """Return the edges of shots, in frames, cut where `keep` and `drop` begin and end."""
    n_frames = len(required)
    changes = [np.flatnonzero(np.diff(mask)) + 1 for mask in (required, dropped)]
    inside = np.concatenate([shot_edges, *changes])
    return np.unique(np.concatenate([[0], inside[(inside > 0) & (inside < n_frames)], [n_frames]]))


def marked_runs(marked: BoolArray, breaks: Sequence[int] | IntArray = ()) -> list[tuple[int, int]]:
    """Return the frames [start, end) of each run of marked ones; a run is cut at breaks."""
    cuts = np.flatnonzero(np.diff(marked)) + 1
    edges = np.unique(np.concatenate([[0], cuts, breaks, [len(marked)]]))
    return [(start, end) for start, end in pairwise(edges.astype(int).tolist()) if marked[start]]


def frames_at(times_s: TimeArray, fps: float) -> IntArray:
    """Return the frames that begin nearest to times in seconds."""
    return np.round(times_s * fps).astype(np.int64)


def free_cells(video: VideoFrames) -> list[tuple[int, tuple[int, int]]]:
    """Return the numbers and frames [start, end) of the shots that are neither in nor out."""
    is_set = (video.required | video.dropped)[video.edges[:-1]]
    cells = enumerate(pairwise(video.edges.tolist()))
    return [(shot, cell) for shot, cell in cells if not is_set[shot]]


def join_cells(cells: Sequence[tuple[int, tuple[int, int]]]) -> list[tuple[int, tuple[int, int]]]:
    """Return cells, with those that touch as one."""
    joined = list[tuple[int, tuple[int, int]]]()
    for shot, (start, end) in cells:
        if joined and joined[-1][1][1] == start:
            joined[-1] = joined[-1][0], (joined[-1][1][0], end)
        else:
            joined.append((shot, (start, end)))
    return joined
