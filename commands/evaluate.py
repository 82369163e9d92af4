"""`vidsum evaluate`: compare summaries, moments, highlights and captions with people, and with chance."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from vidsum.batch.deliver import ResultSpec, deliver
from vidsum.batch.inputs import BatchInput, plain_inputs
from vidsum.batch.reply import Reply
from vidsum.batch.runner import Progress
from vidsum.batch.settings import CommonOptions
from vidsum.commands.batch import Printing, Videos, run_verb
from vidsum.commands.options import Chosen, Only, command
from vidsum.commands.usage import CommandGroup
from vidsum.errors import UsageError
from vidsum.features.settings import Extraction
from vidsum.io.paths import reads_of
from vidsum.lab.attention.settings import AttentionFiles, AttentionRequest
from vidsum.lab.evaluation.settings import (
    CaptionsRequest,
    HighlightsRequest,
    MomentsRequest,
    Request,
    SummaryRequest,
)
from vidsum.options import build, option
from vidsum.outputs.alone import own_record, write_alone
from vidsum.outputs.artifacts import Artifacts, Writer
from vidsum.outputs.names import Written, check_outputs, require_suffix
from vidsum.outputs.output_records import record_of

app = typer.Typer(
    cls=CommandGroup,
    add_completion=False,
    no_args_is_help=True,
    help="Measure summaries, moments, highlights and captions against human annotations.",
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


@command(
    app,
    "vidsum evaluate summary --annotations ydata-tvsum50.mat",
    "vidsum evaluate summary --data tvsum.h5 --run OUT",
    "vidsum evaluate summary --data summe.h5 --scores mine.json -o report.json",
)
def summary(request: SummaryRequest, report: ReportFiles, common: Printing) -> None:
    """Compare importance scores with annotators: rank correlation and F.

    Also reports the annotators, random scores and equal scores.
    """
    _evaluate("summary", request, report, common, plot=request.plot)


@command(
    app,
    "vidsum evaluate moments --data activitynet/test.json",
    "vidsum evaluate moments mine.jsonl --data highlight_val_release.jsonl -o report.json",
    "vidsum evaluate moments --data charades_test.json --run OUT --features charades_i3d",
)
def moments(
    chosen: Annotated[Mapping[str, Any], Chosen(MomentsRequest)],
    report: ReportFiles,
    common: Printing,
    predictions: Annotated[
        list[Path],
        typer.Argument(
            None,
            metavar="PREDICTIONS",
            help="Predicted moments: the JSON of `vidsum ground`, or JSON lines in QVHighlights' format.",
        ),
    ],
) -> None:
    """Compare moments with the moments of annotators: recall at an IoU, mean IoU.

    Also reports random moments and the whole video.
    """
    request = build(MomentsRequest, {**chosen, "predictions": tuple(predictions or ())})
    _evaluate("moments", request, report, common)


@command(
    app,
    "vidsum evaluate highlights mine.jsonl highlight_val_release.jsonl",
    "vidsum evaluate highlights mine.jsonl highlight_val_release.jsonl -o report.json",
    "vidsum evaluate highlights highlight_val_release.jsonl --run OUT --features slowfast --features clip",
)
def highlights(
    chosen: Annotated[Mapping[str, Any], Chosen(HighlightsRequest)],
    report: ReportFiles,
    common: Printing,
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
    """Measure moments and highlights by QVHighlights' official evaluation: R1, mAP, HIT@1.

    Measures predictions or a trained model. Also reports random answers and the whole video.
    """
    *predictions, annotations = sources
    if len(predictions) > 1:
        raise UsageError("only one file of PREDICTIONS is measured", hint="PREDICTIONS ANNOTATIONS")
    positional = {"annotations": annotations, "predictions": predictions[0] if predictions else None}
    request = build(HighlightsRequest, {**chosen, **positional})
    _evaluate("highlights", request, report, common, predictions=request.write_predictions)


@command(
    app,
    "vidsum evaluate captions results.json --data captions_val2014.json",
    "vidsum evaluate captions mine.csv --data captions.csv --metric cider-d -o report.json",
    "vidsum evaluate captions DESCRIPTIONS --data activitynet/val_1.json",
)
def captions(
    chosen: Annotated[Mapping[str, Any], Chosen(CaptionsRequest)],
    report: ReportFiles,
    common: Printing,
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
    """Compare captions with sentences written by people: CIDEr, BLEU, ROUGE-L.

    Also reports captions of other items and, where there are several sentences, people.
    """
    request = build(CaptionsRequest, {**chosen, "predictions": tuple(predictions)})
    _evaluate("captions", request, report, common)


@command(
    app,
    "vidsum evaluate attention film.mp4 --part 5.0",
    "vidsum evaluate attention film.mp4 --model runs/tvsum/split_0/best.safetensors --part all",
)
def attention(
    sources: Videos,
    request: AttentionRequest,
    extraction: Annotated[Extraction, Only(("extractor", "device"))],
    outputs: AttentionFiles,
    common: Printing,
) -> None:
    """Draw the attention of a FullTransNet while it summarizes a video."""
    if not sources:
        raise UsageError("no video", hint="vidsum evaluate attention VIDEO")
    reads, written = {**reads_of(sources), **common.reads}, Written()
    inputs = plain_inputs(sources)
    for item in inputs:
        check_outputs(item.path, [outputs.path(item.path, request)], reads, written)
    work = partial(draw_one, request, extraction, outputs, common)
    run_verb("evaluate attention", work, inputs, common, are_videos=False)


def draw_one(
    request: AttentionRequest,
    extraction: Extraction,
    outputs: AttentionFiles,
    common: CommonOptions,
    item: BatchInput,
    progress: Progress | None,
) -> Reply:
    from vidsum.lab.attention.maps import draw_attention

    path = outputs.path(item.path, request)
    (facts, messages), _ = write_alone(
        own_record(path),
        lambda shadow: draw_attention(request, item.path, shadow, extraction, progress),
        overwrite=outputs.overwrite,
        reads={**reads_of([item.path]), **common.reads},
    )
    data = {"outputs": {"attention": str(path)}, **facts}
    return Reply(input=item.path, data=data, lines=(str(path),), messages=messages)


def _evaluate(
    task: str, request: Request, report: ReportFiles, common: CommonOptions, **others: Path | None
) -> None:
    """Make the report of a request, by the name of its source, unless its files are up to date.

    `others` are other files of it. All are checked before any work: UsageError for a wrong suffix, or a file
    that is read. OutputError: the folder does not exist.
    """
    json = None if report.output in (None, "-") else Path(str(report.output))
    rules = {
        "json": ("output", (".json",)),
        "plot": ("plot", (".png", ".svg")),
        "predictions": ("write_predictions", (".jsonl",)),
    }
    named = {kind: path for kind, path in {"json": json, **others}.items() if path}
    reads, written = {**reads_of([request.source]), **common.reads}, Written()
    for kind, path in named.items():
        option, suffixes = rules[kind]
        require_suffix(path, suffixes, option)
        check_outputs(str(request.source), [path], reads, written)
    work = partial(_evaluate_one, request, report, common, named)
    run_verb(f"evaluate {task}", work, plain_inputs([str(request.source)]), common, are_videos=False)


def _evaluate_one(
    request: Request,
    report: ReportFiles,
    common: CommonOptions,
    named: Mapping[str, Path],
    item: BatchInput,
    progress: Progress | None,
) -> Reply:
    from vidsum.io.provenance import seal
    from vidsum.lab.evaluate import evaluate
    from vidsum.lab.evaluation.evaluation_report import Report, document, table
    from vidsum.lab.finished_summaries import provenance

    made_from = provenance(request)

    def describe(made: Report, names: str) -> Reply:
        lines, (columns, rows) = tuple(filter(None, (made.note, names))), table(made)
        return Reply(lines=lines, table=(columns, *rows), title=f"{request.source.name}: {made.title}")

    def to_document(made: Report, _: Collection[str]) -> dict[str, Any]:
        return seal(document(made, made_from))

    def write_as(kind: str, made: Report, path: Path) -> tuple[str, ...]:
        if kind in made.writers:
            made.writers[kind](path)
        return ()

    others: dict[str, Writer] = {kind: partial(write_as, kind) for kind in named if kind != "json"}
    spec: ResultSpec[Any] = ResultSpec(
        made_from, lambda: evaluate(request, progress), None, others, to_document
    )
    if not named:
        made = spec.run()
        facts = to_document(made, ())
        answer = Reply(document=facts) if report.output == "-" else describe(made, "")
        return replace(answer, data=facts, messages=tuple(facts["warnings"]))
    first = named.get("json") or next(iter(named.values()))
    record = first if "json" in named else record_of(first)
    saving = replace(common, overwrite=report.overwrite)
    answer = deliver(replace(item, artifacts=Artifacts(record, named)), saving, spec, describe)
    if report.output == "-":  # the document alone, whatever other files were written
        facts = {key: fact for key, fact in answer.data.items() if key not in ("up_to_date", "outputs")}
        return Reply(data=facts, document=facts, messages=answer.messages)
    return answer
