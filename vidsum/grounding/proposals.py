"""From a similarity curve to moments, without training; non-maximum suppression; snapping to shots.

A run is a sequence of clips above a threshold. docs/algorithms/grounding.md explains the rules:

`shots`     that of `vidsum ground`: runs of clips cut at the edges of shots (`salient_runs`)
`contrast`  runs above many thresholds, ranked by how far they stand out from the rest
`hybrid`    the published rule, tuned on 75 clips: first the best run above the highest threshold that enough
            clips pass (the number grows with the video), then the others
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from vidsum.errors import UsageError
from vidsum.grounding.salient_runs import salient_runs, split_curve
from vidsum.models.scaling import unit_range
from vidsum.results.moments import Moment
from vidsum.types import FloatArray, TimeArray, iou

Grouping = Literal["shots", "contrast", "hybrid"]

MAX_IOU = 0.5  # moments of one query that overlap more count as the same
REACH_S = 1.0  # edges of moments further than this from any shot's edge stay: clips are about this long
_THRESHOLDS = np.arange(2, 20) / 20
_APART = 2  # largest step between clips of a run: one may miss
_LENGTH_COUNTS = {"contrast": 0.3, "hybrid": 0.5}  # exponent of a run's length in its score

_PASSING, _FIRST_APART, _OF_CLIPS = 8, 6, 75
"""For 75 clips of `hybrid`: number that pass for the first moment, and largest step between joined clips."""
_BINS = 10


class ClipRun(NamedTuple):
    """A sequence of clips."""

    first: int
    last: int  # the last clip, inside the run

    @property
    def length(self) -> int:
        return self.last + 1 - self.first


def find_moments(
    curve: FloatArray,
    timestamps: TimeArray,
    step_s: float,
    duration_s: float,
    top_k: int,
    *,
    grouping: Grouping = "shots",
    max_iou: float = MAX_IOU,
    shots_s: TimeArray | None = None,
) -> list[Moment]:
    """Return the moments that stand out in a similarity curve, best first.

    Args:
        curve: [T] how well each clip fits the query, in any unit.
        timestamps, step_s: [T] seconds at which each clip begins; seconds of a clip.
        duration_s: of the video; no moment ends after it.
        top_k, max_iou: see `suppress`; moments of `shots` do not overlap at all.
        grouping: the rule; `shots` is that of `vidsum ground`.
        shots_s: [S + 1] edges of the video's shots for `shots`; None for one shot.

    Returns at least one moment. A score is how far its clips stand out: with `shots` in deviations of the
    curve; else (mean inside - mean outside) * (length / T)^0.3 of the curve scaled to [0, 1], where the
    exponent is 0.5 with `hybrid`, whose first moment's score is at least the second's. Errors are those of
    `suppress`.
    """
    _check(max_iou, top_k)
    saliency = unit_range(curve)
    if grouping == "shots":
        end_s = min(float(timestamps[-1]) + step_s, duration_s)
        pieces = split_curve(saliency, timestamps, step_s, end_s, shots_s)
        moments = salient_runs(pieces, step_s, top_k) or [Moment(0.0, end_s, 0.0)]
        # an edge of a clip beside a cut is there because the clip shows both shots
        if shots_s is None:
            return moments
        return suppress(snap_moments(moments, np.minimum(shots_s, end_s), step_s), 0.0, top_k)
    # a flat curve has no run: take the whole video
    ranked = _rank_runs(saliency, grouping) or [(0.0, ClipRun(0, len(saliency) - 1))]
    if grouping == "hybrid":
        first = _first_run(saliency)
        score = max(float(_contrast(saliency, [first], grouping)[0]), ranked[0][0])
        ranked = [(score, first), *ranked]

    def proposals() -> Iterator[Moment]:
        for score, run in ranked:
            end_s = min(timestamps[run.last] + step_s, duration_s)
            yield Moment(float(timestamps[run.first]), float(end_s), float(score))

    return suppress(proposals(), max_iou, top_k)


def suppress(moments: Iterable[Moment], max_iou: float, top_k: int) -> list[Moment]:
    """Apply greedy temporal non-maximum suppression: of moments that overlap too much, keep the best.

    `moments` are best first. `max_iou` in [0, 1] is the largest intersection over union with a moment that
    stays. Raises UsageError where it or `top_k` is out of range.
    """
    _check(max_iou, top_k)
    selected: list[Moment] = []
    for moment in moments:
        intervals = [(other.start_s, other.end_s) for other in selected]
        if not selected or iou([(moment.start_s, moment.end_s)], intervals).max() <= max_iou:
            selected.append(moment)
            if len(selected) == top_k:
                break
    return selected


def _check(max_iou: float, top_k: int) -> None:
    if not 0 <= max_iou <= 1:
        raise UsageError(f"max_iou must be in [0, 1], not {max_iou}")
    if top_k < 1:
        raise UsageError(f"top_k must be at least 1, not {top_k}")


def snap_moments(moments: Sequence[Moment], edges_s: TimeArray, reach_s: float = REACH_S) -> list[Moment]:
    """Return moments, each edge at the nearest of the shots' edges [S + 1] within `reach_s`.

    A moment that would be less than half as long stays.
    """

    def near(time_s: float) -> float:
        nearest = float(edges_s[np.abs(edges_s - time_s).argmin()])
        return nearest if abs(nearest - time_s) <= reach_s else time_s

    moved = [replace(moment, start_s=near(moment.start_s), end_s=near(moment.end_s)) for moment in moments]
    return [new if 2 * _length(new) >= _length(old) else old for old, new in zip(moments, moved, strict=True)]


def _length(moment: Moment) -> float:
    return moment.end_s - moment.start_s


def _first_run(saliency: FloatArray) -> ClipRun:
    """Return the best run, half by length, half by mean, at the highest threshold that enough pass."""
    n_clips = len(saliency)
    passing, apart = (max(1, round(n_clips * count / _OF_CLIPS)) for count in (_PASSING, _FIRST_APART))
    thresholds = np.arange(_BINS - 1, -1, -1) / _BINS
    threshold = next(level for level in thresholds if (saliency >= level).sum() >= passing)
    runs = _find_runs(saliency >= threshold, apart)
    return max(runs, key=lambda run: (run.length / n_clips + saliency[run.first : run.last + 1].mean()) / 2)


def _rank_runs(saliency: FloatArray, grouping: Grouping) -> list[tuple[float, ClipRun]]:
    runs = {run for threshold in _THRESHOLDS for run in _find_runs(saliency >= threshold, _APART)}
    ordered = sorted(runs)
    scores = _contrast(saliency, ordered, grouping)
    return sorted(zip(scores.tolist(), ordered, strict=True), key=lambda pair: (-pair[0], pair[1]))


def _contrast(saliency: FloatArray, runs: list[ClipRun], grouping: Grouping) -> TimeArray:
    """Return [R] (mean inside - mean outside) * (length / T)^power; 0 for all clips."""
    sums = np.concatenate([[0.0], np.cumsum(saliency, dtype=np.float64)])
    first, last = np.array(runs, np.int64).reshape(-1, 2).T
    length, inside = last + 1 - first, sums[last + 1] - sums[first]
    rest, n_rest = sums[-1] - inside, len(saliency) - length
    contrast = inside / length - rest / np.maximum(n_rest, 1)
    contrast *= (length / len(saliency)) ** _LENGTH_COUNTS[grouping]
    return np.where(length < len(saliency), contrast, 0.0)


def _find_runs(passes: npt.NDArray[np.bool_], apart: int) -> list[ClipRun]:
    """Return the runs of clips that pass; runs at most `apart` clips from each other are joined."""
    clips = np.flatnonzero(passes)
    if not len(clips):
        return []
    breaks = np.flatnonzero(np.diff(clips) > apart)
    starts = clips[np.concatenate([[0], breaks + 1])]
    ends = clips[np.concatenate([breaks, [len(clips) - 1]])]
    return [ClipRun(first, last) for first, last in zip(starts.tolist(), ends.tolist(), strict=True)]
