"""`vidsum evaluate`: compare summaries, moments, highlights and captions with people, and with chance."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from vidsum.commands.batch import Verb, Videos, run_verb
from vidsum.commands.options import Chosen, CommandGroup, Only, command
from vidsum.commands.outputs import Destination, Outputs
from vidsum.commands.result import CommandResult, Table, View
from vidsum.errors import UsageError
from vidsum.features.settings import Extraction
from vidsum.lab.attention.settings import AttentionFiles, AttentionRequest
from vidsum.lab.evaluation.settings import (
    CaptionsRequest,
    HighlightsRequest,
    MomentsRequest,
    Request,
    SummaryRequest,
)
from vidsum.options import build, option
from vidsum.outputs.names import check_outputs, require_suffix
from vidsum.outputs.saving import Saving
from vidsum.outputs.staging import replacing
from vidsum.outputs.tasks import Files, Progress, Task

app = typer.Typer(
    cls=CommandGroup,
    add_completion=False,
    no_args_is_help=True,
    help="Measure summaries, moments, highlights and captions against people.",
)


@dataclass(frozen=True, kw_only=True)
class ReportFiles:
    """Where the report goes."""

    PANEL = "Output"

    output: str | None = option(
        "JSON file for the whole report; - for stdout.",
        None,
        flags=("--output", "-o"),
        default_text="none",
        metavar="FILE",
        writes=True,
    )
    overwrite: bool = option("Replace existing outputs.", False)


@command(app)
def summary(request: SummaryRequest, report: ReportFiles, view: View) -> None:
    """Compare importance scores with annotators: rank correlation and F.

    Also reports the annotators, random scores and equal scores.

    vidsum evaluate summary --annotations ydata-tvsum50.mat

    vidsum evaluate summary --data tvsum.h5 --run OUT

    vidsum evaluate summary --data summe.h5 --scores mine.json -o report.json
    """
    _evaluate("summary", request, report, view, plot=request.plot)


@command(app)
def moments(
    chosen: Annotated[Mapping[str, Any], Chosen(MomentsRequest)],
    report: ReportFiles,
    view: View,
    predictions: Annotated[
        list[Path],
        typer.Argument(
            None,
            metavar="PREDICTIONS",
            help="Predicted moments: the JSON of `vidsum ground`, or JSON lines in QVHighlights' format.",
        ),
    ],
) -> None:
    """Compare moments with those of annotators: recall at an IoU, mean IoU.

    Also reports random moments and the whole video.

    vidsum evaluate moments --data activitynet/test.json

    vidsum evaluate moments mine.jsonl --data highlight_val_release.jsonl -o report.json

    vidsum evaluate moments --data charades_test.json --run OUT --features charades_i3d
    """
    request = build(MomentsRequest, {**chosen, "predictions": tuple(predictions or ())})
    _evaluate("moments", request, report, view)


@command(app)
def highlights(
    chosen: Annotated[Mapping[str, Any], Chosen(HighlightsRequest)],
    report: ReportFiles,
    view: View,
    sources: Annotated[
        list[Path],
        typer.Argument(
            ...,
            metavar="[PREDICTIONS] ANNOTATIONS",
            help="Predicted moments and saliency in QVHighlights' format (JSON lines; left out with --run), "
            "and annotations of QVHighlights (JSON lines).",
        ),
    ],
) -> None:
    """Measure moments and highlights as QVHighlights officially does: R1, mAP, HIT@1.

    Measures predictions or a trained model. Also reports random answers and the whole video.

    vidsum evaluate highlights mine.jsonl highlight_val_release.jsonl

    vidsum evaluate highlights mine.jsonl highlight_val_release.jsonl -o report.json

    vidsum evaluate highlights highlight_val_release.jsonl --run OUT --features slowfast --features clip
    """
    *predictions, annotations = sources
    if len(predictions) > 1:
        raise UsageError("only one file of PREDICTIONS is measured", hint="PREDICTIONS ANNOTATIONS")
    positional = {"annotations": annotations, "predictions": predictions[0] if predictions else None}
    request = build(HighlightsRequest, {**chosen, **positional})
    _evaluate("highlights", request, report, view, predictions=request.write_predictions)


@command(app)
def captions(
    chosen: Annotated[Mapping[str, Any], Chosen(CaptionsRequest)],
    report: ReportFiles,
    view: View,
    predictions: Annotated[
        list[Path],
        typer.Argument(
            ...,
            metavar="PREDICTIONS",
            help="Captions: COCO's results (.json), CSV of an id and a caption, or descriptions of videos: "
            "a file or a folder.",
        ),
    ],
) -> None:
    """Compare captions with sentences of people: CIDEr, BLEU, ROUGE-L.

    Also reports captions of other items and, where there are several sentences, people.

    vidsum evaluate captions results.json --data captions_val2014.json

    vidsum evaluate captions mine.csv --data captions.csv --metric cider-d -o report.json

    vidsum evaluate captions DESCRIPTIONS --data activitynet/val_1.json
    """
    request = build(CaptionsRequest, {**chosen, "predictions": tuple(predictions)})
    _evaluate("captions", request, report, view)


@command(app)
def attention(
    sources: Videos,
    request: AttentionRequest,
    extraction: Annotated[Extraction, Only(("extractor", "device"))],
    outputs: AttentionFiles,
    view: View,
) -> None:
    """Draw the attention of a FullTransNet while it summarizes a video.

    vidsum evaluate attention film.mp4 --part 5.0

    vidsum evaluate attention film.mp4 --model runs/tvsum/split_0/best.safetensors --part all
    """
    if not sources:
        raise UsageError("no video", hint="vidsum evaluate attention VIDEO")
    targets = {
        source: Files({"attention": outputs.path(source, request)}, nested=False) for source in sources
    }
    for source, files in targets.items():
        check_outputs(source, files.all)
    work = partial(draw_one, request, extraction, overwrite=outputs.overwrite)
    run_verb(Verb("evaluate attention", work), sources, view, targets=targets)


def draw_one(
    request: AttentionRequest,
    extraction: Extraction,
    task: Task,
    progress: Progress | None,
    *,
    overwrite: bool,
) -> CommandResult:
    from vidsum.lab.attention.maps import draw_attention

    path = task.files.named["attention"]
    with replacing(path, overwrite=overwrite) as shadow:
        facts, messages = draw_attention(request, task.path, shadow, extraction, progress)
    data = {**task.files.facts(), **facts}
    return CommandResult(input=task.path, data=data, lines=(str(path),), messages=messages)


def _evaluate(task: str, request: Request, report: ReportFiles, view: View, **others: Path | None) -> None:
    """Make the report of a request, by the name of its source, unless its files are up to date.

    `others` are other files of it. All are checked before any work: UsageError for a wrong suffix, or a file
    that is read. OutputError: the folder does not exist.
    """
    json = None if report.output in (None, "-") else Path(str(report.output))
    suffixes = {"output": (".json",), "plot": (".png", ".svg"), "predictions": (".jsonl",)}
    named = {kind: path for kind, path in {"output": json, **others}.items() if path}
    for kind, path in named.items():
        require_suffix(path, suffixes[kind])
        check_outputs(str(request.source), [path])
    files = Files(named, nested=False, absent=("output", *others))

    def step(item: Task, progress: Progress | None) -> CommandResult:
        from vidsum.lab.evaluate import evaluate
        from vidsum.lab.evaluation.evaluation_report import Report, document, table
        from vidsum.lab.finished_summaries import provenance
        from vidsum.results.result import seal

        made_from = provenance(request)

        def answer(made: Report, names: str) -> CommandResult:
            drawn = Table(*table(made), f"{request.source.name}: {made.title}")
            return CommandResult(lines=tuple(filter(None, (made.note, names))), table=drawn)

        def to_document(made: Report, keys: Collection[str]) -> dict[str, Any]:
            return seal(document(made, made_from))

        def write(made: Report, files: Files) -> Sequence[str]:
            for kind, path in files.named.items():
                if kind in made.writers:
                    made.writers[kind](path)
            return ()

        if not files.named:
            made = evaluate(request, progress)
            facts = to_document(made, ())
            warnings = tuple(facts["warnings"])
            if report.output == "-":
                return CommandResult(data=facts, document=facts, messages=warnings)
            return replace(answer(made, ""), data={**files.facts(), **facts}, messages=warnings)
        saving: Saving[Any] = Saving(
            made_from,
            lambda: evaluate(request, progress),
            lambda _: None,
            write,
            to_document,
            select=lambda _: None,
        )
        outputs = Destination(Outputs(overwrite=report.overwrite))
        saved = outputs.deliver(replace(item, files=files), saving, answer)
        return _to_stdout(saved, files) if report.output == "-" else saved

    run_verb(Verb(f"evaluate {task}", step), [str(request.source)], view)


def _to_stdout(saved: CommandResult, files: Files) -> CommandResult:
    """Return the result for `-o -`: the document alone, whatever other files were written."""
    about_files = {"up_to_date", *files.facts()}
    facts = {key: value for key, value in saved.data.items() if key not in about_files}
    return CommandResult(data=facts, document=facts, messages=saved.messages)
