"""`vidsum chapters`: titled chapters of a video, by what is said or seen."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from vidsum.commands.batch import Batch, Verb, Videos, run_verb
from vidsum.commands.options import Only, command
from vidsum.commands.outputs import Destination, Exports, Outputs
from vidsum.commands.result import Columns, CommandResult, Table, View
from vidsum.errors import UsageError
from vidsum.features.settings import Extraction
from vidsum.options import option
from vidsum.outputs.saving import Saving
from vidsum.outputs.tasks import Files, Progress, Task
from vidsum.shots.settings import ChapterSettings
from vidsum.times import format_short_time

if TYPE_CHECKING:
    from vidsum.results.shots import Chapters

app = typer.Typer(add_completion=False)

_COLUMNS: Columns = {"length_s": "duration_s", "chapters": "chapters", "evidence": "evidence"}


@dataclass(frozen=True, kw_only=True)
class ChapterOutputs:
    """Outputs in addition to the JSON."""

    PANEL = "Output"

    copy: bool = option("Save a copy of the video with the chapters, not encoded again.", False)


@command(app)
def chapters(
    sources: Videos,
    batch: Batch,
    settings: ChapterSettings,
    outputs: Outputs,
    extra: ChapterOutputs,
    exports: Exports,
    extraction: Annotated[Extraction, Only(("device", "cache", "audio_track", "reader"))],
    view: View,
) -> None:
    """Cut videos into titled chapters.

    Writes {video}_chapters.json into the current folder and prints the chapters. They are made from the
    speech, which is transcribed once, or from the picture where little is said.

    vidsum chapters talk.mp4

    vidsum chapters talk.mp4 --copy

    vidsum chapters talk.mp4 --chapters 8 --export chapters --export ffmetadata --report
    """
    from vidsum.outputs.timelines import copy_suffix

    sources = batch.inputs(sources)
    if extra.copy and outputs.to_stdout:
        raise UsageError("-o - writes JSON only", hint="-o FILE.json, with --copy")
    targets = {}
    for source, json in outputs.destinations(sources, "_chapters.json", (".json",)).items():
        copies = {"copy": json.with_suffix(copy_suffix(source))} if extra.copy else {}
        targets[source] = Files({"json": json, **copies})
    outputs.check(targets)
    targets = exports.with_exports(targets, outputs)
    work = partial(find_chapters, settings, extraction, Destination(outputs, exports))
    run_verb(Verb("chapters", work, extraction.device, _COLUMNS), sources, view, batch, outputs, targets)


def find_chapters(
    settings: ChapterSettings,
    extraction: Extraction,
    destination: Destination,
    task: Task,
    progress: Progress | None,
) -> CommandResult:
    from vidsum.pipelines.chapters import plan_chapters
    from vidsum.results.shots import Chapters

    record = None if destination.outputs.to_stdout else task.files.record
    plan = plan_chapters(task.path, settings, extraction, record)
    saving = Saving(plan.provenance, partial(plan.run, progress), Chapters.from_dict, _write)
    return destination.deliver(task, saving, _answer)


def _write(chapters: "Chapters", files: Files) -> Sequence[str]:
    from vidsum.outputs.timelines import write_chaptered

    if "copy" in files.named:
        write_chaptered(chapters, files.named["copy"])
    return ()


def _answer(chapters: "Chapters", names: str) -> CommandResult:
    from vidsum.results.clock import to_player_time

    parts = to_player_time(chapters).chapters  # as YouTube wants them: in whole seconds, from 0
    line = f"{names}: {len(parts)} chapters by {chapters.evidence}"
    facts, hints = chapters.provenance["chapters"], list[str]()
    described = facts.get("descriptions")
    if described and chapters.evidence == "picture":
        line += f"; titles also from descriptions by {described['writer']}"
    elif chapters.evidence == "picture" and "screen_text" not in facts and chapters.video:
        command = f"vidsum transcribe {quote(chapters.video.path)} --on-screen-text"
        hints.append(f"titles are from the pictures only; text on the screen gives better ones: {command}")
    rows = tuple(
        (format_short_time(float(int(n and part.start_s))), part.title) for n, part in enumerate(parts)
    )
    return CommandResult(lines=(*hints, line), table=Table(("start", "title"), rows))
