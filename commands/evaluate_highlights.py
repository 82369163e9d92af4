"""`vidsum evaluate highlights`: QVHighlights' official evaluation of moments and of the saliency of clips."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vidsum.commands import options
from vidsum.commands.batch import run_batch
from vidsum.commands.evaluate_options import WHAT, CheckpointFeatures, Output, Seeds, report_of
from vidsum.commands.options import OUT, option
from vidsum.commands.reports import Files
from vidsum.commands.result import Result, View
from vidsum.errors import UsageError
from vidsum.evaluation.settings import HighlightsRequest

if TYPE_CHECKING:
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
        help="Run or checkpoint of `vidsum train`, run on --features, in place of predictions.",
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
    if len(given) > 1:
        raise UsageError("only one file of PREDICTIONS is measured", hint="PREDICTIONS ANNOTATIONS")
    request = HighlightsRequest(
        annotations=data,
        predictions=given[0] if given else None,
        run=run,
        features=tuple(features or ()),
        text_features=text_features,
        seeds=seeds,
        device=device,
        write_predictions=write_predictions,
    )
    where = Files(output, None, overwrite, write_predictions)
    main = str(run or given[0])
    where.check([main], [str(data)])

    def step(source: str, progress: "Progress | None") -> Result:
        return report_of(_COMMAND, source, request, where, progress)

    run_batch(_COMMAND, [main], View(json, quiet, verbose), step)
