"""A report on moments as JSON-ready data; its schema is vidsum/schemas/moment_evaluation.schema.json."""

from collections.abc import Mapping
from typing import Any

from vidsum.evaluation.moment_metrics import CURVE, MomentMeasures
from vidsum.evaluation.moment_report import MomentReport

SCHEMA = "vidsum.moment_evaluation/1"


def moment_report_document(report: MomentReport, provenance: Mapping[str, Any]) -> dict[str, Any]:
    """A report as JSON-ready data, its shares unrounded: who prints them rounds once.

    Args:
        report: of `evaluate_moments`.
        provenance: what it was made from.
    """
    return {
        "schema": SCHEMA,
        "provenance": dict(provenance),
        "task": "moments",
        "n_videos": report.n_videos,
        "n_queries": report.n_queries,
        "comparison": report.comparison,
        "n_seeds": report.n_seeds,
        "rows": [{"name": row.name, **_measures(row.measures)} for row in report.rows],
        "warnings": list(report.warnings),
    }


def _measures(measures: MomentMeasures) -> dict[str, Any]:
    return {
        "recall": [{"top": top, "iou": iou, "share": share} for (top, iou), share in measures.recall.items()],
        "miou": measures.miou,
        "curve": [{"iou": iou, "share": share} for iou, share in zip(CURVE, measures.curve, strict=True)],
    }
