"""`vidsum evaluate`: how near importance scores come to annotators, and how near chance comes."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from vidsum.commands import evaluate_highlights, evaluate_moments, options
from vidsum.commands import evaluate_options as own
from vidsum.commands.batch import run_batch
from vidsum.commands.reports import Files, Shown, report_result
from vidsum.commands.result import Result, Table, View
from vidsum.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vidsum.evaluation import SummaryReport
    from vidsum.evaluation.run import Asked, Predict
    from vidsum.evaluation.summary_metrics import KeyShotMeasures
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
    inputs = [str(path) for path in files]
    _check_choices(data, inputs, model, scores, runs, protocol, plot)
    where = Files(output, plot, overwrite)
    where.check(inputs)
    usual = ("contrastive", "cluster") if data and not scores else ()

    def step(source: str, progress: "Progress | None") -> Result:
        from vidsum.evaluation.document import report_document
        from vidsum.evaluation.run import Asked, provenance, run_annotations, run_data
        from vidsum.provenance import label_of

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

        def make() -> Shown:
            if data:
                predictor, label = _predictor(asked, progress), label_of(made_from)
                report = run_data(Path(source), asked, predictor, progress, plot, label)
            else:
                report = run_annotations(Path(source), asked, progress)
            table = _table(Path(source).name, report)
            return Shown(report_document(report, made_from), table, _about(report))

        return report_result(_COMMAND, source, made_from, make, where)

    run_batch(_COMMAND, inputs, View(json, quiet, verbose), step)


def _check_choices(
    data: list[Path] | None,
    inputs: list[str],
    model: list[str] | None,
    scores: list[Path] | None,
    runs: list[Path] | None,
    protocol: own.ProtocolName,
    plot: Path | None,
) -> None:
    if not inputs:
        raise UsageError("there is nothing to evaluate on", hint="--data FILE.h5, or --annotations FILE.mat")
    if not data and (model or scores or runs or plot):
        raise UsageError(
            "--model, --scores, --run and --plot need videos with features", hint="--data FILE.h5"
        )
    if "auto" in (model or ()):
        raise UsageError(
            "--model auto is one model or another: name the one to measure", hint="--model fulltransnet"
        )
    if protocol is own.ProtocolName.paper and not runs:
        raise UsageError("--protocol paper is for models of a training run", hint="--run FOLDER")


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
    columns = _of_knapsacks(settings) if len(segmentations) == 1 else _of_segmentations(settings)
    fewest, most = report.n_annotators
    who = f"{most} annotator{'' if most == 1 else 's'}"
    who = who if fewest == most else f"{fewest} to {who}"
    videos = f"{report.n_videos} video{'' if report.n_videos == 1 else 's'}"
    if report.n_tests > report.n_videos:
        videos = f"{report.n_tests} tests of {videos}"
    title = f"{name}: {videos}, {who} each; key shots of 15 %, {columns.what}"
    rows = []
    for row in report.rows:
        measures = (getattr(row.mean.key_shots[place], field) for place, field in columns.cells)
        values = ("-" if value is None else f"{value:.3f}" for value in measures)
        rows.append((row.name, _signed(row.mean.tau), _signed(row.mean.rho), *values))
    return Table(("row", "   tau", "   rho", *columns.heads), tuple(rows), title)


@dataclass(frozen=True)
class _Columns:
    """Which measures of the key shots a table shows."""

    what: str
    """For the title."""
    heads: tuple[str, ...]
    cells: tuple[tuple[int, str], ...]
    """Place of the setting, and the name of its measure."""


def _of_knapsacks(settings: "Sequence[KeyShotMeasures]") -> _Columns:
    """F max and F avg by each knapsack, coverage by the last."""
    knapsacks = [one.knapsack for one in settings]
    named = {"f_max": "F max", "f_avg": "F avg"}
    return _Columns(
        what=f"segmentation {settings[0].segmentation}, knapsack {' and '.join(knapsacks)}",
        heads=(*(f"{head} {knapsack}" for knapsack in knapsacks for head in named.values()), "coverage"),
        cells=(*((place, field) for place in range(len(settings)) for field in named), (-1, "coverage")),
    )


def _of_segmentations(settings: "Sequence[KeyShotMeasures]") -> _Columns:
    """F avg on each segmentation, by the last knapsack."""
    last = settings[-1].knapsack
    places = [place for place, one in enumerate(settings) if one.knapsack == last]
    return _Columns(
        what=f"F avg, segmentation as named, knapsack {last}",
        heads=tuple(f"F {settings[place].segmentation}" for place in places),
        cells=tuple((place, "f_avg") for place in places),
    )


def _signed(value: float | None) -> str:
    return "     -" if value is None else f"{round(value, 3) + 0.0: .3f}"  # + 0.0: no -0.000


def _about(report: "SummaryReport") -> str:
    against = "each annotator's scores, averaged" if report.ranked_against == "user_scores" else "gtscore"
    return (
        f"tau and rho with {against}; human: each annotator with the others; random: {report.n_seeds} draws"
    )
