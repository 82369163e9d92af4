"""`vidsum summarize`: the segments of a video worth keeping, as MP4 and JSON."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vidsum.commands.batch import Batch, Sources, Verb, run_verb
from vidsum.commands.options import Under, Without, command
from vidsum.commands.outputs import Destination, Exports, Outputs, PlotFormat, refuse
from vidsum.commands.result import Columns, CommandResult, View, interval_table
from vidsum.errors import UsageError
from vidsum.features.settings import Extraction
from vidsum.options import ADVANCED, check, option
from vidsum.outputs.saving import Saving
from vidsum.outputs.tasks import Files, Progress, Task
from vidsum.shots.settings import ShotSettings
from vidsum.summary.settings import Selection
from vidsum.times import format_time
from vidsum.video.settings import Encoding, Shorts

if TYPE_CHECKING:
    from vidsum.results.summary import Summary

app = typer.Typer(add_completion=False)

_COLUMNS: Columns = {
    "length_s": "duration_s",
    "kept_s": lambda data: data["budget"]["used_s"],
    "segments": "segments",
    "model": "model",
}


@dataclass(frozen=True, kw_only=True)
class SummaryOutputs:
    """Outputs in addition to the MP4 and the JSON."""

    PANEL = "Output"

    copy: bool = option("Do not re-encode: fast, but cuts are at key frames.", False, panel=ADVANCED)
    encoding: Encoding = field(default_factory=Encoding)
    shorts: Shorts = field(default_factory=Shorts)
    storyboard: bool = option("Save a picture of every segment, and one sheet of them all.", False)
    plot: bool = option("Save a plot of the importance curve.", False)
    plot_format: PlotFormat = "png"
    subtitles: bool = option("Save the speech of the summary as subtitles.", False)
    dry_run: bool = option("Print the segments, write nothing.", False)

    def __post_init__(self) -> None:
        check(self)
        if self.copy and self.encoding != Encoding():
            raise UsageError("--copy does not encode: leave out --crf")
        self.shorts.require_encoded(copy=self.copy)


@command(app)
def summarize(
    sources: Sources,
    batch: Batch,
    selection: Selection,
    outputs: Outputs,
    extra: SummaryOutputs,
    exports: Exports,
    shots: Annotated[ShotSettings, Under(ADVANCED)],
    extraction: Annotated[Extraction, Without(("logits",)), Under(ADVANCED)],
    view: View,
) -> None:
    """Summarize videos.

    Writes {video}_summary.mp4 and {video}_summary.json into the current folder. With -o FILE.mp4 they are
    FILE.mp4 and FILE.json; with -o FILE.json, or from feature files, there is no MP4.

    vidsum summarize film.mp4

    vidsum summarize film.mp4 --budget 45s --storyboard --plot

    vidsum summarize film.mp4 --keep 1:00-1:10 --drop 5:00-6:00 --dry-run
    """
    sources = batch.inputs(sources)
    bases = outputs.destinations(sources, "_summary.mp4", (".mp4", ".json"))
    targets = {source: _files(source, base, extra) for source, base in bases.items()}
    if not extra.dry_run:
        targets = exports.with_exports(targets, outputs)
    if not (extra.dry_run or outputs.to_stdout):
        for source, files in [*targets.items()]:
            if outputs.output and bases[source].suffix == ".mp4" and "video" not in files.named:
                fault = f"{source}: cannot write {bases[source]} from features, which have no pictures"
                refuse(targets, source, UsageError(fault, hint="give the video"))
        outputs.check(targets)
    destination = Destination(outputs, exports, dry_run=extra.dry_run)
    work = partial(summarize_one, selection, shots, extraction, extra, destination)
    run_verb(Verb("summarize", work, extraction.device, _COLUMNS), sources, view, batch, outputs, targets)


def summarize_one(
    selection: Selection,
    shots: ShotSettings,
    extraction: Extraction,
    extra: SummaryOutputs,
    destination: Destination,
    task: Task,
    progress: Progress | None,
) -> CommandResult:
    """Summarize a video, or features."""
    from vidsum.pipelines.plan import open_input
    from vidsum.pipelines.summarize import plan_summary
    from vidsum.results.clock import to_player_time
    from vidsum.results.summary import Summary

    selection = _from_first_picture(selection, task.path, extraction)
    needs_speech = extra.subtitles or (extra.shorts.burn and not _is_mute(task.path, extraction))
    if needs_speech and selection.snap == "auto":
        selection = replace(selection, snap="speech")
    plan = plan_summary(open_input(task.path, extraction), selection, shots)

    def answer(summary: Summary, names: str) -> CommandResult:
        table = interval_table("segment", to_player_time(summary).segments)
        details = (f"model: {summary.model} ({summary.model_reason})",)
        return CommandResult(lines=(_describe(names, summary),), table=table, details=details)

    run = partial(plan.run, progress)
    write = partial(_write, extra=extra, extraction=extraction, progress=progress)
    tag = extra.encoding.tag(copy=extra.copy, shorts=extra.shorts)
    saving = Saving(plan.provenance, run, Summary.from_dict, write, encoding_tag=tag)
    return destination.deliver(task, saving, answer)


def _write(
    summary: "Summary",
    files: Files,
    *,
    extra: SummaryOutputs,
    extraction: Extraction,
    progress: Progress | None,
) -> Sequence[str]:
    """Write the requested files and return warnings."""
    from vidsum.pipelines import export
    from vidsum.pipelines.speech_evidence import export_subtitles

    named, messages = files.named, list[str]()
    if "subtitles" in named:
        messages += export_subtitles(summary, named["subtitles"], extraction, progress)
    if "video" in named:
        messages += export.write_video(
            summary,
            named["video"],
            copy=extra.copy,
            encoding=extra.encoding,
            extraction=extraction,
            progress=progress,
            **asdict(extra.shorts),
        )
    if "storyboard" in named:
        export.write_storyboard(summary, named["storyboard"], named["key_frames"])
    if "plot" in named:
        export.write_plot(summary, named["plot"])
    return messages


def _from_first_picture(selection: Selection, source: str, extraction: Extraction) -> Selection:
    """Return the selection with the ranges that people read off a player in the times of results."""
    from vidsum.pipelines.sources import has_pictures, probe_video
    from vidsum.results.clock import shift_times

    if not (selection.keep or selection.drop) or not has_pictures(source):
        return selection
    ahead_s = probe_video(source, extraction).start_offset_s or 0.0
    return replace(
        selection, keep=shift_times(selection.keep, -ahead_s), drop=shift_times(selection.drop, -ahead_s)
    )


def _is_mute(source: str, extraction: Extraction) -> bool:
    from vidsum.pipelines.sources import has_pictures, probe_video

    return has_pictures(source) and not probe_video(source, extraction).has_audio


def _files(source: str, base: Path, extra: SummaryOutputs) -> Files:
    """Return where a summary goes; `base` is the MP4 or, where there is none, the JSON."""
    from vidsum.pipelines.sources import has_pictures

    stem = base.with_suffix("").name.removesuffix("_summary")
    is_video = has_pictures(source)
    named = {"video": base} if base.suffix == ".mp4" and is_video else {}
    named["json"] = base.with_suffix(".json")
    if extra.subtitles:
        named["subtitles"] = base.with_suffix(".srt")
    if extra.storyboard and is_video:
        named["storyboard"] = base.with_name(f"{stem}_storyboard.png")
        named["key_frames"] = base.with_name(f"{stem}_key_frames")
    if extra.plot:
        named["plot"] = base.with_name(f"{stem}_importance.{extra.plot_format}")
    return Files(named)


def _describe(name: str, summary: "Summary") -> str:
    count = len(summary.segments)
    used, whole = format_time(summary.duration_s), format_time(summary.video_duration_s)
    line = f"{name}: {used} of {whole} in {count} segment{'s' if count > 1 else ''}"
    if summary.budget_note:
        line += f" (budget {format_time(summary.budget_s)}: {summary.budget_note})"
    return line
