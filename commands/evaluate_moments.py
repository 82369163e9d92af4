"""`vidsum evaluate moments`: how near the moments that were found come to those of annotators."""

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vidsum.commands import options
from vidsum.commands.batch import run_batch
from vidsum.commands.evaluate_options import WHAT, Output, Seeds
from vidsum.commands.options import OUT, option
from vidsum.commands.reports import Files, Shown, report_result
from vidsum.commands.result import Result, Table, View

if TYPE_CHECKING:
    from vidsum.evaluation.moment_report import MomentReport
    from vidsum.types import Progress

_COMMAND = "evaluate moments"


class ComparisonName(str, Enum):
    """When a moment counts as found."""

    mmn = "mmn"
    two_d_tan = "2d-tan"


Predictions = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Moments found: the JSON of `vidsum ground`, or JSON lines as QVHighlights takes them.",
        show_default=False,
        metavar="[PREDICTIONS...]",
    ),
]
Data = Annotated[
    Path,
    option(
        "--data",
        help="Annotations: ActivityNet Captions, Charades-STA, TACoS (JSON) or QVHighlights (JSON lines).",
        show_default=False,
        metavar="FILE",
        rich_help_panel=WHAT,
    ),
]
Comparison = Annotated[
    ComparisonName,
    option(
        "--comparison",
        help="A moment is found if its IoU is at least the threshold (mmn: MMN, MRNet) or above it (2d-tan).",
        rich_help_panel=WHAT,
    ),
]
Plot = Annotated[
    Path | None,
    option(
        "--plot",
        help="PNG or SVG file to draw: R@1 of each row over the IoU.",
        show_default=False,
        metavar="FILE",
        rich_help_panel=OUT,
    ),
]


def moments(
    data: Data,
    predictions: Predictions = None,
    comparison: Comparison = ComparisonName.mmn,
    seeds: Seeds = 10,
    output: Output = None,
    plot: Plot = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    config: options.Config = None,
) -> None:
    """Compare moments with those of annotators: recall at an IoU, mean IoU.

    Beside each row stand random moments and the whole video.

    vidsum evaluate moments --data activitynet/test.json

    vidsum evaluate moments mine.jsonl --data highlight_val_release.jsonl -o report.json
    """
    where = Files(output, plot, overwrite)
    where.check([str(data)], list(map(str, predictions or ())))

    def step(source: str, progress: "Progress | None") -> Result:
        from vidsum.evaluation.moment_document import moment_report_document
        from vidsum.evaluation.moment_run import MomentsAsked, provenance, run_moments

        asked = MomentsAsked(tuple(predictions or ()), comparison.value, seeds)
        made_from = provenance(data, asked)

        def make() -> Shown:
            report = run_moments(data, asked, plot)
            table = _table(data.name, report)
            return Shown(moment_report_document(report, made_from), table, _about(report))

        return report_result(_COMMAND, source, made_from, make, where)

    run_batch(_COMMAND, [str(data)], View(json, quiet, verbose), step)


def _table(name: str, report: "MomentReport") -> Table:
    """Per cent, as the field prints them."""
    settings = list(report.rows[0].measures.recall)
    heads = (f"R@{top} {iou:.1f}".replace("0.", ".") for top, iou in settings)
    rows = []
    for row in report.rows:
        shares = [*(row.measures.recall[setting] for setting in settings), row.measures.miou]
        rows.append((row.name, *(f"{100 * share:.2f}" for share in shares)))
    title = f"{name}: {report.n_queries} queries of {report.n_videos} videos, per cent"
    return Table(("row", *heads, "mIoU"), tuple(rows), title)


def _about(report: "MomentReport") -> str:
    sign = ">=" if report.comparison == "mmn" else ">"
    return (
        f"found: IoU {sign} the threshold ({report.comparison}); mIoU of the best moment; "
        f"random: {report.n_seeds} draws"
    )
