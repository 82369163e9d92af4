"""The report on summaries: every row of scores beside the annotators, chance and no opinion."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from vidsum.datasets.summaries import AnnotatedVideo
from vidsum.datasets.tvsum import TVSumAnnotations
from vidsum.errors import UsageError
from vidsum.evaluation.key_shots import KNAPSACKS
from vidsum.evaluation.reference import Reference, of_annotations, of_video
from vidsum.evaluation.segmentation import CHANGE_POINTS, SEGMENTATIONS
from vidsum.evaluation.summary_metrics import (
    HUMAN,
    MEAN,
    RANDOM,
    UNIFORM,
    KeyShotMeasures,
    Measures,
    measure_video,
)
from vidsum.types import FloatArray, Progress

Predictions = Mapping[str, FloatArray]
"""Name of a video -> [T] importance scores at its picks."""


@dataclass(frozen=True)
class Row:
    """One row of the report."""

    name: str
    mean: Measures
    """Over the videos."""
    videos: Mapping[str, Measures]


@dataclass(frozen=True)
class SummaryReport:
    """What `evaluate_summaries` found."""

    rows: tuple[Row, ...]
    """`human`, `mean annotator`, the predictions, `random`, `uniform`."""
    n_videos: int
    n_tests: int
    """More than videos where several splits test the same one; the means are over tests."""
    n_annotators: tuple[int, int]
    """The fewest and the most that a video has."""
    ranked_against: str
    """`user_scores`: each annotator, averaged; `gtscore`: the mean of the annotators."""
    n_seeds: int
    warnings: tuple[str, ...] = ()


def evaluate_summaries(
    videos: Mapping[str, AnnotatedVideo],
    predictions: Mapping[str, Predictions],
    *,
    segmentations: Sequence[str] = (CHANGE_POINTS,),
    knapsacks: Sequence[str] = KNAPSACKS,
    n_seeds: int = 10,
    progress: Progress | None = None,
) -> SummaryReport:
    """Compare predicted importance scores with the annotators of videos.

    Rank correlation is with each annotator, averaged, where every video has `user_scores`; else with
    `gtscore`, never with summaries of 0 and 1. Key-shot summaries are compared with `user_summary` for the
    data's own change points, and with summaries made from each annotator's scores for another segmentation.

    Args:
        videos: by name, which need not be their own.
        predictions: by the name of the row; a row must have all videos, by the same names.
        segmentations: `change-points`, or names of `SEGMENTATIONS`.
        knapsacks: names of `KNAPSACKS`.
        n_seeds: how many random rows, and draws of random segmentations, are averaged.
        progress: called after each video.

    Raises:
        UsageError: there is no video; a row has the name of a row that is always there, lacks a video, or has
            the wrong number of scores or NaN; the data lacks what a segmentation needs; or a name is unknown.
    """
    scored = all(video.user_scores is not None for video in videos.values())
    references = [
        of_video(name, video if scored else replace(video, user_scores=None))
        for name, video in videos.items()
    ]
    report = _report(references, predictions, segmentations, knapsacks, n_seeds, progress)
    n_videos = len({video.name for video in videos.values()})
    return replace(report, n_videos=n_videos, warnings=_mended(videos))


def evaluate_annotations(
    annotations: Mapping[str, TVSumAnnotations],
    *,
    segmentations: Sequence[str] = tuple(SEGMENTATIONS),
    knapsacks: Sequence[str] = KNAPSACKS,
    n_seeds: int = 10,
    progress: Progress | None = None,
) -> SummaryReport:
    """What the annotations of TVSum alone tell: how far annotators agree, and what chance reaches.

    Arguments and errors are those of `evaluate_summaries`.
    """
    references = [of_annotations(annotated) for annotated in annotations.values()]
    return _report(references, {}, segmentations, knapsacks, n_seeds, progress)


def _report(
    references: Sequence[Reference],
    predictions: Mapping[str, Predictions],
    segmentations: Sequence[str],
    knapsacks: Sequence[str],
    n_seeds: int,
    progress: Progress | None,
) -> SummaryReport:
    if not references:
        raise UsageError("there is no video to evaluate on")
    if n_seeds < 1:
        raise UsageError(f"at least one seed is needed, not {n_seeds}")
    _check_names("segmentation", segmentations, (CHANGE_POINTS, *SEGMENTATIONS))
    _check_names("knapsack", knapsacks, KNAPSACKS)
    _check_predictions(references, predictions)
    settings = [(segmentation, knapsack) for segmentation in segmentations for knapsack in knapsacks]
    measured: dict[str, dict[str, Measures]] = {}
    for done, reference in enumerate(references, 1):
        rows = {row: scores[reference.name] for row, scores in predictions.items()}
        measured[reference.name] = measure_video(reference, rows, settings, n_seeds)
        if progress:
            progress("videos evaluated", done, len(references))
    counts = [reference.n_annotators for reference in references]
    return SummaryReport(
        rows=tuple(_row(name, measured) for name in (HUMAN, MEAN, *predictions, RANDOM, UNIFORM)),
        n_videos=len(references),
        n_tests=len(references),
        n_annotators=(min(counts), max(counts)),
        ranked_against="gtscore" if references[0].user_scores is None else "user_scores",
        n_seeds=n_seeds,
    )


def _check_names(what: str, names: Iterable[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise UsageError(f"there is no {what} {name!r}", hint=", ".join(known))


def _check_predictions(references: Sequence[Reference], predictions: Mapping[str, Predictions]) -> None:
    for row, scores in predictions.items():
        if row in (HUMAN, MEAN, RANDOM, UNIFORM):
            raise UsageError(
                f"a row of predictions cannot be called {row!r}: the report has one of that name"
            )
        for reference in references:
            if reference.name not in scores:
                raise UsageError(f"{row}: has no scores for {reference.name}")
            shape, expected = np.shape(scores[reference.name]), reference.picks.shape
            if shape != expected:
                raise UsageError(
                    f"{row}: {reference.name}: the scores are {list(shape)}, but the video has "
                    f"{expected[0]} features"
                )
            if not np.isfinite(scores[reference.name]).all():
                raise UsageError(f"{row}: {reference.name}: the scores hold NaN or infinite values")


def _row(name: str, measured: Mapping[str, Mapping[str, Measures]]) -> Row:
    videos = {video: rows[name] for video, rows in measured.items()}
    return Row(name, _mean(list(videos.values())), videos)


def _mean(measures: Sequence[Measures]) -> Measures:
    key_shots = tuple(
        KeyShotMeasures(
            same[0].segmentation,
            same[0].knapsack,
            f_max=_average([one.f_max for one in same]),
            f_avg=_average([one.f_avg for one in same]),
            coverage=_average([one.coverage for one in same]),
        )
        for same in zip(*(one.key_shots for one in measures), strict=True)
    )
    return Measures(
        tau=_average([one.tau for one in measures]),
        rho=_average([one.rho for one in measures]),
        key_shots=key_shots,
    )


def _average(values: Sequence[float | None]) -> float | None:
    """The mean over videos; None where a video has none."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None


def _mended(videos: Mapping[str, AnnotatedVideo]) -> tuple[str, ...]:
    """What the reader mended, each once, with the videos it is about."""
    about: dict[str, list[str]] = {}
    for name, video in videos.items():
        for warning in video.features.warnings:
            about.setdefault(warning, []).append(name)
    return tuple(
        f"{names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}: {warning}"
        for warning, names in about.items()
    )
