"""`vidsum summarize`: the segments of a video worth keeping, as MP4 and JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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
from vidsum.batch.targets import main_outputs, refuse, require_no_exports, with_files
from vidsum.commands.batch import Exporting, Sources, keep_subtitles, run_verb
from vidsum.commands.options import Under, Without, command
from vidsum.commands.result import PlotFormat, interval_table
from vidsum.errors import (
    UsageError,
)
from vidsum.features.settings import Extraction
from vidsum.options import ADVANCED, check, option
from vidsum.outputs.artifacts import Writer
from vidsum.shots.settings import ShotSettings
from vidsum.summary.settings import PAUSES_HINT, SPEECH_HINT, Selection
from vidsum.times import format_time
from vidsum.video.settings import Encoding, Styling

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
    styling: Styling = field(default_factory=Styling)
    storyboard: bool = option("Save a picture of every segment, and one sheet of them all.", False)
    plot: bool = option("Save a plot of the importance curve.", False)
    plot_format: PlotFormat = "png"
    save_subtitles: bool = option("Save the speech of the summary as subtitles.", False)
    dry_run: bool = option("Print the segments, write nothing.", False)

    def __post_init__(self) -> None:
        check(self)
        self.encoding.require_encoded(copy=self.copy)
        self.styling.require_encoded(copy=self.copy)


@command(
    app,
    "vidsum summarize film.mp4",
    "vidsum summarize film.mp4 --budget 45s --storyboard --plot",
    "vidsum summarize film.mp4 --keep 1:00-1:10 --drop 5:00-6:00 --dry-run",
)
def summarize(
    sources: Sources,
    selection: Selection,
    common: Exporting,
    extra: SummaryOutputs,
    shots: Annotated[ShotSettings, Under(ADVANCED)],
    extraction: Annotated[Extraction, Without(("logits",)), Under(ADVANCED)],
) -> None:
    """Summarize videos.

    Writes {video}_summary.mp4 and {video}_summary.json into the current folder. With -o FILE.mp4 they are
    FILE.mp4 and FILE.json; with -o FILE.json, or from feature files, there is no MP4.
    """
    inputs = read_inputs(sources, common)
    common = keep_subtitles(inputs, extraction, common, saves=extra.save_subtitles)
    bases = main_outputs(inputs, "_summary.mp4", (".mp4", ".json"), common)
    if not (extra.dry_run or common.to_stdout):
        planned = with_files(
            inputs, {path: _files(path, base, extra) for path, base in bases.items()}, common
        )
        for item in planned if common.output else ():
            is_mp4 = item.path in bases and bases[item.path].suffix == ".mp4"
            if is_mp4 and item.artifacts and "video" not in item.artifacts.files:
                fault = f"cannot write {bases[item.path]} from features, which have no pictures"
                planned = refuse(planned, item, UsageError(fault, hint="give the video", subject=item.path))
        inputs = planned
    elif not extra.dry_run:
        require_no_exports(common)
    work = partial(summarize_one, selection, shots, extraction, extra, common)
    run_verb("summarize", work, inputs, common, device=extraction.device, columns=_COLUMNS)


def summarize_one(
    selection: Selection,
    shots: ShotSettings,
    extraction: Extraction,
    extra: SummaryOutputs,
    common: CommonOptions,
    item: BatchInput,
    progress: Progress | None,
) -> Reply:
    """Summarize a video, or features."""
    from vidsum.pipelines.plan import open_input
    from vidsum.pipelines.summarize import plan_summary
    from vidsum.results.clock import to_player_time
    from vidsum.results.summary import Summary

    selection = _from_first_picture(selection, item.path, extraction)
    needs_speech = extra.save_subtitles or (extra.styling.burn and not _is_mute(item.path, extraction))
    if needs_speech and selection.snap == "auto":
        selection = replace(selection, snap="speech")
    plan = plan_summary(open_input(item.path, extraction), selection, shots)

    def describe(summary: Summary, names: str) -> Reply:
        table = interval_table("segment", to_player_time(summary).segments)
        details = (f"model: {summary.model} ({summary.model_reason})",)
        hints = _speech_hint(summary) if selection.snap == "auto" and selection.max_segment_s else ()
        lines = (*hints, _describe(names, summary))
        return Reply(lines=lines, table=table, details=details)

    spec = ResultSpec(
        plan.provenance,
        partial(plan.run, progress),
        Summary.from_dict,
        _writers(extra, extraction, progress),
        tags={"video": extra.encoding.tag(copy=extra.copy, styling=extra.styling)},
    )
    return deliver(item, common, spec, describe, prints_only=extra.dry_run)


def _writers(
    extra: SummaryOutputs, extraction: Extraction, progress: Progress | None
) -> Mapping[str, Writer]:
    """Return the writers of the files of a summary."""
    from vidsum.outputs.mp4 import encode_segments
    from vidsum.outputs.picture_files import draw_plot, storyboard_writers
    from vidsum.pipelines.speech_evidence import export_subtitles

    def write_video(summary: "Summary", path: Path) -> tuple[str, ...]:
        return encode_segments(summary, path, extra.copy, extra.encoding, extra.styling, extraction, progress)

    def write_subtitles(summary: "Summary", path: Path) -> tuple[str, ...]:
        return tuple(export_subtitles(summary.video, summary.segments, path, extraction, progress))

    pictures = {**storyboard_writers(), "plot": draw_plot}
    return {"subtitles": write_subtitles, "video": write_video, **pictures}


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


def _files(source: str, base: Path, extra: SummaryOutputs) -> dict[str, Path]:
    """Return where a summary goes; `base` is the MP4 or, where there is none, the JSON."""
    from vidsum.outputs.names import summary_files
    from vidsum.pipelines.sources import has_pictures

    is_video = has_pictures(source)
    wanted = {
        "video": base.suffix == ".mp4" and is_video,
        "json": True,
        "subtitles": extra.save_subtitles,
        "storyboard": extra.storyboard and is_video,
        "key_frames": extra.storyboard and is_video,
        "plot": extra.plot,
    }
    return {kind: path for kind, path in summary_files(base, extra.plot_format).items() if wanted[kind]}


def _speech_hint(summary: "Summary") -> tuple[str, ...]:
    """Return a line about sound whose words were not considered, if there is any."""
    is_silent, facts = summary.video is None or not summary.video.audio_codec, summary.provenance["summary"]
    if is_silent or "speech" in facts:
        return ()
    return (PAUSES_HINT if "voice" in facts else SPEECH_HINT,)


def _describe(name: str, summary: "Summary") -> str:
    count = len(summary.segments)
    used, whole = format_time(summary.duration_s), format_time(summary.video_duration_s)
    line = f"{name}: {used} of {whole} in {count} segment{'s' if count > 1 else ''}"
    if summary.budget_note:
        line += f" (budget {format_time(summary.budget_s)}: {summary.budget_note})"
    return line
