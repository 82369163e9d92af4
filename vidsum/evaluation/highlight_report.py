"""The report of QVHighlights' official evaluation: predictions beside chance and the whole video."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vidsum.datasets.highlights import HighlightQuery
from vidsum.errors import UsageError
from vidsum.evaluation.highlight_metrics import (
    MAX_MOMENTS,
    ClipMeasures,
    WindowMeasures,
    measure_clips,
    measure_moments,
)
from vidsum.evaluation.highlight_predictions import HighlightPrediction
from vidsum.evaluation.moment_baselines import RANDOM, WHOLE, random_moments, whole_video
from vidsum.evaluation.moment_metrics import count_empty
from vidsum.intervals import stacked
from vidsum.types import TimeArray


@dataclass(frozen=True)
class HighlightRow:
    """One row of the report."""

    name: str
    moments: Mapping[str, WindowMeasures | None] | None
    """As of `measure_moments`; None where there are no moments to measure."""
    clips: Mapping[str, ClipMeasures] | None
    """As of `measure_clips`; None where there is no saliency to measure."""


@dataclass(frozen=True)
class HighlightReport:
    """What `evaluate_highlights` found."""

    rows: tuple[HighlightRow, ...]
    """The predictions, `random`, `whole video`."""
    n_videos: int
    n_queries: int
    n_seeds: int
    warnings: tuple[str, ...] = ()
    """What was not measured, or filled in."""


def evaluate_highlights(
    queries: Mapping[str, HighlightQuery],
    predictions: Mapping[str, HighlightPrediction],
    *,
    name: str = "predictions",
    n_seeds: int = 10,
) -> HighlightReport:
    """Measure moments and saliency as QVHighlights' official evaluation does.

    Args:
        queries: of `vidsum.datasets.highlights.read_highlights`.
        predictions: by qid, for all queries, as `read_highlight_predictions` gives them.
        name: what the row of the predictions is called.
        n_seeds: how many draws the random row is the mean of.

    Raises:
        UsageError: the row has the name of a row that is always there, no draw is asked for, there is no
            query or one without an answer, some answers alone have moments or saliency, or there is nothing
            that data and predictions both have.
    """
    if name in (RANDOM, WHOLE):
        raise UsageError(f"a row of predictions cannot be called {name!r}: the report has one of that name")
    if n_seeds < 1:
        raise UsageError(f"at least one seed is needed, not {n_seeds}")
    if not queries:
        raise UsageError("there is no query to evaluate on")
    if missing := [qid for qid in queries if qid not in predictions]:
        raise UsageError(f"{name}: {len(missing)} of {len(queries)} queries lack an answer: {missing[0]}")
    given = [predictions[qid] for qid in queries]
    if len({(one.moments is None, one.saliency is None) for one in given}) > 1:
        raise UsageError(f"{name}: some answers have moments or saliency, others have not")
    asked = tuple(queries.values())
    moments, clips = _moment_rows(name, asked, given, n_seeds), _clip_rows(name, asked, given, n_seeds)
    if not moments and not clips:
        raise UsageError("the predictions have no moments, and there is no saliency to measure")
    return HighlightReport(
        rows=tuple(HighlightRow(row, moments.get(row), clips.get(row)) for row in (name, RANDOM, WHOLE)),
        n_videos=len({query.video for query in asked}),
        n_queries=len(asked),
        n_seeds=n_seeds,
        warnings=tuple(_warnings(asked, given)),
    )


def _moment_rows(
    name: str, queries: Sequence[HighlightQuery], given: Sequence[HighlightPrediction], n_seeds: int
) -> dict[str, dict[str, WindowMeasures | None]]:
    """The measures of moments by the name of the row; nothing where the predictions have no moments."""
    found = [one.moments[:MAX_MOMENTS] for one in given if one.moments is not None]
    if not found:
        return {}
    moments = stacked([[(one.start_s, one.end_s) for one in of_query] for of_query in found], MAX_MOMENTS)
    scores = _filled([[one.score for one in of_query] for of_query in found], MAX_MOMENTS)
    windows = stacked([query.windows for query in queries])
    durations_s = np.array([query.duration_s for query in queries])
    drawn = np.concatenate(random_moments(durations_s, n_seeds, MAX_MOMENTS))
    whole = whole_video(durations_s)
    return {
        name: measure_moments(moments, scores, windows),
        RANDOM: measure_moments(drawn, np.zeros(drawn.shape[:-1]), np.concatenate([windows] * n_seeds)),
        WHOLE: measure_moments(whole, np.zeros(whole.shape[:-1]), windows),
    }


def _clip_rows(
    name: str, queries: Sequence[HighlightQuery], given: Sequence[HighlightPrediction], n_seeds: int
) -> dict[str, dict[str, ClipMeasures]]:
    """The measures of saliency by the name of the row; nothing where the predictions or the data have none.

    To the whole video all clips are as salient as each other.
    """
    found = [one.saliency for one in given if one.saliency is not None]
    scored = [query.saliency for query in queries if query.saliency is not None]
    if not found or not scored:
        return {}
    n_clips = np.array([query.n_clips for query in queries])
    annotators = np.zeros((len(queries), n_clips.max(), scored[0].shape[1]), np.float32)
    for row, of_query in zip(annotators, scored, strict=True):
        row[: len(of_query)] = of_query
    shape = annotators.shape[:2]
    draws = [np.random.default_rng(seed).random(shape) for seed in range(n_seeds)]
    outside = np.where(np.arange(shape[1]) < n_clips[:, None], 0.0, -np.inf)
    return {
        name: measure_clips(_filled(found, shape[1]), annotators, n_clips),
        RANDOM: measure_clips(
            np.concatenate([draw + outside for draw in draws]),
            np.concatenate([annotators] * n_seeds),
            np.concatenate([n_clips] * n_seeds),
        ),
        WHOLE: measure_clips(outside, annotators, n_clips),
    }


def _filled(rows: Sequence[Sequence[float]], length: int) -> TimeArray:
    """[Q, length], filled up with -inf."""
    filled = np.full((len(rows), length), -np.inf)
    for row, values in zip(filled, rows, strict=True):
        row[: len(values)] = values
    return filled


def _warnings(queries: Sequence[HighlightQuery], given: Sequence[HighlightPrediction]) -> Iterator[str]:
    if given[0].moments is None:
        yield "the predictions have no pred_relevant_windows: saliency alone is measured"
    moments = [one.moments for one in given if one.moments]
    if n_empty := count_empty(moments):
        yield f"moments that are empty and count as wrong: {n_empty}"
    if n_disordered := sum(max(one.score for one in row) > row[0].score for row in moments):
        yield f"first moments that are not those of the highest score, but taken for R1: {n_disordered}"
    if given[0].saliency is None:
        yield "the predictions have no pred_saliency_scores: moments alone are measured"
    elif queries[0].saliency is None:
        yield "the data has no saliency_scores of annotators: moments alone are measured"
    elif n_short := sum(
        len(one.saliency or ()) < query.n_clips for query, one in zip(queries, given, strict=True)
    ):
        yield f"queries whose last clip has no score, which mAP takes for 0: {n_short}"
