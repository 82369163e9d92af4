"""From a similarity curve to moments, without training: docs/algorithms/grounding.md tells how and why.

The first moment is the best run of the clips above the highest threshold that enough clips pass; the others
are runs at many thresholds, those that stand out most first.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vidsum.grounding.nms import suppress
from vidsum.types import FloatArray, Moment, TimeArray

MAX_IOU = 0.5
"""Moments of one query that overlap more are taken for the same one."""

_PASSING, _APART, _OF_CLIPS = 8, 3, 75
"""For the first moment so many clips pass, and clips so far apart are joined, in a video of 75 clips."""
_MOST_S = 150.0
"""Both grow with the number of clips up to this length: moments of longer videos are no longer."""
_BINS = 10
_ONE_MISSING = 2
"""How far apart clips are that have one between them."""
_THRESHOLDS = np.arange(2, 20) / 20


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
    max_iou: float = MAX_IOU,
) -> list[Moment]:
    """The moments that stand out in a similarity curve, best first.

    Args:
        curve: [T] how well each clip fits the query, in any unit.
        timestamps: [T] seconds at which each clip begins.
        step_s: seconds that a clip stands for.
        duration_s: of the video; no moment ends after it.
        top_k: most moments to give.
        max_iou: see `vidsum.grounding.nms.suppress`.

    Returns:
        At least one moment. Scores are how far its clips stand out: (mean inside - mean outside) *
        sqrt(length / T) of the curve drawn out to [0, 1]; the first moment's is not below the second's.

    Raises:
        UsageError: see `suppress`.
    """
    saliency = unit_range(curve)
    first, rest = _first_run(saliency, step_s), _ranked_runs(saliency)
    best = max(_contrast(saliency, [first])[0], rest[0][0] if rest else 0.0)

    def proposals() -> Iterator[Moment]:
        for score, run in [(best, first), *rest]:
            end_s = min(timestamps[run.last] + step_s, duration_s)
            yield Moment(float(timestamps[run.first]), float(end_s), float(score))

    return suppress(proposals(), max_iou, top_k)


def unit_range(curve: FloatArray) -> FloatArray:
    """[T] the curve drawn out to [0, 1]; zeros where it is flat."""
    low, high = float(curve.min()), float(curve.max())
    return np.zeros_like(curve) if high == low else ((curve - low) / (high - low)).astype(np.float32)


def _first_run(saliency: FloatArray, step_s: float) -> _Run:
    """The best run, half by length and half by mean, at the highest threshold that enough clips pass."""
    clips = min(len(saliency), max(1, round(_MOST_S / step_s)))
    passing = max(1, round(clips * _PASSING / _OF_CLIPS))
    apart = max(_ONE_MISSING, round(clips * _APART / _OF_CLIPS))
    thresholds = np.arange(_BINS - 1, -1, -1) / _BINS
    threshold = next(level for level in thresholds if (saliency >= level).sum() >= passing)
    runs = _runs(saliency >= threshold, apart)
    return max(runs, key=lambda run: (_length(run) / clips + saliency[run.first : run.last + 1].mean()) / 2)


def _ranked_runs(saliency: FloatArray) -> list[tuple[float, _Run]]:
    """Runs at all thresholds, one missing clip allowed inside, with how far they stand out: best first."""
    runs = {run for threshold in _THRESHOLDS for run in _runs(saliency >= threshold, _ONE_MISSING)}
    ordered = sorted(runs)
    scores = _contrast(saliency, ordered)
    return sorted(zip(scores.tolist(), ordered, strict=True), key=lambda pair: (-pair[0], pair[1]))


def _contrast(saliency: FloatArray, runs: list[_Run]) -> TimeArray:
    """[R] (mean inside - mean outside) * sqrt(length / T) of each run; 0 for that of all clips."""
    sums = np.concatenate([[0.0], np.cumsum(saliency, dtype=np.float64)])
    first, last = np.array(runs, np.int64).reshape(-1, 2).T
    length, inside = last + 1 - first, sums[last + 1] - sums[first]
    outside = (sums[-1] - inside) / np.maximum(len(saliency) - length, 1)
    contrast = (inside / length - outside) * np.sqrt(length / len(saliency))
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
