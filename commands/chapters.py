"""`vidsum chapters`: titled chapters of a video, by what is said or seen."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from vidsum.batch.deliver import ResultSpec, deliver
from vidsum.batch.inputs import BatchInput, read_inputs
from vidsum.batch.reply import Reply
from vidsum.batch.runner import Progress
from vidsum.batch.settings import CommonOptions
from vidsum.batch.states import Columns
from vidsum.batch.targets import (
    main_outputs,
    only_json_error,
    with_files,
)
from vidsum.commands.batch import Exporting, Videos, keep_subtitles, run_verb
from vidsum.commands.options import Only, command
from vidsum.features.settings import Extraction
from vidsum.options import option
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

    save_video: bool = option("Save a copy of the video with the chapters, not encoded again.", False)


@command(
    app,
    "vidsum chapters talk.mp4",
    "vidsum chapters talk.mp4 --save-video",
    "vidsum chapters talk.mp4 --chapters 8 --export chapters --export ffmetadata --report",
)
def chapters(
    sources: Videos,
    settings: ChapterSettings,
    common: Exporting,
    extra: ChapterOutputs,
    extraction: Annotated[Extraction, Only(("device", "cache", "audio_track", "subtitles", "reader"))],
) -> None:
    """Cut videos into titled chapters.

    Writes {video}_chapters.json into the current folder and prints the chapters. They are made from the
    speech, which is transcribed once, or from the picture where little is said.
    """
    from vidsum.outputs.timelines import copy_suffix

    inputs = read_inputs(sources, common)
    common = keep_subtitles(inputs, extraction, common)
    if extra.save_video and common.to_stdout:
        raise only_json_error(["save_video"])
    files = {}
    for path, json in main_outputs(inputs, "_chapters.json", (".json",), common).items():
        copies = {"copy": json.with_suffix(copy_suffix(path))} if extra.save_video else {}
        files[path] = {"json": json, **copies}
    inputs = with_files(inputs, files, common)
    work = partial(find_chapters, settings, extraction, common)
    run_verb("chapters", work, inputs, common, device=extraction.device, columns=_COLUMNS)


def find_chapters(
    settings: ChapterSettings,
    extraction: Extraction,
    common: CommonOptions,
    item: BatchInput,
    progress: Progress | None,
) -> Reply:
    from vidsum.outputs.timelines import write_chaptered
    from vidsum.pipelines.chapters import plan_chapters
    from vidsum.results.shots import Chapters

    def write(chapters: Chapters, path: Path) -> tuple[str, ...]:
        write_chaptered(chapters, path)
        return ()

    record = None if common.to_stdout or item.artifacts is None else item.artifacts.record
    plan = plan_chapters(item.path, settings, extraction, record)
    spec = ResultSpec(plan.provenance, partial(plan.run, progress), Chapters.from_dict, {"copy": write})
    return deliver(item, common, spec, _answer)


def _answer(chapters: "Chapters", names: str) -> Reply:
    from vidsum.results.clock import to_player_time

    parts = to_player_time(chapters).chapters  # as YouTube wants them: in whole seconds, from 0
    line = f"{names}: {len(parts)} chapters by {chapters.evidence}"
    facts, hints = chapters.provenance["chapters"], list[str]()
    described = facts.get("descriptions")
    if described and chapters.evidence == "picture":
        line += f"; titles also from descriptions by {described['writer']}"
    elif "screen_text" not in facts and chapters.video:
        command = f"vidsum transcribe {quote(chapters.video.path)} --on-screen-text"
        if chapters.slides:
            hints.append(f"titles of slides were not considered: {command} reads them first")
        elif chapters.evidence == "picture":
            hints.append(
                f"titles are from the pictures only; text on the screen gives better ones: {command}"
            )
    rows = tuple(
        (format_short_time(float(int(n and part.start_s))), part.title) for n, part in enumerate(parts)
    )
    return Reply(lines=(*hints, line), table=(("start", "title"), *rows))
