"""From a similarity curve to moments, without training: docs/algorithms/grounding.md tells how and why.

`contrast`  runs of clips above many thresholds, those that stand out most first
`hybrid`    the published rule, tuned on 75 clips: first the best run above the highest threshold that enough
            clips pass, and what is enough grows with the video; then the others
`excess`    as `contrast`, against the mean of the whole video: a run of nearly all of it does not stand out,
            however low the rest is; no clip may be missing inside; for highlights
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from vidsum.grounding.nms import suppress
from vidsum.types import FloatArray, Moment, TimeArray

Grouping = Literal["contrast", "hybrid", "excess"]

MAX_IOU = 0.5
"""Moments of one query that overlap more are taken for the same one."""
_THRESHOLDS = np.arange(2, 20) / 20
_APART = {"contrast": 2, "hybrid": 2, "excess": 1}
"""Clips of a run are at most so far from each other: 2 lets one be missing."""
_LENGTH_COUNTS = {"contrast": 0.3, "hybrid": 0.5, "excess": 0.5}
"""Power of a run's length in its score."""

_PASSING, _FIRST_APART, _OF_CLIPS = 8, 6, 75
"""Of `hybrid`: so many clips pass for the first moment, and clips so far apart are joined, in 75 clips."""
_BINS = 10


class _Run(NamedTuple):
    first: int
    last: int
    """The last clip, inside the run."""


def moments_of(
    curve: FloatArray,
    timestamps: TimeArray,
    step_s: float,
    duration_s: float,
    top_k: int,
    *,
    grouping: Grouping = "contrast",
    max_iou: float = MAX_IOU,
) -> list[Moment]:
    """The moments that stand out in a similarity curve, best first.

    Args:
        curve: [T] how well each clip fits the query, in any unit.
        timestamps: [T] seconds at which each clip begins.
        step_s: seconds that a clip stands for.
        duration_s: of the video; no moment ends after it.
        top_k: most moments to give.
        grouping: the rule; `contrast` is what `vidsum ground` uses.
        max_iou: see `vidsum.grounding.nms.suppress`.

    Returns:
        At least one moment. Scores are how far its clips stand out: (mean inside - mean outside) *
        (length / T)^0.3 of the curve drawn out to [0, 1]. With `hybrid` the power is 0.5, and the first
        moment's score is not below the second's. With `excess` it is 0.5, and the mean that of all clips in
        place of that outside.

    Raises:
        UsageError: see `suppress`.
    """
    saliency = unit_range(curve)
    # a flat curve has no run: the whole video, then
    ranked = _ranked_runs(saliency, grouping) or [(0.0, _Run(0, len(saliency) - 1))]
    if grouping == "hybrid":
        first = _first_run(saliency)
        score = max(float(_contrast(saliency, [first], grouping)[0]), ranked[0][0])
        ranked = [(score, first), *ranked]

    def proposals() -> Iterator[Moment]:
        for score, run in ranked:
            end_s = min(timestamps[run.last] + step_s, duration_s)
            yield Moment(float(timestamps[run.first]), float(end_s), float(score))

    return suppress(proposals(), max_iou, top_k)


def unit_range(curve: FloatArray) -> FloatArray:
    """[T] the curve drawn out to [0, 1]; zeros where it is flat."""
    low, high = float(curve.min()), float(curve.max())
    return np.zeros_like(curve) if high == low else ((curve - low) / (high - low)).astype(np.float32)


def _first_run(saliency: FloatArray) -> _Run:
    """The best run, half by length and half by mean, at the highest threshold that enough clips pass."""
    n_clips = len(saliency)
    passing, apart = (max(1, round(n_clips * share / _OF_CLIPS)) for share in (_PASSING, _FIRST_APART))
    thresholds = np.arange(_BINS - 1, -1, -1) / _BINS
    threshold = next(level for level in thresholds if (saliency >= level).sum() >= passing)
    runs = _runs(saliency >= threshold, apart)
    return max(runs, key=lambda run: (_length(run) / n_clips + saliency[run.first : run.last + 1].mean()) / 2)


def _ranked_runs(saliency: FloatArray, grouping: Grouping) -> list[tuple[float, _Run]]:
    """Runs at all thresholds, with how far they stand out: best first."""
    runs = {run for threshold in _THRESHOLDS for run in _runs(saliency >= threshold, _APART[grouping])}
    ordered = sorted(runs)
    scores = _contrast(saliency, ordered, grouping)
    return sorted(zip(scores.tolist(), ordered, strict=True), key=lambda pair: (-pair[0], pair[1]))


def _contrast(saliency: FloatArray, runs: list[_Run], grouping: Grouping) -> TimeArray:
    """[R] (mean inside - mean outside, or of all) * (length / T)^power of each run; 0 for all clips."""
    sums = np.concatenate([[0.0], np.cumsum(saliency, dtype=np.float64)])
    first, last = np.array(runs, np.int64).reshape(-1, 2).T
    length, inside = last + 1 - first, sums[last + 1] - sums[first]
    rest, n_rest = sums[-1] - inside, len(saliency) - length
    others = sums[-1] / len(saliency) if grouping == "excess" else rest / np.maximum(n_rest, 1)
    contrast = (inside / length - others) * (length / len(saliency)) ** _LENGTH_COUNTS[grouping]
    return np.where(length < len(saliency), contrast, 0.0)


def _runs(passes: npt.NDArray[np.bool_], apart: int) -> list[_Run]:
    """Runs of the clips that pass; those at most `apart` clips from each other are joined."""
    clips = np.flatnonzero(passes)
    if not len(clips):
        return []
    breaks = np.flatnonzero(np.diff(clips) > apart)
    starts = clips[np.concatenate([[0], breaks + 1])]
    ends = clips[np.concatenate([breaks, [len(clips) - 1]])]
    return [_Run(first, last) for first, last in zip(starts.tolist(), ends.tolist(), strict=True)]


def _length(run: _Run) -> int:
    return run.last + 1 - run.first
