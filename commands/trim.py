"""`vidsum trim`: videos without their silence and filler words, as MP4 and JSON."""

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vidsum.batch.deliver import ResultSpec, deliver
from vidsum.batch.inputs import BatchInput, read_inputs
from vidsum.batch.reply import Reply
from vidsum.batch.runner import Progress
from vidsum.batch.settings import CommonOptions
from vidsum.batch.states import Columns
from vidsum.batch.targets import main_outputs, with_files
from vidsum.commands.batch import Exporting, Videos, run_verb
from vidsum.commands.options import Only, command
from vidsum.commands.result import text_table
from vidsum.errors import Mention, UsageError
from vidsum.features.settings import Extraction
from vidsum.options import Checked, option
from vidsum.speech.settings import Transcription, Trimming
from vidsum.times import format_time
from vidsum.video.settings import Encoding, Styling

if TYPE_CHECKING:
    from vidsum.results.summary import Trim

app = typer.Typer(add_completion=False)

_MAX_PARTS = 20  # that a line names; it counts the others
_COLUMNS: Columns = {"length_s": "duration_s", "kept_s": "kept_s", "segments": "segments"}


@dataclass(frozen=True, kw_only=True)
class TrimOutputs(Checked):
    """The MP4."""

    PANEL = "Output"

    encoding: Encoding = field(default_factory=Encoding)
    dry_run: bool = option("Print what is cut and moved, write nothing.", False)


@command(
    app,
    "vidsum trim talk.mp4",
    "vidsum trim talk.mp4 --fillers --min-pause 1s",
    "vidsum trim talk.mp4 --script edited.txt",
    "vidsum trim talk.mp4 -o cuts.json --export premiere",
)
def trim(
    sources: Videos,
    settings: Trimming,
    speech: Annotated[Transcription, Only(("language",))],
    common: Exporting,
    extra: TrimOutputs,
    extraction: Annotated[Extraction, Only(("device", "cache", "video_track", "audio_track", "subtitles"))],
) -> None:
    """Remove silence, filler words or deleted text from videos.

    Writes {video}_trim.mp4 and {video}_trim.json into the current folder. With -o FILE.mp4 they are FILE.mp4
    and FILE.json; with -o FILE.json there is no MP4.
    """
    inputs = read_inputs(sources, common)
    if settings.script is not None and len(inputs) > 1:
        fault = (Mention("script", settings.script), f" is for one video; there are {len(inputs)}")
        raise UsageError(fault, hint="run the command for each video")
    files = {}
    for path, base in main_outputs(inputs, "_trim.mp4", (".mp4", ".json"), common).items():
        video = {"video": base} if base.suffix == ".mp4" else {}
        files[path] = {**video, "json": base.with_suffix(".json")}
    if not extra.dry_run:
        inputs = with_files(inputs, files, common)
    work = partial(trim_one, settings, speech.language, extraction, extra, common)
    run_verb("trim", work, inputs, common, device=extraction.device, columns=_COLUMNS)


def trim_one(
    settings: Trimming,
    language: str | None,
    extraction: Extraction,
    extra: TrimOutputs,
    common: CommonOptions,
    item: BatchInput,
    progress: Progress | None,
) -> Reply:
    from vidsum.outputs.mp4 import encode_segments
    from vidsum.pipelines.trim import plan_trim
    from vidsum.results.summary import Trim

    plan = plan_trim(item.path, settings, extraction, language)

    def write(trimmed: Trim, path: Path) -> tuple[str, ...]:
        return encode_segments(trimmed, path, False, extra.encoding, Styling(), Extraction(), progress)

    spec = ResultSpec(
        plan.provenance,
        partial(plan.run, progress),
        Trim.from_dict,
        {"video": write},
        tags={"video": extra.encoding.tag()},
    )
    return deliver(item, common, spec, partial(_answer, settings), prints_only=extra.dry_run)


def _answer(settings: Trimming, trimmed: "Trim", names: str) -> Reply:
    from vidsum.results.clock import to_player_time

    removed = ((part.start_s, part.end_s, part.reason, part.text) for part in to_player_time(trimmed).removed)
    table = text_table(removed, ("start", "end", "removed", "words"))
    return Reply(lines=(*_new_order(trimmed), _describe(settings, trimmed, names)), table=table)


def _new_order(trimmed: "Trim") -> tuple[str, ...]:
    """Return a line with the parts that stay, where a script moved some."""
    from vidsum.results.clock import to_player_time

    parts = to_player_time(trimmed).segments
    if list(parts) == sorted(parts):
        return ()
    named = [f"{format_time(start_s)}-{format_time(end_s)}" for start_s, end_s in parts[:_MAX_PARTS]]
    more = f" and {len(parts) - _MAX_PARTS} more" if len(parts) > _MAX_PARTS else ""
    return (f"new order: {', '.join(named)}{more}",)


def _describe(settings: Trimming, trimmed: "Trim", names: str) -> str:
    if trimmed.removed or len(trimmed.segments) > 1:
        length, whole = format_time(trimmed.duration_s), format_time(trimmed.video_duration_s)
        count = len(trimmed.segments)
        return f"{names}: {length} of {whole} in {count} segment{'s' * (count > 1)}"
    if trimmed.by == "script":
        return f"{names}: nothing to remove: the script says all that is said"
    kind = "without a voice" if trimmed.threshold_db is None else f"below {trimmed.threshold_db:g} dB"
    return f"{names}: nothing to remove: no pause {kind} lasts {format_time(settings.min_pause_s)}"
