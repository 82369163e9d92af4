"""A report on highlights as JSON-ready data; its schema is schemas/highlight_evaluation.schema.json."""

from collections.abc import Mapping
from typing import Any

from vidsum.evaluation.highlight_metrics import ClipMeasures, WindowMeasures
from vidsum.evaluation.highlight_report import HighlightReport, HighlightRow

SCHEMA = "vidsum.highlight_evaluation/1"


def highlight_report_document(report: HighlightReport, provenance: Mapping[str, Any]) -> dict[str, Any]:
    """A report as JSON-ready data, its shares unrounded: who prints them rounds once.

    Args:
        report: of `evaluate_highlights`.
        provenance: what it was made from.
    """
    return {
        "schema": SCHEMA,
        "provenance": dict(provenance),
        "task": "highlights",
        "n_videos": report.n_videos,
        "n_queries": report.n_queries,
        "n_seeds": report.n_seeds,
        "rows": [_row(row) for row in report.rows],
        "warnings": list(report.warnings),
    }


def _row(row: HighlightRow) -> dict[str, Any]:
    document: dict[str, Any] = {"name": row.name, "moments": None, "highlights": None}
    if row.moments is not None:
        document["moments"] = {name: _of_windows(measures) for name, measures in row.moments.items()}
    if row.clips is not None:
        document["highlights"] = {name: _of_clips(measures) for name, measures in row.clips.items()}
    return document


def _of_windows(measures: WindowMeasures | None) -> dict[str, Any] | None:
    if measures is None:
        return None
    return {
        "r1": [{"iou": at, "share": share} for at, share in measures.recall.items()],
        "map": [{"iou": at, "share": share} for at, share in measures.precision.items()],
        "mean_map": measures.mean_precision,
    }


def _of_clips(measures: ClipMeasures) -> dict[str, Any]:
    return {"map": measures.precision, "hit1": measures.hit}
