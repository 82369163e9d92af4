"""`vidsum trim`: videos without their silence and filler words, as MP4 and JSON."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vidsum.commands.batch import Batch, Verb, Videos, run_verb
from vidsum.commands.options import Only, command
from vidsum.commands.outputs import Destination, Exports, Outputs
from vidsum.commands.result import Columns, CommandResult, View, text_table
from vidsum.features.settings import Extraction
from vidsum.options import Checked, option
from vidsum.outputs.saving import Saving
from vidsum.outputs.tasks import Files, Progress, Task
from vidsum.speech.settings import Transcription, Trimming
from vidsum.times import format_time
from vidsum.video.settings import Encoding

if TYPE_CHECKING:
    from vidsum.results.summary import Trim

app = typer.Typer(add_completion=False)

_COLUMNS: Columns = {"length_s": "duration_s", "kept_s": "kept_s", "segments": "segments"}


@dataclass(frozen=True, kw_only=True)
class TrimOutputs(Checked):
    """The MP4."""

    PANEL = "Output"

    encoding: Encoding = field(default_factory=Encoding)
    dry_run: bool = option("Print what would be removed, write nothing.", False)


@command(app)
def trim(
    sources: Videos,
    batch: Batch,
    settings: Trimming,
    speech: Annotated[Transcription, Only(("language",))],
    outputs: Outputs,
    extra: TrimOutputs,
    exports: Exports,
    extraction: Annotated[Extraction, Only(("device", "cache", "video_track", "audio_track"))],
    view: View,
) -> None:
    """Remove silence from videos, and filler words.

    Writes {video}_trim.mp4 and {video}_trim.json into the current folder. With -o FILE.mp4 they are FILE.mp4
    and FILE.json; with -o FILE.json there is no MP4.

    vidsum trim talk.mp4

    vidsum trim talk.mp4 --fillers --min-pause 1s

    vidsum trim talk.mp4 -o cuts.json --export premiere
    """
    sources = batch.inputs(sources)
    targets = {}
    for source, base in outputs.destinations(sources, "_trim.mp4", (".mp4", ".json")).items():
        video = {"video": base} if base.suffix == ".mp4" else {}
        targets[source] = Files({**video, "json": base.with_suffix(".json")})
    if not extra.dry_run:
        targets = exports.with_exports(targets, outputs)
        outputs.check(targets)
    destination = Destination(outputs, exports, dry_run=extra.dry_run)
    work = partial(trim_one, settings, speech.language, extraction, extra.encoding, destination)
    run_verb(Verb("trim", work, extraction.device, _COLUMNS), sources, view, batch, outputs, targets)


def trim_one(
    settings: Trimming,
    language: str | None,
    extraction: Extraction,
    encoding: Encoding,
    destination: Destination,
    task: Task,
    progress: Progress | None,
) -> CommandResult:
    from vidsum.pipelines.trim import plan_trim
    from vidsum.results.summary import Trim

    plan = plan_trim(task.path, settings, extraction, language)
    run, write = partial(plan.run, progress), partial(_write, encoding=encoding, progress=progress)
    saving = Saving(plan.provenance, run, Trim.from_dict, write, encoding_tag=encoding.tag())
    return destination.deliver(task, saving, partial(_answer, settings))


def _write(trimmed: "Trim", files: Files, *, encoding: Encoding, progress: Progress | None) -> Sequence[str]:
    from vidsum.pipelines import export

    if "video" not in files.named:
        return ()
    return export.write_video(trimmed, Path(files.named["video"]), encoding=encoding, progress=progress)


def _answer(settings: Trimming, trimmed: "Trim", names: str) -> CommandResult:
    from vidsum.results.clock import to_player_time

    removed = ((part.start_s, part.end_s, part.reason, part.text) for part in to_player_time(trimmed).removed)
    table = text_table(removed, ("start", "end", "removed", "words"))
    return CommandResult(lines=(_describe(settings, trimmed, names),), table=table)


def _describe(settings: Trimming, trimmed: "Trim", names: str) -> str:
    if trimmed.removed:
        length, whole = format_time(trimmed.duration_s), format_time(trimmed.video_duration_s)
        count = len(trimmed.segments)
        return f"{names}: {length} of {whole} in {count} segment{'s' * (count > 1)}"
    kind = "without a voice" if trimmed.threshold_db is None else f"below {trimmed.threshold_db:g} dB"
    return f"{names}: nothing to remove: no pause {kind} lasts {format_time(settings.min_pause_s)}"
