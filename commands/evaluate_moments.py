"""`vidsum evaluate moments`: how near the moments that were found come to those of annotators."""

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vidsum.commands import options
from vidsum.commands.batch import run_batch
from vidsum.commands.evaluate_options import WHAT, CheckpointFeatures, Output, Seeds, checkpoint_of
from vidsum.commands.options import OUT, option
from vidsum.commands.reports import Files, Shown, report_result
from vidsum.commands.result import Result, Table, View
from vidsum.errors import UsageError

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
        metavar="PREDICTIONS",
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
Runs = Annotated[
    list[Path] | None,
    option(
        "--run",
        help="Folder or checkpoint of `vidsum train mrnet`, run on --features; may be given several times.",
        show_default=False,
        metavar="FOLDER|FILE",
        rich_help_panel=WHAT,
    ),
]
MaxIou = Annotated[
    float,
    option(
        "--max-iou",
        help="Largest IoU of two moments that a model of --run gives a query.",
        min=0,
        max=1,
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
    runs: Runs = None,
    features: CheckpointFeatures = None,
    max_iou: MaxIou = 0.5,
    comparison: Comparison = ComparisonName.mmn,
    seeds: Seeds = 10,
    device: options.Device = "auto",
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

    vidsum evaluate moments --data charades_test.json --run OUT --features charades_i3d
    """
    models = _checkpoints(runs or [], features)
    where = Files(output, plot, overwrite)
    where.check([str(data)], list(map(str, predictions or ())))

    def step(source: str, progress: "Progress | None") -> Result:
        from vidsum.evaluation.moment_document import moment_report_document
        from vidsum.evaluation.moment_run import MomentsAsked, provenance, run_moments
        from vidsum.provenance import label_of

        asked = MomentsAsked(
            predictions=tuple(predictions or ()),
            checkpoints=models,
            features=tuple(features or ()),
            max_iou=max_iou,
            comparison=comparison.value,
            n_seeds=seeds,
            device=device,
        )
        made_from = provenance(data, asked)

        def make() -> Shown:
            report = run_moments(data, asked, progress, plot, label_of(made_from))
            table = _table(data.name, report)
            return Shown(moment_report_document(report, made_from), table, _about(report))

        return report_result(_COMMAND, source, made_from, make, where)

    run_batch(_COMMAND, [str(data)], View(json, quiet, verbose), step)


def _checkpoints(runs: list[Path], features: list[Path] | None) -> dict[str, Path]:
    """The checkpoint of each run by the name of its row: that of the run's folder, or of the file."""
    if bool(runs) != bool(features):
        raise UsageError("--run and --features go together", hint="--run FOLDER --features FILE")
    found: dict[str, Path] = {}
    for row, checkpoint in map(checkpoint_of, runs):
        if row in found:
            raise UsageError(f"two runs are called {row}", hint="rename a folder")
        found[row] = checkpoint
    return found


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
