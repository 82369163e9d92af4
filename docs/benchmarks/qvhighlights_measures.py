"""Measures of each query, rows without training and tables, for `docs.benchmarks.qvhighlights`."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import ttest_1samp

from docs.benchmarks.qvhighlights_guide import embedded
from vidsum.grounding.proposals import Grouping, moments_of
from vidsum.grounding.spaces import similarity
from vidsum.grounding.text import load_text_encoder
from vidsum.lab.datasets.moments import CLIP_S, Query, read_highlights
from vidsum.lab.evaluation.highlight_metrics import MAX_MOMENTS, HighlightMeasures
from vidsum.lab.evaluation.moments import evaluate_highlights
from vidsum.lab.evaluation.submissions import QueryPrediction
from vidsum.outputs import atomic_write
from vidsum.types import TimeArray

MEASURES = ("R1 .5", "R1 .7", "mAP", "HL mAP", "HIT@1")
Measures = dict[str, list[float | None]]
"""Those of each query by its qid, in the order of `MEASURES`, as fractions; None for what a model has not."""
Runs = dict[tuple[int, int], Measures]
"""Of one row, by fold and seed."""

CURVES: dict[str, tuple[Grouping, int]] = {
    "curve, contrast": ("contrast", 1),
    "curve, hybrid": ("hybrid", 1),
    "curve, hybrid, smoothed": ("hybrid", 3),
}
"""Rows without training: the cosine of query and caption, grouped as `vidsum ground` does, or as published,
and the mean over so many clips before that."""
UNTRAINED = ("random", *CURVES)


def measures_of(queries: Mapping[str, Query], predictions: Mapping[str, QueryPrediction]) -> Measures:
    """The official measures of each query by itself: their means are those of all queries."""
    return _rows(queries, predictions)[0]


def write_untrained(annotations: Path, captions: Path, out: Path, device: str) -> None:
    """The measures of the curves, and of random answers, for all queries: a file for each row."""
    queries = read_highlights(annotations)
    vectors = load_text_encoder("minilm", device).encode([query.text for query in queries.values()])
    found: dict[str, Measures] = {}
    for name, (grouping, smoothed) in CURVES.items():
        answers = {}
        for (qid, query), vector in zip(queries.items(), vectors, strict=True):
            video = embedded(captions, query)
            (curve,) = similarity(video, vector[None])
            edged = np.pad(curve, smoothed // 2, mode="edge")
            curve = np.convolve(edged, np.full(smoothed, 1 / smoothed), "valid").astype(np.float32)
            where = (video.timestamps, CLIP_S, query.duration_s, MAX_MOMENTS)
            moments = tuple(moments_of(curve, *where, grouping=grouping))
            answers[qid] = QueryPrediction(qid, query.text, query.video, moments, tuple(curve.tolist()))
        found[name], found["random"] = _rows(queries, answers, n_seeds=10)
    for name, measures in found.items():
        with atomic_write(file_of(out, name)) as file:
            file.write_text(json.dumps(measures))


def file_of(out: Path, row: str) -> Path:
    """The file of an untrained row."""
    return out / f"{row.replace(', ', '-')}.json"


def print_differences(rows: Mapping[str, Runs]) -> None:
    """Mean differences of queries with 95 % intervals; bold where Holm's test holds over all cells at .05."""
    values = {name: _by_query([*runs.values()]) for name, runs in rows.items() if runs}
    tests = {
        (name, place): ttest_1samp(column[~np.isnan(column)], 0.0)
        for name, columns in values.items()
        for place, column in enumerate(columns.T)
        if (~np.isnan(column)).sum() > 1
    }
    is_sure = dict(zip(tests, holm([test.pvalue for test in tests.values()]), strict=True))
    print(f"| row | runs | n | {' | '.join(MEASURES)} |\n|---|---|---|{'---|' * len(MEASURES)}")
    for name, columns in values.items():
        cells = []
        for place, column in enumerate(columns.T):
            test = tests.get((name, place))
            if test is None:
                cells.append("-")
                continue
            mean = 100 * np.nanmean(column)
            low, high = (100 * edge for edge in test.confidence_interval(0.95))
            mark = "**" if is_sure[name, place] else ""
            cells.append(f"{mark}{mean:+.1f}{mark} [{low:.1f}, {high:.1f}]")
        print(f"| {name} | {len(rows[name])} | {len(columns)} | {' | '.join(cells)} |")


def holm(p_values: Sequence[float], level: float = 0.05) -> list[bool]:
    """Which of several hypotheses are rejected (Holm 1979): their errors together are at most `level`."""
    order, rejected = np.argsort(p_values), [False] * len(p_values)
    for rank, number in enumerate(order.tolist()):
        if not p_values[number] <= level / (len(p_values) - rank):  # NaN of equal rows is none
            break
        rejected[number] = True
    return rejected


def print_table(rows: Mapping[str, Runs]) -> None:
    """A row per model: the mean over the queries of what is theirs over the runs, and its standard error."""
    print(f"| row | runs | n | {' | '.join(MEASURES)} |\n|---|---|---|{'---|' * len(MEASURES)}")
    for name, runs in rows.items():
        if runs:
            values = _by_query([*runs.values()])
            cells = " | ".join(_cell(column) for column in values.T)
            print(f"| {name} | {len(runs)} | {len(values)} | {cells} |")


def minus(runs: Runs, reference: Runs) -> Runs:
    """The difference of each query in the folds and seeds that both have."""
    return {
        key: {qid: _difference(row, reference[key][qid]) for qid, row in measures.items()}
        for key, measures in runs.items()
        if key in reference
    }


def _difference(row: Sequence[float | None], reference: Sequence[float | None]) -> list[float | None]:
    return [None if a is None or b is None else a - b for a, b in zip(row, reference, strict=True)]


def _rows(
    queries: Mapping[str, Query], answers: Mapping[str, QueryPrediction], n_seeds: int = 1
) -> tuple[Measures, Measures]:
    """The measures of the answers to each query, and of random ones."""
    reports = {qid: evaluate_highlights({qid: queries[qid]}, answers, n_seeds=n_seeds) for qid in queries}
    first, chance = (
        {qid: _numbers(each.rows[row].measures) for qid, each in reports.items()} for row in (0, 1)
    )
    return first, chance


def _numbers(measures: HighlightMeasures) -> list[float | None]:
    windows = measures.moments["full"] if measures.moments else None
    clips = measures.clips["VeryGood"] if measures.clips else None
    return [
        *((windows.recall[0.5], windows.recall[0.7], windows.mean_precision) if windows else [None] * 3),
        *((clips.precision, clips.hit) if clips else [None] * 2),
    ]


def _by_query(runs: Sequence[Measures]) -> TimeArray:
    """[Q, M] mean over the runs of each query; NaN for what a model has not."""
    of_query: dict[str, list[list[float | None]]] = {}
    for measures in runs:
        for qid, row in measures.items():
            of_query.setdefault(qid, []).append(row)
    return np.array([np.array(rows, np.float64).mean(axis=0) for rows in of_query.values()])


def _cell(column: TimeArray) -> str:
    """Mean and standard error in per cent."""
    given = 100 * column[~np.isnan(column)]
    if len(given) < 2:
        return "-"
    return f"{given.mean():.1f} ({given.std(ddof=1) / len(given) ** 0.5:.1f})"
