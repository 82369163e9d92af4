"""Rows of people for the evaluation of moments: how far they agree with each other, and with the annotations.

A model above the second agrees with the annotators better than another person does: it knows their habits.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from vidsum.datasets.moments import MomentVideo
from vidsum.datasets.people import PeopleAnswers
from vidsum.errors import InputError
from vidsum.evaluation.moment_metrics import CURVE, THRESHOLDS, TOP, MomentMeasures, measure
from vidsum.evaluation.report import Report, Row, per_cent
from vidsum.evaluation.settings import Comparison
from vidsum.intervals import iou
from vidsum.text_files import named, shown
from vidsum.types import Interval, TimeArray

PAIRWISE, ANNOTATED = "people (pairwise)", "people (annotations)"


class PeopleRow(NamedTuple):
    """A row of people."""

    row: Row[MomentMeasures]
    n_queries: int
    standard_errors: Mapping[str, float]
    """Over queries, of R@1 at .5 and .7 and of the mean IoU: `r1_50`, `r1_70`, `miou`."""


def with_people(
    report: Report[MomentMeasures],
    people: Sequence[PeopleAnswers],
    videos: Mapping[str, MomentVideo],
    comparison: Comparison = "mmn",
) -> Report[MomentMeasures]:
    """A report with rows of people, as its last.

    `people (pairwise)` compares each two answers to a query, of all queries that people answered;
    `people (annotations)` each answer with the windows in the data. Each measure is the mean over a query's
    comparisons, then over queries. A person gives one moment, so that R@5 is R@1.

    Args:
        report: of `evaluate_moments`.
        people: from `vidsum.datasets.people.read_people`.
        videos: the data of the report. Its names may lack the suffix of a file and have ActivityNet's `v_`
            before them; sentences are compared by their words.
        comparison: as for `evaluate_moments`.

    Raises InputError: no query that people answered is in the data.
    """
    windows = [_windows_of(answers, videos) for answers in people]
    known = [(each, of_query) for each, of_query in zip(people, windows, strict=True) if of_query]
    if not known:
        example = f"{shown(people[0].text)} of {named(people[0].video)}" if people else "there is none"
        raise InputError(f"no query that people answered is in the data: {example}")
    rows = [
        _row(PAIRWISE, people, [_pairs(each.windows) for each in people], comparison),
        _row(
            ANNOTATED,
            [each for each, _ in known],
            [iou(each.windows, of_query).max(axis=1) for each, of_query in known],
            comparison,
        ),
    ]
    errors = "; ".join(
        f"{name} {', '.join(per_cent(error) for error in row.standard_errors.values())}"
        for name, row in zip((PAIRWISE, ANNOTATED), rows, strict=True)
    )
    return replace(
        report,
        rows=(*report.rows, *(row.row for row in rows)),
        facts={**report.facts, "people": [_facts(row) for row in rows]},
        warnings=(*report.warnings, *_unknown(people, windows)),
        note=f"{report.note}; standard errors of R@1 .5, R@1 .7, mIoU: {errors}",
    )


def _row(
    name: str, people: Sequence[PeopleAnswers], ious: Sequence[TimeArray], comparison: Comparison
) -> PeopleRow:
    """The row of queries with the IoU of their comparisons."""
    by_query = [measure(of_query.reshape(-1, 1, 1), comparison) for of_query in ious]
    counts = sorted({len(each.windows) for each in people})
    who = f"{counts[0]} people" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} people"
    values = {
        "r1_50": [each.recall[1, 0.5] for each in by_query],
        "r1_70": [each.recall[1, 0.7] for each in by_query],
        "miou": [each.miou for each in by_query],
    }
    errors = {key: _standard_error(each) for key, each in values.items()}
    return PeopleRow(Row(f"{name}: {len(by_query)} queries, {who}", _mean(by_query)), len(by_query), errors)


def _mean(measures: Sequence[MomentMeasures]) -> MomentMeasures:
    """Over queries."""
    return MomentMeasures(
        recall={
            (top, at): float(np.mean([each.recall[top, at] for each in measures]))
            for top in TOP
            for at in THRESHOLDS
        },
        miou=float(np.mean([each.miou for each in measures])),
        curve=tuple(float(np.mean([each.curve[at] for each in measures])) for at in range(len(CURVE))),
    )


def _standard_error(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def _pairs(windows: Sequence[Interval]) -> TimeArray:
    """[n (n - 1) / 2] IoU of each two of n windows."""
    first, second = zip(*combinations(range(len(windows)), 2), strict=True)
    pairs: TimeArray = iou(windows, windows)[list(first), list(second)]
    return pairs


def _windows_of(answers: PeopleAnswers, videos: Mapping[str, MomentVideo]) -> list[Interval]:
    """The windows of the data for a query, in per cent of the video; none where it is not in the data."""
    stem = answers.video.rpartition(".")[0] or answers.video
    names = (answers.video, stem, f"v_{answers.video}", f"v_{stem}")
    video = next((videos[name] for name in names if name in videos), None)
    if video is None:
        return []
    words = _words(answers.text)
    return [
        (100 * start / video.duration_s, 100 * end / video.duration_s)
        for query in video.queries
        if _words(query.text) == words
        for start, end in query.windows
    ]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", unicodedata.normalize("NFC", text).casefold())


def _unknown(people: Sequence[PeopleAnswers], windows: Sequence[list[Interval]]) -> Iterator[str]:
    """The queries that only people have."""
    unknown = [answers for answers, of_query in zip(people, windows, strict=True) if not of_query]
    if unknown:
        example = f"{shown(unknown[0].text)} of {named(unknown[0].video)}"
        yield f"queries that people answered, but the data does not have: {len(unknown)}, first {example}"


def _facts(row: PeopleRow) -> dict[str, Any]:
    return {"row": row.row.name, "n_queries": row.n_queries, "standard_errors": dict(row.standard_errors)}
