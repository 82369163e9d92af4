"""The report as JSON-ready data; its schema is vidsum/schemas/evaluation.schema.json."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from vidsum.evaluation.key_shots import BUDGET
from vidsum.evaluation.report import SummaryReport
from vidsum.evaluation.summary_metrics import Measures

SCHEMA = "vidsum.evaluation/1"


def report_document(report: SummaryReport, provenance: Mapping[str, Any]) -> dict[str, Any]:
    """A report as JSON-ready data, its measures unrounded: who prints them rounds once.

    Args:
        report: of `evaluate_summaries` or `evaluate_annotations`.
        provenance: what it was made from.
    """
    fewest, most = report.n_annotators
    return {
        "schema": SCHEMA,
        "provenance": dict(provenance),
        "task": "summary",
        "n_videos": report.n_videos,
        "n_tests": report.n_tests,
        "n_annotators": {"fewest": fewest, "most": most},
        "ranked_against": report.ranked_against,
        "n_seeds": report.n_seeds,
        "budget_share": BUDGET,
        "rows": [
            {
                "name": row.name,
                **_measures(row.mean),
                "videos": {video: _measures(measures) for video, measures in row.videos.items()},
            }
            for row in report.rows
        ],
        "warnings": list(report.warnings),
    }


def _measures(measures: Measures) -> dict[str, Any]:
    return {
        "tau": _number(measures.tau),
        "rho": _number(measures.rho),
        "key_shots": [
            {key: value if isinstance(value, str) else _number(value) for key, value in asdict(one).items()}
            for one in measures.key_shots
        ],
    }


def _number(value: float | None) -> float | None:
    return None if value is None else value + 0.0  # no -0.0
