"""The evaluation of summaries: importance scores compared with the annotators, chance and equal scores."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NotRequired, TypedDict

import numpy as np

from vidsum.errors import UsageError
from vidsum.lab.datasets.annotated_videos import AnnotatedVideo
from vidsum.lab.datasets.labels import Labels
from vidsum.lab.evaluation import summary_metrics
from vidsum.lab.evaluation.evaluation_report import File, Report
from vidsum.lab.evaluation.reference import BUDGET, CHANGE_POINTS, KNAPSACKS, Reference, reference_of
from vidsum.lab.evaluation.summary_metrics import SummaryMeasures, VideoMeasures
from vidsum.results.result import count_text
from vidsum.types import BoolArray, Count, FloatArray, Number, Progress, reported, rules

Videos = Mapping[str, AnnotatedVideo] | Mapping[str, Labels]


class SummaryEvaluationProvenance(TypedDict):
    """Sources and settings of an evaluation, which may have more keys."""

    vidsum: str
    files: Annotated[Sequence[File], rules(minItems=1)]
    models: NotRequired[Mapping[str, str | None]]
    """By name or path; the SHA-256 of the checkpoint of a trained one."""
    segmentation: NotRequired[Sequence[str]]  # the segmentations that were asked for, if any
    seeds: NotRequired[Number]
    space: NotRequired[str]
    protocol: NotRequired[str]
    plot_of: NotRequired[str]


class Annotators(TypedDict):
    """The fewest and the most annotators that a video has."""

    fewest: Count
    most: Count


class ShotFrames(TypedDict):
    """Frames per shot, where all videos have change points."""

    fewest: Number
    most: Number
    mean: float


class SummaryEvaluationFacts(TypedDict):
    """Evaluation of importance scores.

    Written by `vidsum evaluate summary`. Rows of scores measured against annotators; all measures are shares,
    not per cent.
    """

    n_videos: Number
    n_tests: Number
    """More than videos where several splits test the same one; means are over tests."""
    n_annotators: Annotators
    shot_frames: NotRequired[ShotFrames]
    ranked_against: Literal["user_scores", "gtscore"]
    """Reference of tau and rho: each annotator's scores, averaged, or the annotators' mean."""
    n_seeds: Number  # draws of random scores and of random segmentations that are averaged
    budget_share: Annotated[float, rules(exclusiveMinimum=0, maximum=1)]


Scores = Mapping[str, FloatArray]  # name of a video -> [T] importance scores at its picks


def evaluate_summaries(
    videos: Videos,
    predictions: Mapping[str, Scores],
    *,
    segmentations: Sequence[str] = (CHANGE_POINTS,),
    knapsacks: Sequence[str] = KNAPSACKS,
    n_seeds: int = 10,
    selections: Mapping[str, Mapping[str, BoolArray]] = {},
    progress: Progress | None = None,
) -> Report:
    """Compare predicted importance scores with the annotators of videos.

    Rank correlation is with each annotator, averaged, where every video has `user_scores`; else with
    `gtscore`. Key-shot summaries are compared with `user_summary` for the data's own change points, and with
    summaries made from each annotator's scores for another segmentation. `selections` are finished summaries
    [n_frames] of some rows. Adds the rows `human`, `mean annotator`, `mean of the others`, `random`,
    `uniform`. Where several splits test the same video, `n_tests` is larger than `n_videos`; the means are
    over tests.

    Raises UsageError: no video, or the data lacks what a segmentation needs.
    """
    if not videos:
        raise UsageError("no video to evaluate on")
    scored = all(video.user_scores is not None for video in videos.values())
    references = [reference_of(name, video, scored=scored) for name, video in videos.items()]
    settings = [(segmentation, knapsack) for segmentation in segmentations for knapsack in knapsacks]
    *annotators, random, uniform = summary_metrics.BASELINES
    names = (*annotators, *predictions, random, uniform)
    videos_of: dict[str, dict[str, VideoMeasures]] = {row: {} for row in names}
    for reference in reported(references, "videos evaluated", progress):
        scores = {row: scores[reference.name] for row, scores in predictions.items()}
        finished = {row: frames[reference.name] for row, frames in selections.items()}
        measured = summary_metrics.measure_video(reference, scores, settings, n_seeds, finished)
        for row, measures in measured.items():
            videos_of[row][reference.name] = measures
    rows = {row: SummaryMeasures(measures) for row, measures in videos_of.items()}
    n_videos = len({video.name for video in videos.values()})
    counts = [reference.n_annotators for reference in references]
    shots = _shot_frames(references)
    facts = {
        "n_videos": n_videos,
        "n_tests": len(references),
        "n_annotators": {"fewest": min(counts), "most": max(counts)},
        **({"shot_frames": shots} if shots else {}),
        "ranked_against": "user_scores" if scored else "gtscore",
        "n_seeds": n_seeds,
        "budget_share": BUDGET,
    }
    compared = "each annotator's scores, averaged" if scored else "gtscore"
    return Report(
        "summary",
        rows,
        facts,
        warnings=_repairs(videos),
        title=_title(n_videos, counts, segmentations, knapsacks),
        note=f"tau and rho with {compared}; human: each annotator with the others; mean of the others: with "
        f"the annotator that it lacks; random: {n_seeds} draws"
        + ("; shots of {fewest} to {most} frames, {mean:.0f} on average".format(**shots) if shots else ""),
    )


def _shot_frames(references: Sequence[Reference]) -> ShotFrames | None:
    """Return the facts of FullTransNet's Table I on the shots of a data set; None where it lacks some."""
    shots = [reference.change_points for reference in references if reference.change_points is not None]
    if len(shots) < len(references):
        return None
    lengths = np.concatenate([points[:, 1] - points[:, 0] + 1 for points in shots])
    return {"fewest": int(lengths.min()), "most": int(lengths.max()), "mean": float(lengths.mean())}


def _title(
    n_videos: int, counts: Sequence[int], segmentations: Sequence[str], knapsacks: Sequence[str]
) -> str:
    fewest, most = min(counts), max(counts)
    tests = f"{len(counts)} tests of " if len(counts) > n_videos else ""
    annotators = f"{'' if fewest == most else f'{fewest} to '}{count_text(most, 'annotator')}"
    about = f"segmentation {segmentations[0]}, knapsack {' and '.join(knapsacks)}"
    if len(segmentations) > 1:
        about = f"F avg, segmentation as named, knapsack {knapsacks[-1]}"
    return f"{tests}{count_text(n_videos, 'video')}, {annotators} each; key shots of 15 %, {about}"


def _repairs(videos: Videos) -> tuple[str, ...]:
    """Return the repairs of the reader: each kind once, with its videos."""
    concerned: dict[str, list[str]] = {}
    for name, video in videos.items():
        for warning in video.warnings if isinstance(video, Labels) else video.features.warnings:
            concerned.setdefault(warning, []).append(name)
    return tuple(
        f"{names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}: {warning}"
        for warning, names in concerned.items()
    )
