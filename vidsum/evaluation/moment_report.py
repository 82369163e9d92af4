"""The report on moment retrieval: every row of predictions beside chance and the whole video."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vidsum.datasets.moments import MomentVideo, mended
from vidsum.errors import UsageError
from vidsum.evaluation.moment_baselines import RANDOM, WHOLE, random_moments, whole_video
from vidsum.evaluation.moment_metrics import TOP, Comparison, MomentMeasures, best_ious, count_empty, measure
from vidsum.intervals import stacked
from vidsum.types import Moment, TimeArray

MomentPredictions = Mapping[str, Sequence[Sequence[Moment]]]
"""Name of a video -> for each of its queries, in their order, the moments found, best first."""


@dataclass(frozen=True)
class MomentRow:
    """One row of the report."""

    name: str
    measures: MomentMeasures


@dataclass(frozen=True)
class MomentReport:
    """What `evaluate_moments` found."""

    rows: tuple[MomentRow, ...]
    """The predictions, `random`, `whole video`."""
    n_videos: int
    n_queries: int
    comparison: Comparison
    n_seeds: int
    warnings: tuple[str, ...] = ()
    """What was mended in the annotations, and how many predicted moments are empty."""


def evaluate_moments(
    videos: Mapping[str, MomentVideo],
    predictions: Mapping[str, MomentPredictions],
    *,
    comparison: Comparison = "mmn",
    n_seeds: int = 10,
) -> MomentReport:
    """Compare moments with the windows that annotators gave. Where a query has several, the best met counts.

    Args:
        videos: of `vidsum.datasets.moments.read_moments`.
        predictions: by the name of the row; a row must have all videos with all their queries, though none
            of them need have a moment.
        comparison: one of `vidsum.evaluation.moment_metrics.COMPARISONS`.
        n_seeds: how many draws the random row is the mean of.

    Raises:
        UsageError: there is no query; a row has the name of a row that is always there, or lacks a query; or
            the comparison is unknown.
    """
    if n_seeds < 1:
        raise UsageError(f"at least one seed is needed, not {n_seeds}")
    windows = stacked([query.windows for video in videos.values() for query in video.queries])
    durations_s = np.array([video.duration_s for video in videos.values() for _ in video.queries])
    answers = {row: _in_order(row, moments, videos) for row, moments in predictions.items()}
    answers |= {RANDOM: random_moments(durations_s, n_seeds), WHOLE: whole_video(durations_s)}
    return MomentReport(
        rows=tuple(
            MomentRow(row, measure(best_ious(moments, windows), comparison))
            for row, moments in answers.items()
        ),
        n_videos=sum(bool(video.queries) for video in videos.values()),
        n_queries=len(windows),
        comparison=comparison,
        n_seeds=n_seeds,
        warnings=(*mended(videos), *_empty_moments(predictions)),
    )


def _empty_moments(predictions: Mapping[str, MomentPredictions]) -> Iterator[str]:
    for row, of_videos in predictions.items():
        answers = (moments for of_queries in of_videos.values() for moments in of_queries)
        if n_empty := count_empty(answers):
            yield f"{row}: moments that are empty and count as wrong: {n_empty}"


def _in_order(row: str, moments: MomentPredictions, videos: Mapping[str, MomentVideo]) -> TimeArray:
    """[Q, max(TOP), 2] the moments of a row in the order of the queries."""
    if row in (RANDOM, WHOLE):
        raise UsageError(f"a row of predictions cannot be called {row!r}: the report has one of that name")
    for name, video in videos.items():
        n_answered = len(moments.get(name, ()))
        if n_answered != len(video.queries):
            raise UsageError(f"{row}: {name}: {n_answered} of {len(video.queries)} queries are answered")
    found = [of_query for name in videos for of_query in moments.get(name, ())]
    return stacked(
        [[(one.start_s, one.end_s) for one in of_query[: max(TOP)]] for of_query in found], max(TOP)
    )
