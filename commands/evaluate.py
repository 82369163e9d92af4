"""`vidsum evaluate`: how near importance scores come to annotators, and how near chance comes."""

from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vidsum.commands import options
from vidsum.commands.batch import run_batch
from vidsum.commands.outputs import claim, prepare, recorded, up_to_date
from vidsum.commands.result import Result, Table, View
from vidsum.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vidsum.evaluation import SummaryReport
    from vidsum.evaluation.run import Asked, Predict
    from vidsum.types import Progress

_COMMAND = "evaluate summary"

app = typer.Typer(no_args_is_help=True, help="Measure summaries against annotators.")


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
    options.option(
        "--data",
        help="h5 file of annotated videos (SumMe, TVSum or their layout); may be given several times.",
        show_default=False,
        metavar="FILE.h5",
        rich_help_panel=WHAT,
    ),
]
Annotations = Annotated[
    Path | None,
    options.option(
        "--annotations",
        help="ydata-tvsum50.mat: each annotator's scores, for the videos of --data or on their own.",
        show_default=False,
        metavar="FILE.mat",
        rich_help_panel=WHAT,
    ),
]
Models = Annotated[
    list[str] | None,
    options.option(
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
    options.option(
        "--scores",
        help=r"Scores made elsewhere, {video: \[a score at each pick]}; may be given several times.",
        show_default=False,
        metavar="FILE.json",
        rich_help_panel=WHAT,
    ),
]
Runs = Annotated[
    list[Path] | None,
    options.option(
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
    options.option(
        "--protocol",
        help="auto: models of --run see no labels. paper: they are told the key frames of the test video's "
        "annotators, as the paper's figures were made.",
        rich_help_panel=WHAT,
    ),
]
Segmentation = Annotated[
    list[SegmentationName] | None,
    options.option(
        "--segmentation",
        help="Shots of the summaries; may be given several times.",
        show_default="change-points; without --data all others",
        rich_help_panel=WHAT,
    ),
]
Seeds = Annotated[
    int,
    options.option(
        "--seeds", help="Draws of random scores and shots that are averaged.", min=1, rich_help_panel=WHAT
    ),
]
Output = Annotated[
    str | None,
    options.option(
        "--output",
        "-o",
        help="JSON file to write, with the figures of each video; - for stdout.",
        show_default="none",
        metavar="FILE",
        rich_help_panel=options.OUT,
    ),
]


@app.command("summary")
def summary(
    data: Data = None,
    annotations: Annotations = None,
    model: Models = None,
    scores: Scores = None,
    runs: Runs = None,
    protocol: ModelProtocol = ProtocolName.auto,
    beams: options.Beams = 1,
    segmentation: Segmentation = None,
    seeds: Seeds = 10,
    device: options.Device = "auto",
    output: Output = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    config: options.Config = None,
) -> None:
    """Compare importance scores with annotators: rank correlation, F-measure, coverage.

    Beside each row stand the annotators themselves, random scores and equal scores.

    vidsum evaluate summary --annotations ydata-tvsum50.mat

    vidsum evaluate summary --data tvsum.h5 --annotations ydata-tvsum50.mat --model contrastive

    vidsum evaluate summary --data tvsum.h5 --run OUT

    vidsum evaluate summary --data summe.h5 --scores mine.json -o report.json
    """
    files = data or ([annotations] if annotations else [])
    inputs = [str(path) for path in files]
    if not inputs:
        raise UsageError("there is nothing to evaluate on", hint="--data FILE.h5, or --annotations FILE.mat")
    if not data and (model or scores or runs):
        raise UsageError("--model, --scores and --run need videos with features", hint="--data FILE.h5")
    target = None if output in (None, "-") else Path(str(output))
    if target:
        prepare(output, Path(), inputs, (".json",))
        claim([(source, [target]) for source in inputs])
    usual = ("contrastive", "cluster") if data and not scores else ()

    def step(source: str, progress: "Progress | None") -> Result:
        from vidsum.documents import to_text, write_document
        from vidsum.evaluation.document import report_document
        from vidsum.evaluation.run import Asked, provenance, run_annotations, run_data

        asked = Asked(
            annotations=annotations if data else None,
            models=tuple(model or usual),
            scores=tuple(scores or ()),
            segmentations=tuple(one.value for one in segmentation or ()),
            n_seeds=seeds,
            runs=tuple(runs or ()),
            protocol=protocol.value,
            beams=beams,
            device=device,
        )
        made_from = provenance(Path(source), asked, _files_of(asked.runs))
        if target:
            before = recorded([target], target, made_from, overwrite)
            if before is not None:
                return up_to_date(_COMMAND, source, before, [target], {"output": str(target)})
        if data:
            report = run_data(Path(source), asked, _predictor(asked, progress), progress)
        else:
            report = run_annotations(Path(source), asked, progress)
        document = report_document(report, made_from)
        if output == "-":
            return Result(_COMMAND, source, document, document=to_text(document), messages=report.warnings)
        if target:
            write_document(document, target)
        return Result(
            _COMMAND,
            source,
            {"output": str(target) if target else None, **document},
            lines=(_about(report), *([str(target)] if target else [])),
            table=_table(Path(source).name, report),
            messages=report.warnings,
        )

    run_batch(_COMMAND, inputs, View(json, quiet, verbose), step)


def _files_of(runs: "Sequence[Path]") -> list[Path]:
    if not runs:
        return []
    from vidsum.training.predict import run_files

    return [file for run in runs for file in run_files(run)]


def _predictor(asked: "Asked", progress: "Progress | None") -> "Predict | None":
    """What scores the test videos of runs; PyTorch is loaded only where there are any."""
    if not asked.runs:
        return None
    from vidsum.training.predict import predict_run

    return partial(
        predict_run, protocol=asked.protocol, beams=asked.beams, device=asked.device, progress=progress
    )


def _table(name: str, report: "SummaryReport") -> Table:
    """One segmentation: each knapsack's F-measures. Several: the mean F-measure of each segmentation."""
    settings = report.rows[0].mean.key_shots
    segmentations = list(dict.fromkeys(one.segmentation for one in settings))
    fewest, most = report.n_annotators
    who = f"{fewest} annotators" if fewest == most else f"{fewest} to {most} annotators"
    title = f"{name}: {report.n_videos} videos, {who} each; key shots of 15 %, "
    last = settings[-1].knapsack
    if len(segmentations) == 1:
        knapsacks = " and ".join(one.knapsack for one in settings)
        title += f"segmentation {segmentations[0]}, knapsack {knapsacks}"
        heads = [f"{what} {one.knapsack}" for one in settings for what in ("F max", "F avg")] + ["coverage"]
    else:
        title += f"F avg, segmentation as named, knapsack {last}"
        heads = [f"F {segmentation}" for segmentation in segmentations]
    rows = []
    for row in report.rows:
        found = row.mean.key_shots
        if len(segmentations) == 1:
            values = [value for one in found for value in (one.f_max, one.f_avg)] + [found[-1].coverage]
        else:
            values = [one.f_avg for one in found if one.knapsack == last]
        ranks = _signed(row.mean.tau), _signed(row.mean.rho)
        rows.append((row.name, *ranks, *("-" if value is None else f"{value:.3f}" for value in values)))
    return Table(("row", "   tau", "   rho", *heads), tuple(rows), title)


def _signed(value: float | None) -> str:
    return "     -" if value is None else f"{round(value, 3) + 0.0: .3f}"  # + 0.0: no -0.000


def _about(report: "SummaryReport") -> str:
    against = "each annotator's scores, averaged" if report.ranked_against == "user_scores" else "gtscore"
    return (
        f"tau and rho with {against}; human: each annotator with the others; random: {report.n_seeds} draws"
    )
