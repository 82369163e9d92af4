"""Measures of moment retrieval, as fractions, and its baselines: random moments and the whole video."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from vidsum.errors import UsageError, unknown_name_error
from vidsum.lab.evaluation.report import per_cent
from vidsum.lab.evaluation.settings import Comparison
from vidsum.results.moments import Moment
from vidsum.types import TimeArray, iou

TOP = (1, 5)
"""The n of R@n: the fraction of queries with a right moment among their n best."""
THRESHOLDS = (0.1, 0.3, 0.5, 0.7)
"""The IoU of the published tables."""
CURVE = tuple(round(0.05 * step, 2) for step in range(1, 20))
"""The IoU of the curve of R@1."""

RANDOM, WHOLE = BASELINES = "random", "whole video"


@dataclass(frozen=True)
class MomentMeasures:
    """How well moments meet the ground-truth windows of a set of queries."""

    recall: Mapping[tuple[int, float], float]
    """(n, IoU) -> R@n."""
    miou: float
    """Mean IoU of the best moment."""
    curve: tuple[float, ...]
    """R@1 at each IoU of `CURVE`."""

    def as_json(self) -> dict[str, Any]:
        recall = [{"top": top, "iou": at, "share": value} for (top, at), value in self.recall.items()]
        curve = [{"iou": at, "share": value} for at, value in zip(CURVE, self.curve, strict=True)]
        return {"recall": recall, "miou": self.miou, "curve": curve}

    def figures(self) -> dict[str, str]:
        recall = {f"R@{top} {at:.1f}".replace("0.", "."): value for (top, at), value in self.recall.items()}
        return {head: per_cent(fraction) for head, fraction in {**recall, "mIoU": self.miou}.items()}


def whole_video(durations_s: TimeArray) -> TimeArray:
    """Return each of Q queries answered by its whole video alone, [Q, 1, 2]."""
    return np.stack([np.zeros_like(durations_s), durations_s], axis=-1)[:, None]


def random_moments(durations_s: TimeArray, n_seeds: int, n_moments: int = max(TOP)) -> TimeArray:
    """Return [n_seeds, Q, n_moments, 2] moments between two random times of each of Q videos."""
    shape = (len(durations_s), n_moments, 2)
    draws = np.stack([np.random.default_rng(seed).random(shape) for seed in range(n_seeds)])
    return np.sort(draws, axis=-1) * durations_s[:, None, None]


def best_ious(moments: TimeArray, gt_windows: TimeArray) -> TimeArray:
    """Return [..., Q, K] the best IoU of moments [..., Q, K, 2] with windows [Q, W, 2] of their query."""
    best: TimeArray = iou(moments, gt_windows).max(axis=-1, initial=0.0)
    return best


def count_empty(answers: Iterable[Iterable[Moment]]) -> int:
    """Return number of moments that end where they start: their IoU with any window is 0."""
    return sum(moment.end_s <= moment.start_s for moments in answers for moment in moments)


def measure(ious: TimeArray, comparison: Comparison) -> MomentMeasures:
    """Return the measures of IoU [Q, K] from `best_ious`, or of draws [draws, Q, K], whose mean it is.

    `comparison`: whether an IoU that equals the threshold counts. Raises UsageError: unknown, or no query.
    """
    if comparison not in get_args(Comparison):
        raise unknown_name_error("comparison", comparison, get_args(Comparison))
    if not ious.size:
        raise UsageError("no query to evaluate on")
    meets = np.greater_equal if comparison == "mmn" else np.greater
    best = {top: ious[..., :top].max(axis=-1) for top in TOP}
    return MomentMeasures(
        recall={(top, at): float(meets(best[top], at).mean()) for top in TOP for at in THRESHOLDS},
        miou=float(best[1].mean()),
        curve=tuple(float(meets(best[1], at).mean()) for at in CURVE),
    )
