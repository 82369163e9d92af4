"""From a similarity curve to moments, without training; non-maximum suppression; edges at cuts.

docs/algorithms/grounding.md explains the rules.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from vidsum.grounding.salient_runs import salient_runs, split_curve
from vidsum.models.scaling import unit_range
from vidsum.results.moments import Moment
from vidsum.types import FloatArray, TimeArray, iou

MAX_IOU = 0.5  # moments of one query that overlap more count as the same


def find_moments(
    curve: FloatArray,
    timestamps: TimeArray,
    step_s: float,
    duration_s: float,
    top_k: int,
    *,
    shots_s: TimeArray | None = None,
) -> list[Moment]:
    """Return the moments that stand out in a similarity curve, best first; they do not overlap.

    Args:
        curve: [T] how well each clip fits the query, in any unit.
        timestamps, step_s: [T] seconds at which each clip begins; seconds of a clip.
        duration_s: of the video; no moment ends after it.
        top_k: see `suppress`.
        shots_s: [S + 1] edges of the video's shots; None for one shot.

    Returns at least one moment. A score is how far its clips stand out, in deviations of the curve.
    """
    end_s = min(float(timestamps[-1]) + step_s, duration_s)
    pieces = split_curve(unit_range(curve), timestamps, step_s, end_s, shots_s)
    moments = salient_runs(pieces, step_s, top_k) or [Moment(0.0, end_s, 0.0)]
    if shots_s is not None:  # an edge of a clip beside a cut is there because the clip shows both shots
        moments = snap_moments(moments, np.minimum(shots_s, end_s), step_s)
    return suppress(moments, 0.0, top_k)


def suppress(moments: Iterable[Moment], max_iou: float, top_k: int) -> list[Moment]:
    """Apply greedy temporal non-maximum suppression: of moments that overlap too much, keep the best.

    `moments` are best first. `max_iou` in [0, 1] is the largest intersection over union with a moment that
    stays.
    """
    selected: list[Moment] = []
    for moment in moments:
        intervals = [(other.start_s, other.end_s) for other in selected]
        if not selected or iou([(moment.start_s, moment.end_s)], intervals).max() <= max_iou:
            selected.append(moment)
            if len(selected) == top_k:
                break
    return selected


def snap_moments(moments: Sequence[Moment], edges_s: TimeArray, reach_s: float) -> list[Moment]:
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
