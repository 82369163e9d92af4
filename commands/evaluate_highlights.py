"""`vidsum evaluate highlights`: QVHighlights' official evaluation of moments and of the saliency of clips."""

from collections.abc import Iterator
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
    from vidsum.evaluation.highlight_report import HighlightReport, HighlightRow
    from vidsum.types import Progress

_COMMAND = "evaluate highlights"

Sources = Annotated[
    list[Path],
    typer.Argument(
        help="Moments and saliency found, as QVHighlights takes them (JSON lines; left out with --run), and "
        "annotations of QVHighlights (JSON lines).",
        show_default=False,
        metavar="[PREDICTIONS] ANNOTATIONS",
    ),
]
Run = Annotated[
    Path | None,
    option(
        "--run",
        help="Folder or checkpoint of `vidsum train detr`, run on --features, in place of predictions.",
        show_default=False,
        metavar="FOLDER|FILE",
        rich_help_panel=WHAT,
    ),
]
TextFeatures = Annotated[
    Path | None,
    option(
        "--text-features",
        help="Folder with the words of queries as published, qid{N}.npz.",
        show_default="embedded by the run's text encoder",
        metavar="FOLDER",
        rich_help_panel=WHAT,
    ),
]
Written = Annotated[
    Path | None,
    option(
        "--write-predictions",
        help="JSON lines to write the answers of --run to, as QVHighlights takes them.",
        show_default=False,
        metavar="FILE.jsonl",
        rich_help_panel=OUT,
    ),
]


def highlights(
    sources: Sources,
    run: Run = None,
    features: CheckpointFeatures = None,
    text_features: TextFeatures = None,
    seeds: Seeds = 10,
    device: options.Device = "auto",
    output: Output = None,
    write_predictions: Written = None,
    overwrite: options.Overwrite = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    config: options.Config = None,
) -> None:
    """Measure moments and highlights as QVHighlights officially does: R1, mAP, HIT@1.

    Beside the predictions, or what a trained model finds, stand random ones and the whole video.

    vidsum evaluate highlights mine.jsonl highlight_val_release.jsonl

    vidsum evaluate highlights mine.jsonl highlight_val_release.jsonl -o report.json

    vidsum evaluate highlights highlight_val_release.jsonl --run OUT --features slowfast --features clip
    """
    *given, data = sources
    _check(given, run, features, text_features, write_predictions)
    where = Files(output, None, overwrite, write_predictions)
    main = str(run or given[0])
    where.check([main], [str(data)])

    def step(source: str, progress: "Progress | None") -> Result:
        from vidsum.evaluation.highlight_document import highlight_report_document
        from vidsum.evaluation.highlight_run import ModelRun, highlight_provenance, run_highlights

        predictions: Path | ModelRun
        if run:
            of_model = (*checkpoint_of(run), tuple(features or ()), text_features)
            predictions = ModelRun(*of_model, device=device, written=write_predictions)
        else:
            (predictions,) = given
        made_from = highlight_provenance(predictions, data, seeds)

        def make() -> Shown:
            report = run_highlights(predictions, data, seeds, progress)
            document = highlight_report_document(report, made_from)
            about = f"R1, HIT@1: of the first moment, the best clip; random: {report.n_seeds} draws"
            return Shown(document, _table(data.name, report), about)

        return report_result(_COMMAND, source, made_from, make, where)

    run_batch(_COMMAND, [main], View(json, quiet, verbose), step)


def _check(
    given: list[Path],
    run: Path | None,
    features: list[Path] | None,
    text_features: Path | None,
    written: Path | None,
) -> None:
    """Refuse with a UsageError what does not say one thing to measure."""
    if len(given) != (0 if run else 1):
        raise UsageError(
            "what is measured is PREDICTIONS, or a model of --run, and then ANNOTATIONS",
            hint="vidsum evaluate highlights PREDICTIONS ANNOTATIONS",
        )
    if bool(run) != bool(features):
        raise UsageError("--run and --features go together", hint="--run FOLDER --features FOLDER")
    for option_name, value in (("--text-features", text_features), ("--write-predictions", written)):
        if value and not run:
            raise UsageError(f"{option_name} is for a model of --run", hint="--run FOLDER --features FOLDER")


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
