"""The evaluations of moments and of QVHighlights, with the baselines random moments and the whole video.

Measures are fractions.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Annotated, NotRequired, TypedDict

import numpy as np

from vidsum.errors import UsageError
from vidsum.lab.datasets.timed_sentences import MomentVideo, Query, describe_repairs
from vidsum.lab.evaluation import highlight_metrics
from vidsum.lab.evaluation.evaluation_report import Extent, File, Report, per_cent
from vidsum.lab.evaluation.highlight_metrics import (
    MAX_MOMENTS,
    ClipMeasures,
    HighlightMeasures,
    WindowMeasures,
)
from vidsum.lab.evaluation.settings import Comparison
from vidsum.lab.evaluation.submissions import MomentPredictions, QueryPrediction
from vidsum.results.moments import Moment
from vidsum.types import Fraction, Number, TimeArray, iou, rules, stack_intervals

TOP = (1, 5)  # the n of R@n: the fraction of queries with a right moment among their n best
THRESHOLDS = (0.1, 0.3, 0.5, 0.7)  # the IoU of the published tables
N_RECALLS = len(TOP) * len(THRESHOLDS)
CURVE = tuple(round(0.05 * step, 2) for step in range(1, 20))  # the IoU of the curve of R@1

RANDOM, WHOLE = BASELINES = "random", "whole video"


class MomentEvaluationProvenance(TypedDict):
    """Sources and settings of an evaluation of moments."""

    vidsum: str
    files: Annotated[Sequence[File], rules(minItems=1)]  # annotations, predictions, checkpoints
    features: NotRequired[Sequence[Extent]]
    query_features: NotRequired[Sequence[Extent]]  # the folder of models that read queries from files
    max_iou: Fraction
    comparison: Comparison
    seeds: Number


class Averages(TypedDict):
    """Averages over videos, queries (words end at spaces) and ground-truth windows."""

    video_s: float
    query_words: float
    moment_s: float


class MomentEvaluationFacts(TypedDict):
    """Evaluation of moments.

    Written by `vidsum evaluate moments`. Rows of moments measured against annotators; all measures are
    shares, not per cent.
    """

    n_videos: Number
    n_queries: Number
    averages: NotRequired[Averages]
    comparison: Comparison
    """A moment is found where its IoU is at least the threshold (mmn) or above it (2d-tan)."""
    n_seeds: Number  # draws that the random row is the mean of


class RecallOf(TypedDict):
    """The share of the queries with a right moment among their `top` best."""

    top: Annotated[int, rules(enum=TOP)]
    iou: Annotated[float, rules(enum=THRESHOLDS)]
    share: Fraction


class CurvePoint(TypedDict):
    """R@1 at an IoU."""

    iou: Fraction
    share: Fraction


class MomentFigures(TypedDict):
    """The measures of a row."""

    recall: Annotated[Sequence[RecallOf], rules(minItems=N_RECALLS, maxItems=N_RECALLS)]
    miou: Fraction  # mean IoU of the best moment
    curve: Annotated[Sequence[CurvePoint], rules(minItems=len(CURVE), maxItems=len(CURVE))]
    """R@1 at an IoU of .05, .10 ... .95."""


class MomentRow(MomentFigures):
    """A row of moments."""

    name: str


class HighlightEvaluationProvenance(TypedDict):
    """Sources and settings of an evaluation of highlights."""

    vidsum: str
    files: Annotated[Sequence[File], rules(minItems=2, maxItems=2)]  # annotations; predictions or checkpoint
    features: NotRequired[Annotated[Sequence[Extent], rules(minItems=1)]]  # features that a checkpoint reads
    text_features: NotRequired[Sequence[Extent]]
    """The folder of the words of queries, where no text encoder embedded them for a checkpoint."""
    seeds: Number


class HighlightEvaluationFacts(TypedDict):
    """Evaluation of highlights.

    Written by `vidsum evaluate highlights`: QVHighlights' official measures of a submission, beside rows that
    do not look; all measures are shares, not per cent.
    """

    n_videos: Number
    n_queries: Number
    n_seeds: Number  # draws that the random row is the mean of


@dataclass(frozen=True)
class MomentMeasures:
    """How well moments meet the ground-truth windows of a set of queries."""

    recall: Mapping[tuple[int, float], float]  # (n, IoU) -> R@n
    miou: float  # mean IoU of the best moment
    curve: tuple[float, ...]  # R@1 at each IoU of `CURVE`

    def as_json(self) -> MomentFigures:
        return {
            "recall": [{"top": top, "iou": at, "share": value} for (top, at), value in self.recall.items()],
            "miou": self.miou,
            "curve": [{"iou": at, "share": value} for at, value in zip(CURVE, self.curve, strict=True)],
        }

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
    return np.asarray(iou(moments, gt_windows).max(axis=-1, initial=0.0))


def count_empty(answers: Iterable[Iterable[Moment]]) -> int:
    """Return number of moments that end where they start: their IoU with any window is 0."""
    return sum(moment.end_s <= moment.start_s for moments in answers for moment in moments)


def measure(ious: TimeArray, comparison: Comparison) -> MomentMeasures:
    """Return the measures of IoU [Q, K] from `best_ious`, or of draws [draws, Q, K], whose mean it is.

    `comparison`: whether an IoU that equals the threshold counts. Raises UsageError: no query.
    """
    if not ious.size:
        raise UsageError("no query to evaluate on")
    meets = np.greater_equal if comparison == "mmn" else np.greater
    best = {top: ious[..., :top].max(axis=-1) for top in TOP}
    return MomentMeasures(
        recall={(top, at): float(meets(best[top], at).mean()) for top in TOP for at in THRESHOLDS},
        miou=float(best[1].mean()),
        curve=tuple(float(meets(best[1], at).mean()) for at in CURVE),
    )


_MEANS = "{video_s:.1f} s per video, {query_words:.1f} words per query, {moment_s:.1f} s per moment"
_EMPTY = "moments that are empty and count as wrong"


def evaluate_moments(
    videos: Mapping[str, MomentVideo],
    predictions: Mapping[str, MomentPredictions],
    *,
    comparison: Comparison = "mmn",
    n_seeds: int = 10,
) -> Report:
    """Compare moments with ground-truth windows. Of several windows of a query, the best met counts.

    A row of predictions has all queries of all videos, though a query may have no moment. Adds the rows
    `random`, the mean of `n_seeds` draws, and `whole video`. Raises UsageError: no query.
    """
    queries = [query for video in videos.values() for query in video.queries]
    gt_windows, durations_s = _truth(queries)
    moments = {}
    for row, answers in predictions.items():
        in_order = [of_query for name in videos for of_query in answers.get(name, ())]
        moments[row] = _stack(in_order, max(TOP))
    moments[RANDOM] = random_moments(durations_s, n_seeds)
    moments[WHOLE] = whole_video(durations_s)
    ious = {row: best_ious(windows, gt_windows) for row, windows in moments.items()}
    rows = {row: measure(of_row, comparison) for row, of_row in ious.items()}
    queried = [video for video in videos.values() if video.queries]
    averages: Averages = {  # the averages of MRNet's Table 1, and the mean length of the moments
        "video_s": fmean(video.duration_s for video in queried),
        "query_words": fmean(len(query.text.split()) for query in queries),
        "moment_s": fmean(end - start for query in queries for start, end in query.windows),
    }
    empty = {
        row: count_empty(moments for queries in answers.values() for moments in queries)
        for row, answers in predictions.items()
    }
    sign = ">=" if comparison == "mmn" else ">"
    facts: MomentEvaluationFacts = {
        "n_videos": len(queried),
        "n_queries": len(queries),
        "averages": averages,
        "comparison": comparison,
        "n_seeds": n_seeds,
    }
    return Report(
        "moments",
        rows,
        facts,
        warnings=(*describe_repairs(videos), *(f"{row}: {_EMPTY}: {n}" for row, n in empty.items() if n)),
        title=f"{len(queries)} queries of {len(queried)} videos, per cent",
        note=f"means: {_MEANS.format(**averages)}; "
        f"found: IoU {sign} the threshold ({comparison}); mIoU of the best moment; "
        f"random: {n_seeds} draws",
    )


def _stack(answers: Iterable[Sequence[Moment]], length: int) -> TimeArray:
    """Return [Q, length, 2]"""
    windows = [[(moment.start_s, moment.end_s) for moment in answer] for answer in answers]
    return stack_intervals(windows, length)


def _truth(queries: Sequence[Query]) -> tuple[TimeArray, TimeArray]:
    """Ground-truth windows [Q, W, 2] and durations [Q] of the videos."""
    durations_s = np.array([query.duration_s for query in queries])
    return stack_intervals([query.windows for query in queries]), durations_s


def evaluate_highlights(
    queries: Mapping[str, Query],
    predictions: Mapping[str, QueryPrediction],
    *,
    name: str = "predictions",
    n_seeds: int = 10,
) -> Report:
    """Measure moments and saliency of answers by qid as QVHighlights' official evaluation does.

    Adds the rows `random` and `whole video`. All answers have the same parts, as the answers of a file.
    Raises UsageError: no query, or nothing to measure.
    """
    if not queries:
        raise UsageError("no query to evaluate on")
    answers = [predictions[qid] for qid in queries]
    data = tuple(queries.values())
    moments, clips = _moment_rows(name, data, answers, n_seeds), _clip_rows(name, data, answers, n_seeds)
    if not moments and not clips:
        raise UsageError("the predictions have no moments, and there is no saliency to measure")
    n_videos = len({query.video for query in data})
    facts: HighlightEvaluationFacts = {"n_videos": n_videos, "n_queries": len(data), "n_seeds": n_seeds}
    return Report(
        "highlights",
        {row: HighlightMeasures(moments.get(row), clips.get(row)) for row in (name, RANDOM, WHOLE)},
        facts,
        warnings=tuple(_warnings(data, answers)),
        title=f"{len(data)} queries of {n_videos} videos, per cent",
        note=f"R1, HIT@1: of the first moment, the best clip; random: {n_seeds} draws",
    )


def _moment_rows(
    name: str, queries: Sequence[Query], answers: Sequence[QueryPrediction], n_seeds: int
) -> dict[str, dict[str, WindowMeasures | None]]:
    """Return the measures of moments by the name of the row; none where the predictions have no moments."""
    ranked = [answer.moments[:MAX_MOMENTS] for answer in answers if answer.moments is not None]
    if not ranked:
        return {}
    scores = _pad_saliency([[moment.score for moment in answer] for answer in ranked], MAX_MOMENTS)
    gt_windows, durations_s = _truth(queries)
    drawn = np.concatenate(random_moments(durations_s, n_seeds, MAX_MOMENTS))
    whole = whole_video(durations_s)
    measure = highlight_metrics.measure_moments
    return {
        name: measure(_stack(ranked, MAX_MOMENTS), scores, gt_windows),
        RANDOM: measure(drawn, np.zeros(drawn.shape[:-1]), np.concatenate([gt_windows] * n_seeds)),
        WHOLE: measure(whole, np.zeros(whole.shape[:-1]), gt_windows),
    }


def _clip_rows(
    name: str, queries: Sequence[Query], answers: Sequence[QueryPrediction], n_seeds: int
) -> dict[str, dict[str, ClipMeasures]]:
    """Return the measures of saliency by row, if predictions and data have it; all clips of `WHOLE` tie."""
    predicted = [answer.saliency for answer in answers if answer.saliency is not None]
    scored = [query.saliency for query in queries if query.saliency is not None]
    if not predicted or not scored:
        return {}
    n_clips = np.array([query.n_clips for query in queries])
    annotators = np.zeros((len(queries), n_clips.max(), scored[0].shape[1]), np.float32)
    for row, saliency in zip(annotators, scored, strict=True):
        row[: len(saliency)] = saliency
    shape = annotators.shape[:2]
    outside = np.where(np.arange(shape[1]) < n_clips[:, None], 0.0, -np.inf)
    draws = [np.random.default_rng(seed).random(shape) + outside for seed in range(n_seeds)]
    repeated = np.concatenate([annotators] * n_seeds), np.tile(n_clips, n_seeds)
    return {
        name: highlight_metrics.measure_clips(_pad_saliency(predicted, shape[1]), annotators, n_clips),
        RANDOM: highlight_metrics.measure_clips(np.concatenate(draws), *repeated),
        WHOLE: highlight_metrics.measure_clips(outside, annotators, n_clips),
    }


def _pad_saliency(rows: Sequence[Sequence[float]], length: int) -> TimeArray:
    """Return [Q, length], filled up with -inf."""
    return np.array([[*row, *[-np.inf] * (length - len(row))] for row in rows], np.float64)


def _warnings(queries: Sequence[Query], answers: Sequence[QueryPrediction]) -> Iterator[str]:
    if answers[0].moments is None:
        yield "the predictions have no pred_relevant_windows: only saliency is measured"
    moments = [answer.moments for answer in answers if answer.moments]
    if n_empty := count_empty(moments):
        yield f"{_EMPTY}: {n_empty}"
    if n_disordered := sum(max(moment.score for moment in row) > row[0].score for row in moments):
        yield f"first moments that are not those of the highest score, but taken for R1: {n_disordered}"
    if answers[0].saliency is None:
        yield "the predictions have no pred_saliency_scores: only moments are measured"
    elif queries[0].saliency is None:
        yield "the data has no saliency_scores of annotators: only moments are measured"
    elif n_short := sum(
        len(answer.saliency or ()) < query.n_clips for query, answer in zip(queries, answers, strict=True)
    ):
        yield f"queries whose last clip has no score, which mAP counts as 0: {n_short}"
