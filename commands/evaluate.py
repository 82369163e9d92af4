"""`vidsum evaluate`: how near importance scores come to annotators, and how near chance comes."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from vidsum.commands import evaluate_highlights, evaluate_moments, options
from vidsum.commands import evaluate_options as own
from vidsum.commands.batch import run_batch
from vidsum.commands.reports import Files
from vidsum.commands.result import Result, View
from vidsum.errors import UsageError
from vidsum.evaluation.settings import SummaryRequest

if TYPE_CHECKING:
    from vidsum.types import Progress

_COMMAND = "evaluate summary"

app = typer.Typer(no_args_is_help=True, help="Measure summaries, moments and highlights against annotators.")
app.command("moments")(evaluate_moments.moments)
app.command("highlights")(evaluate_highlights.highlights)


@app.command("summary")
def summary(
    data: own.Data = None,
    annotations: own.Annotations = None,
    model: own.Models = None,
    scores: own.Scores = None,
    runs: own.Runs = None,
    protocol: own.ModelProtocol = own.ProtocolName.auto,
    beams: options.Beams = 1,
    segmentation: own.Segmentation = None,
    seeds: own.Seeds = 10,
    device: options.Device = "auto",
    output: own.Output = None,
    plot: own.Plot = None,
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
    if not data and plot:
        raise UsageError("--plot needs videos with features", hint="--data FILE.h5")
    where = Files(output, plot, overwrite)
    request = SummaryRequest(
        data=data[0] if data else None,
        annotations=annotations,
        model=tuple(model or ()),
        scores=tuple(scores or ()),
        runs=tuple(runs or ()),
        protocol=protocol.value,
        beams=beams,
        segmentation=tuple(one.value for one in segmentation or ()),
        seeds=seeds,
        device=device,
    )
    inputs = list(map(str, files))
    where.check(inputs)

    def step(source: str, progress: "Progress | None") -> Result:
        each = replace(request, data=Path(source)) if data else request
        return own.report_of(_COMMAND, source, each, where, progress)

    run_batch(_COMMAND, inputs, View(json, quiet, verbose), step)
