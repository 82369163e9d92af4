"""`vidsum evaluate moments`: how near the moments that were found come to those of annotators."""

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vidsum.commands import options
from vidsum.commands.batch import run_batch
from vidsum.commands.evaluate_options import WHAT, CheckpointFeatures, Output, Seeds, report_of
from vidsum.commands.options import OUT, option
from vidsum.commands.reports import Files
from vidsum.commands.result import Result, View
from vidsum.evaluation.settings import MomentsRequest

if TYPE_CHECKING:
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
        help="Run or checkpoint of `vidsum train mrnet` or `detr`, run on --features; repeatable.",
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
    where = Files(output, plot, overwrite)
    request = MomentsRequest(
        data=data,
        predictions=tuple(predictions or ()),
        runs=tuple(runs or ()),
        features=tuple(features or ()),
        max_iou=max_iou,
        comparison=comparison.value,
        seeds=seeds,
        device=device,
    )
    where.check([str(data)], list(map(str, request.predictions)))

    def step(source: str, progress: "Progress | None") -> Result:
        return report_of(_COMMAND, source, request, where, progress)

    run_batch(_COMMAND, [str(data)], View(json, quiet, verbose), step)
