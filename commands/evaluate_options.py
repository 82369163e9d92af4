"""The options of `vidsum evaluate summary`; `moments` and `highlights` share some."""

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from vidsum.commands.options import OUT, option
from vidsum.commands.reports import Files, Shown, report_result
from vidsum.commands.result import Result, Table

if TYPE_CHECKING:
    from vidsum.evaluation.settings import Request
    from vidsum.types import Progress


class SegmentationName(str, Enum):
    """What shots the key-shot summaries are made of."""

    change_points = "change-points"
    uniform_60 = "uniform-60"
    one_peak = "one-peak"
    two_peak = "two-peak"
    two_peak_30_300 = "two-peak-30-300"


class ProtocolName(str, Enum):
    """How a trained model is asked for a summary."""

    auto = "auto"
    paper = "paper"


WHAT = "What to evaluate"

Data = Annotated[
    list[Path] | None,
    option(
        "--data",
        help="h5 file of annotated videos (SumMe, TVSum or their layout); may be given several times.",
        show_default=False,
        metavar="FILE.h5",
        rich_help_panel=WHAT,
    ),
]
Annotations = Annotated[
    Path | None,
    option(
        "--annotations",
        help="ydata-tvsum50.mat: each annotator's scores, for the videos of --data or on their own.",
        show_default=False,
        metavar="FILE.mat",
        rich_help_panel=WHAT,
    ),
]
Models = Annotated[
    list[str] | None,
    option(
        "--model",
        "--scorer",
        "-m",
        help="As of `vidsum summarize`, run on the features; may be given several times.",
        show_default="contrastive and cluster, without --scores",
        metavar="NAME|FILE",
        rich_help_panel=WHAT,
    ),
]
Scores = Annotated[
    list[Path] | None,
    option(
        "--scores",
        help=r"Scores made elsewhere, {video: \[a score at each pick]}; may be given several times.",
        show_default=False,
        metavar="FILE.json",
        rich_help_panel=WHAT,
    ),
]
Runs = Annotated[
    list[Path] | None,
    option(
        "--run",
        help="Folder of `vidsum train`: each test video scored by the model that has not seen it; "
        "may be given several times.",
        show_default=False,
        metavar="FOLDER",
        rich_help_panel=WHAT,
    ),
]
ModelProtocol = Annotated[
    ProtocolName,
    option(
        "--protocol",
        help="auto: models of --run see no labels. paper: they are told the key frames of the test video's "
        "annotators, as the paper's figures were made.",
        rich_help_panel=WHAT,
    ),
]
Segmentation = Annotated[
    list[SegmentationName] | None,
    option(
        "--segmentation",
        help="Shots of the summaries; may be given several times.",
        show_default="change-points; without --data all others",
        rich_help_panel=WHAT,
    ),
]
CheckpointFeatures = Annotated[
    list[Path] | None,
    option(
        "--features",
        help="HDF5 file, or folder with a file a video, that --run reads; several are put side by side.",
        show_default=False,
        metavar="PATH",
        rich_help_panel=WHAT,
    ),
]
Seeds = Annotated[
    int,
    option("--seeds", help="Draws of what is random that are averaged.", min=1, rich_help_panel=WHAT),
]
Plot = Annotated[
    Path | None,
    option(
        "--plot",
        help="PNG or SVG file to draw: the scores of each row over time, beside the annotators' mean.",
        show_default=False,
        metavar="FILE",
        rich_help_panel=OUT,
    ),
]
Output = Annotated[
    str | None,
    option(
        "--output",
        "-o",
        help="JSON file to write the whole report to; - for stdout.",
        show_default="none",
        metavar="FILE",
        rich_help_panel=OUT,
    ),
]


def report_of(
    command: str, source: str, request: "Request", files: Files, progress: "Progress | None"
) -> Result:
    """The result of an evaluation, unless its files are up to date."""
    from vidsum.evaluation.report import document, table
    from vidsum.evaluation.run import SummaryRuns, evaluate, provenance
    from vidsum.evaluation.settings import SummaryRequest
    from vidsum.provenance import label_of

    runs: SummaryRuns | None = None
    if isinstance(request, SummaryRequest) and request.runs:
        from vidsum.training import predict  # with PyTorch, which the rest can do without

        runs = predict
    made_from = provenance(request, runs)

    def make() -> Shown:
        report = evaluate(request, progress, runs)
        if files.plot and report.plot:
            report.plot(files.plot, label_of(made_from))
        columns, rows, title, note = table(report, request.source.name)
        return Shown(document(report, made_from), Table(columns, rows, title), note)

    return report_result(command, source, made_from, make, files)
