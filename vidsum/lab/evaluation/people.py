"""Rows of people for the evaluation of moments: how far they agree with each other, and with the annotations.

The answers are CSV files in a folder, as in github.com/mayu-ot/hidden-challenges-MR (Otani et al., BMVC
2020): columns video_id, description, start, end; times are per cent of the video.
"""

import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from vidsum.errors import InputError, quote, safe_name
from vidsum.io.text import read_text
from vidsum.lab.datasets.entries import table_of
from vidsum.lab.datasets.moments import MomentVideo
from vidsum.lab.evaluation.moments import MomentMeasures, measure
from vidsum.lab.evaluation.report import Report, Row, per_cent
from vidsum.lab.evaluation.settings import Comparison
from vidsum.types import Interval, TimeArray, iou

_COLUMNS = ("video_id", "description", "start", "end")


@dataclass(frozen=True)
class PeopleAnswers:
    """Where several people saw what one query describes."""

    video: str  # as in the file: the name of the video, with or without its suffix
    text: str
    windows: tuple[Interval, ...]
    """Two or more, one per person, in per cent: most are whole numbers, whose IoU is often a threshold."""


def read_people(folder: str | os.PathLike[str]) -> tuple[PeopleAnswers, ...]:
    """Read the answers of all CSV files of a folder: one entry per query, in the order of their first lines.

    Raises InputError: no CSV file; a file that lacks a column or an answer; times that are no part of the
    video; or a query with a single answer.
    """
    source = Path(folder)
    if not source.is_dir():
        raise InputError(f"{source}: {'is not a folder' if source.exists() else 'no such folder'}")
    windows: dict[tuple[str, str], list[Interval]] = {}
    for file in people_files(source):
        for video, text, window in _answers(file):
            windows.setdefault((video, text), []).append(window)
    for (video, text), of_query in windows.items():
        if len(of_query) < 2:
            raise InputError(
                f"{source}: {safe_name(video)}: {quote(text)} has one answer: agreement needs two"
            )
    return tuple(PeopleAnswers(video, text, tuple(answers)) for (video, text), answers in windows.items())


def people_files(folder: Path) -> list[Path]:
    """Return the CSV files of a folder, by name. Raises InputError: none, or an unreadable folder."""
    try:
        files = sorted(file for file in folder.iterdir() if file.suffix == ".csv")
    except OSError as error:
        raise InputError(f"{folder}: cannot be read ({(error.strerror or str(error)).lower()})") from error
    if not files:
        raise InputError(
            f"{folder}: has no CSV file", hint=f"CSV files with the columns {', '.join(_COLUMNS)}"
        )
    return files


def _answers(file: Path) -> Iterator[tuple[str, str, Interval]]:
    """Video, text and window of each line."""
    columns, rows = table_of(file, read_text(file))
    if missing := [column for column in _COLUMNS if column not in columns]:
        raise InputError(f"{file}: has no column {missing[0]}")
    if not rows:
        raise InputError(f"{file}: holds no answer")
    for row in rows:
        video, text, *times = (row.values[column] for column in _COLUMNS)
        if not video.strip() or not text.strip():
            raise row.fault("has no video_id or no description")
        try:
            start, end = map(float, times)
        except ValueError as error:
            raise row.fault(f"start and end are not numbers: {quote(times)}") from error
        if not 0 <= start < end <= 100:
            raise row.fault(f"{start:g} to {end:g} is not a part of the video in per cent")
        yield video.strip(), text, (start, end)


PAIRWISE, ANNOTATED = "people (pairwise)", "people (annotations)"


def with_people(
    report: Report[MomentMeasures],
    people: Sequence[PeopleAnswers],
    videos: Mapping[str, MomentVideo],
    comparison: Comparison = "mmn",
) -> Report[MomentMeasures]:
    """Return a report of `evaluate_moments` with rows of people, as its last.

    `people (pairwise)` compares each two answers to a query, `people (annotations)` each answer with the
    windows in the data: means over a query's comparisons, then over queries. Videos go by name, less a file's
    suffix and ActivityNet's `v_`; sentences by their words. Raises InputError: the data has none of these
    queries.
    """
    windows = [_windows_of(answers, videos) for answers in people]
    known = [(answers, of_query) for answers, of_query in zip(people, windows, strict=True) if of_query]
    if not known:
        example = f"{quote(people[0].text)} of {safe_name(people[0].video)}" if people else "there is none"
        raise InputError(f"no query that people answered is in the data: {example}")
    ious = [iou(of.windows, of.windows)[np.triu_indices(len(of.windows), 1)] for of in people]
    rows = [
        _measure_people(PAIRWISE, people, ious, comparison),
        _measure_people(
            ANNOTATED,
            [answers for answers, _ in known],
            [iou(answers.windows, of_query).max(axis=1) for answers, of_query in known],
            comparison,
        ),
    ]
    unknown = [answers for answers, of_query in zip(people, windows, strict=True) if not of_query]
    warnings = report.warnings
    if unknown:
        example = f"{quote(unknown[0].text)} of {safe_name(unknown[0].video)}"
        fault = "queries that people answered, but the data does not have"
        warnings = (*warnings, f"{fault}: {len(unknown)}, first {example}")
    errors = "; ".join(
        f"{name} {', '.join(per_cent(error) for error in facts['standard_errors'].values())}"
        for name, (_, facts) in zip((PAIRWISE, ANNOTATED), rows, strict=True)
    )
    return replace(
        report,
        rows=(*report.rows, *(row for row, _ in rows)),
        facts={**report.facts, "people": [facts for _, facts in rows]},
        warnings=warnings,
        note=f"{report.note}; standard errors of R@1 .5, R@1 .7, mIoU: {errors}",
    )


def _measure_people(
    name: str, people: Sequence[PeopleAnswers], ious: Sequence[TimeArray], comparison: Comparison
) -> tuple[Row[MomentMeasures], dict[str, Any]]:
    """Return the row of queries with the IoU of their comparisons, and standard errors over queries."""
    by_query = [measure(of_query.reshape(-1, 1, 1), comparison) for of_query in ious]
    counts = sorted({len(measures.windows) for measures in people})
    who = f"{counts[0]} people" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} people"
    values = {
        "r1_50": [measures.recall[1, 0.5] for measures in by_query],
        "r1_70": [measures.recall[1, 0.7] for measures in by_query],
        "miou": [measures.miou for measures in by_query],
    }
    root = np.sqrt(len(by_query))
    errors = {
        key: float(np.std(measures, ddof=1) / root) if len(measures) > 1 else 0.0
        for key, measures in values.items()
    }
    row = Row(f"{name}: {len(by_query)} queries, {who}", _mean(by_query))
    return row, {"row": row.name, "n_queries": len(by_query), "standard_errors": errors}


def _mean(measures: Sequence[MomentMeasures]) -> MomentMeasures:
    recalls = [list(of_query.recall.values()) for of_query in measures]
    return MomentMeasures(
        recall=dict(zip(measures[0].recall, np.mean(recalls, axis=0).tolist(), strict=True)),
        miou=float(np.mean([of_query.miou for of_query in measures])),
        curve=tuple(np.mean([of_query.curve for of_query in measures], axis=0).tolist()),
    )


def _windows_of(answers: PeopleAnswers, videos: Mapping[str, MomentVideo]) -> list[Interval]:
    """Return the windows of the data for a query, in per cent of the video; none if it has none."""
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
