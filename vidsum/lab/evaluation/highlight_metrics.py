"""QVHighlights' measures: average precision of moments and of clips, and whether the best is right.

They equal the published evaluation down to ties. A row of an array is a query; what a query lacks is filled
up with values that never count. Measures are fractions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import numpy as np

from vidsum.lab.evaluation.evaluation_report import per_cent
from vidsum.types import BoolArray, FloatArray, Fraction, IntArray, TimeArray, iou, rules

THRESHOLDS = tuple(round(0.5 + 0.05 * step, 2) for step in range(10))  # IoU of a right moment: .5 ... .95
RECALL_THRESHOLDS = (0.3, *THRESHOLDS)  # of R1; the published evaluation lacks .3, which newer tables have
MAX_MOMENTS = 10  # number of moments of a query that count

LENGTHS_S = {"full": (0.0, np.inf), "short": (0.0, 10.0), "middle": (10.0, 30.0), "long": (30.0, np.inf)}
"""Lengths (above, at most) of the ground-truth windows that count; a query without such a window does not."""
LEVELS = {"Fair": 2, "Good": 3, "VeryGood": 4}  # the lowest score that an annotator gives a right clip


class RecallAt(TypedDict):
    """The share of queries whose first moment is right at an IoU."""

    iou: Annotated[float, rules(enum=RECALL_THRESHOLDS)]
    share: Fraction


class PrecisionAt(TypedDict):
    """Mean average precision at an IoU."""

    iou: Annotated[float, rules(enum=THRESHOLDS)]
    share: Fraction


class WindowData(TypedDict):
    """Measures of moments."""

    r1: Annotated[Sequence[RecallAt], rules(minItems=len(RECALL_THRESHOLDS), maxItems=len(RECALL_THRESHOLDS))]
    miou: Fraction  # mean IoU of the first moment with the window that it meets best
    map: Annotated[Sequence[PrecisionAt], rules(minItems=len(THRESHOLDS), maxItems=len(THRESHOLDS))]
    mean_map: Fraction  # mean of `map` over the IoU


class WindowsByLength(TypedDict):
    """Measures by the length of the right windows; null where no query has a window of such a length."""

    full: WindowData | None
    short: WindowData | None
    middle: WindowData | None
    long: WindowData | None


class ClipData(TypedDict):
    """Measures of the saliency of clips."""

    map: Fraction
    hit1: Fraction


class ClipsByLevel(TypedDict):
    """Measures by the lowest score of a right clip."""

    Fair: ClipData
    Good: ClipData
    VeryGood: ClipData


class HighlightRow(TypedDict):
    """A row of answers."""

    name: str
    moments: WindowsByLength | None  # null where there are no moments to measure
    highlights: ClipsByLevel | None  # null where there is no saliency to measure


@dataclass(frozen=True)
class WindowMeasures:
    """How well the moments of a set of queries meet the ground-truth windows."""

    recall: Mapping[float, float]  # IoU -> R1, the fraction of queries whose first moment is right
    precision: Mapping[float, float]  # IoU -> mAP, the mean average precision
    miou: float  # mean IoU of the first moment with the window that it meets best

    @property
    def mean_precision(self) -> float:
        """mAP over all IoU."""
        return float(np.mean(list(self.precision.values())))

    def as_json(self) -> WindowData:
        return {
            "r1": [{"iou": at, "share": fraction} for at, fraction in self.recall.items()],
            "miou": self.miou,
            "map": [{"iou": at, "share": fraction} for at, fraction in self.precision.items()],
            "mean_map": self.mean_precision,
        }


@dataclass(frozen=True)
class ClipMeasures:
    """How well the saliency of clips agrees with annotators."""

    precision: float  # mAP over queries and annotators
    hit: float  # HIT@1: the fraction of queries whose most salient clip is right to at least one annotator


@dataclass(frozen=True)
class HighlightMeasures:
    moments: Mapping[str, WindowMeasures | None] | None  # from `measure_moments`; None: no moments
    clips: Mapping[str, ClipMeasures] | None  # from `measure_clips`; None: no saliency

    def as_json(self) -> dict[str, Any]:
        moments = clips = None
        if self.moments is not None:
            moments = {name: windows and windows.as_json() for name, windows in self.moments.items()}
        if self.clips is not None:
            clips = {name: {"map": level.precision, "hit1": level.hit} for name, level in self.clips.items()}
        return {"moments": moments, "highlights": clips}

    def figures(self) -> dict[str, str]:
        figures = {}
        if self.moments and (full := self.moments["full"]):
            figures = {f"R1 {at:.1f}".replace("0.", "."): full.recall[at] for at in (0.3, 0.5, 0.7)}
            figures["mIoU"] = full.miou
            figures |= {"mAP .5": full.precision[0.5], "mAP .75": full.precision[0.75]}
            for name, windows in self.moments.items():
                if windows:
                    figures["mAP" if name == "full" else f"mAP {name}"] = windows.mean_precision
        for level, clips in (self.clips or {}).items():
            figures |= {f"HL mAP {level}": clips.precision, f"HL HIT@1 {level}": clips.hit}
        return {head: per_cent(fraction) for head, fraction in figures.items()}


def measure_moments(
    moments: TimeArray, scores: TimeArray, gt_windows: TimeArray
) -> dict[str, WindowMeasures | None]:
    """Return the measures of moments, by `LENGTHS_S`; None where no query has windows of these lengths.

    Of moments [Q, K, 2], the first for R1, scores [Q, K] that rank them for average precision (ties stay in
    order), and ground-truth windows [Q, W, 2], empty ones for padding.
    """
    # as published: windows are chosen by one IoU, for R1 too, but whether R1's is met enough by the other
    ious = iou(moments, gt_windows, union="lengths")
    first_ious = iou(moments[:, :1], gt_windows)[:, 0]
    order = np.argsort(-scores, axis=-1, kind="stable")
    ranked = np.take_along_axis(ious, order[..., None], axis=1)
    lengths_s = gt_windows[..., 1] - gt_windows[..., 0]
    measures: dict[str, WindowMeasures | None] = {}
    for name, (above, at_most) in LENGTHS_S.items():
        counts = (above < lengths_s) & (lengths_s <= at_most)
        rows = counts.any(axis=-1)
        measures[name] = None
        if rows.any():
            window = np.where(counts, ious[:, 0], -1.0).argmax(axis=-1)
            first = np.take_along_axis(first_ious, window[:, None], axis=-1)[rows]
            n_windows = counts[rows].sum(axis=-1)
            precision = moment_precisions(ranked[rows] * counts[rows, None], n_windows).mean(axis=0)
            measures[name] = WindowMeasures(
                recall={at: float((first >= at).mean()) for at in RECALL_THRESHOLDS},
                precision=dict(zip(THRESHOLDS, precision.tolist(), strict=True)),
                miou=float(first.mean()),
            )
    return measures


def measure_clips(saliency: TimeArray, annotators: FloatArray, n_clips: IntArray) -> dict[str, ClipMeasures]:
    """Return the measures of saliency [Q, C] of n clips [Q], by `LEVELS`; `annotators` are [Q, C, U]."""
    has_clip = np.arange(saliency.shape[-1]) < n_clips[:, None]
    filled = np.where(has_clip & np.isneginf(saliency), 0.0, saliency)
    right = np.concatenate([np.moveaxis(annotators >= least, -1, 0) for least in LEVELS.values()])
    precision = clip_precisions(filled, right).reshape(len(LEVELS), -1).mean(axis=-1)
    hits = best_clip_hits(saliency, right).reshape(len(LEVELS), -1, len(saliency)).any(axis=1).mean(axis=-1)
    return dict(zip(LEVELS, map(ClipMeasures, precision.tolist(), hits.tolist()), strict=True))


def moment_precisions(ious: TimeArray, n_windows: IntArray) -> TimeArray:
    """Return [Q, T] ActivityNet's interpolated average precision of moments at each IoU of `THRESHOLDS`.

    A moment is right if it meets a window by the threshold that no better moment took. Of `ious` [Q, K, W] of
    K moments, best first, with W windows, 0 where there is none; `n_windows` [Q] are at least 1.
    """
    right = _match_windows(ious)
    precision = right.cumsum(axis=-1) / np.arange(1, right.shape[-1] + 1)
    return np.asarray((_interpolate(precision) * right).sum(axis=-1) / n_windows[:, None])


def _match_windows(ious: TimeArray) -> BoolArray:
    """Return [Q, T, K] which moments are right; no window is taken twice."""
    n_queries, n_moments, n_windows = ious.shape
    thresholds = np.array(THRESHOLDS)[:, None]
    free = np.ones((n_queries, len(thresholds), n_windows), bool)
    right = np.zeros((n_queries, len(thresholds), n_moments), bool)
    for rank in range(n_moments):
        rows = np.flatnonzero(ious[:, rank].max(axis=-1) >= THRESHOLDS[0])  # few: the others need no look
        ious_at_rank = ious[rows, rank][:, None]
        can_take = np.where(free[rows] & (ious_at_rank >= thresholds), ious_at_rank, 0.0)
        best = n_windows - 1 - can_take[..., ::-1].argmax(axis=-1)  # of equal ones the last, as published
        right[rows, :, rank] = takes = can_take.max(axis=-1) > 0
        row, threshold = np.nonzero(takes)
        free[rows[row], threshold, best[row, threshold]] = False
    return right


def clip_precisions(scores: TimeArray, right: BoolArray) -> TimeArray:
    """Return [N, Q] average precision of clips [Q, C] by score, in N opinions [N, Q, C] of which are right.

    The mean of the interpolated precision over the distinct scores that add a right clip; 0 where none is
    right; -inf for clips that the video does not have.
    """
    order = np.argsort(-scores, axis=-1, kind="stable")
    ranked = np.take_along_axis(scores, order, axis=-1)
    last = np.ones_like(ranked, bool)  # the last clip of its score
    last[:, :-1] = ranked[:, :-1] != ranked[:, 1:]
    # an opinion at a time, as all together are slower by memory
    return np.stack([_clip_precision(np.take_along_axis(opinion, order, -1), last) for opinion in right])


def _clip_precision(right: BoolArray, last: BoolArray) -> TimeArray:
    """Return [Q] of ranked clips [Q, C], for one opinion."""
    counts = right.cumsum(axis=-1) * last
    before = np.zeros_like(counts)
    before[:, 1:] = np.maximum.accumulate(counts, axis=-1)[:, :-1]
    adds = counts > before
    precision = _interpolate(counts / np.arange(1, right.shape[-1] + 1))
    return np.asarray((precision * adds).sum(axis=-1) / np.maximum(adds.sum(axis=-1), 1))


def best_clip_hits(scores: TimeArray, right: BoolArray) -> BoolArray:
    """Return [N, Q] whether the clip of the highest score is right; see `clip_precisions`."""
    return np.asarray(right[:, np.arange(len(scores)), scores.argmax(axis=-1)])


def _interpolate(precision: TimeArray) -> TimeArray:
    """Return the best precision [..., K] at each rank or a later one."""
    return np.asarray(np.maximum.accumulate(precision[..., ::-1], axis=-1)[..., ::-1])
