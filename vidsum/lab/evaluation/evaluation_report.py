"""One report for all evaluations: rows of measures, as a JSON document (vidsum/schemas/) and as a table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypedDict

from vidsum.types import Count, Sha256

Task = Literal["summary", "moments", "highlights", "captions"]

SCHEMAS: Final[Mapping[Task, str]] = {
    "summary": "vidsum.evaluation/1",
    "moments": "vidsum.moment_evaluation/1",
    "highlights": "vidsum.highlight_evaluation/1",
    "captions": "vidsum.caption_evaluation/1",
}
_TRANSPOSED: Final = ("highlights", "captions")  # of many measures, which are the rows of the table


class File(TypedDict):
    """A file that was read."""

    name: str
    bytes: Count
    sha256: Sha256


class Extent(TypedDict):
    """Files or folders of features, by their size alone."""

    name: str
    files: Count
    bytes: Count


class Measures(Protocol):
    """The measures of a row: fractions, not per cent."""

    def as_json(self) -> Mapping[str, Any]:
        """Return all measures, not rounded."""

    def figures(self) -> dict[str, str]:
        """Return the measures that a table shows, rounded, by the heads of their columns."""


@dataclass(frozen=True)
class Report:
    task: Task
    rows: Mapping[str, Measures]  # the predictions, and the baselines that every report has
    facts: Mapping[str, Any]  # numbers of videos and queries, settings: JSON-ready, in the document's order
    warnings: tuple[str, ...] = ()
    title: str = ""  # line above the table: the data and the unit
    note: str = ""  # line below the table: the method
    writers: Mapping[str, Callable[[Path], None]] = field(default_factory=dict, repr=False, compare=False)
    """Functions that write other files of it: `plot` (PNG or SVG), `predictions` (JSON lines)."""

    @property
    def messages(self) -> tuple[str, ...]:
        """Return its warnings, as other results do."""
        return self.warnings


def document(report: Report, provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return a report as JSON-ready data; `vidsum.results.result.seal` adds the digest."""
    return {
        "schema": SCHEMAS[report.task],
        "provenance": dict(provenance),
        "task": report.task,
        **report.facts,
        "rows": [{"name": name, **measures.as_json()} for name, measures in report.rows.items()],
        "warnings": list(report.warnings),
    }


def table(report: Report) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return the columns and rows of a table, whose rows are measures where there are many measures."""
    figures = {name: measures.figures() for name, measures in report.rows.items()}
    heads = tuple(next(iter(figures.values())))
    if report.task not in _TRANSPOSED:
        return ("row", *heads), tuple((name, *cells.values()) for name, cells in figures.items())
    return ("measure", *figures), tuple(
        (head, *(cells[head] for cells in figures.values())) for head in heads
    )


def per_cent(fraction: float) -> str:
    """Return a fraction as the field prints it."""
    return f"{100 * fraction:.2f}"
