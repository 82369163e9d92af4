"""`vidsum evaluate highlights`: QVHighlights' official evaluation of moments and of the saliency of clips."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vidsum.commands import options
from vidsum.commands.batch import run_batch
from vidsum.commands.evaluate_options import Output, Seeds
from vidsum.commands.reports import Files, Shown, report_result
from vidsum.commands.result import Result, Table, View

if TYPE_CHECKING:
    from vidsum.evaluation.highlight_report import HighlightReport, HighlightRow
    from vidsum.types import Progress

_COMMAND = "evaluate highlights"

Predictions = Annotated[
    Path,
    typer.Argument(
        help="Moments and saliency found: JSON lines as QVHighlights takes them.",
        show_default=False,
        metavar="PREDICTIONS",
    ),
]
Data = Annotated[
    Path,
    typer.Argument(
        help="Annotations of QVHighlights: JSON lines.", show_default=False, metavar="ANNOTATIONS"
    ),
]


def highlights(
    predictions: Predictions,
    data: Data,
    seeds: Seeds = 10,
    output: Output = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    config: options.Config = None,
) -> None:
    """Measure moments and highlights as QVHighlights officially does: R1, mAP, HIT@1.

    Beside the predictions stand random ones and the whole video.

    vidsum evaluate highlights mine.jsonl highlight_val_release.jsonl

    vidsum evaluate highlights mine.jsonl highlight_val_release.jsonl -o report.json
    """
    where = Files(output, None, overwrite)
    where.check([str(predictions)], [str(data)])

    def step(source: str, progress: "Progress | None") -> Result:
        from vidsum.evaluation.highlight_document import highlight_report_document
        from vidsum.evaluation.highlight_run import highlight_provenance, run_highlights

        made_from = highlight_provenance(predictions, data, seeds)

        def make() -> Shown:
            report = run_highlights(predictions, data, seeds)
            document = highlight_report_document(report, made_from)
            about = f"R1, HIT@1: of the first moment, the best clip; random: {report.n_seeds} draws"
            return Shown(document, _table(data.name, report), about)

        return report_result(_COMMAND, source, made_from, make, where)

    run_batch(_COMMAND, [str(predictions)], View(json, quiet, verbose), step)


def _table(name: str, report: "HighlightReport") -> Table:
    """The figures of published tables, per cent."""
    measures = zip(*(_figures(row) for row in report.rows), strict=True)
    rows = [(of_rows[0][0], *(f"{100 * share:.2f}" for _, share in of_rows)) for of_rows in measures]
    title = f"{name}: {report.n_queries} queries of {report.n_videos} videos, per cent"
    return Table(("measure", *(row.name for row in report.rows)), tuple(rows), title)


def _figures(row: "HighlightRow") -> Iterator[tuple[str, float]]:
    if row.moments and (full := row.moments["full"]):
        yield "R1 .5", full.recall[0.5]
        yield "R1 .7", full.recall[0.7]
        yield "mAP .5", full.precision[0.5]
        yield "mAP .75", full.precision[0.75]
        for name, measures in row.moments.items():
            if measures:
                yield "mAP" if name == "full" else f"mAP {name}", measures.mean_precision
    for level, clips in (row.clips or {}).items():
        yield f"HL mAP {level}", clips.precision
        yield f"HL HIT@1 {level}", clips.hit
