"""`vidsum shorts`: short clips for phones of the best passages of a video."""

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
from vidsum.batch.targets import check_clips, clip_place, main_outputs, with_files
from vidsum.commands.batch import Exporting, Videos, keep_subtitles, run_verb
from vidsum.commands.options import Only, command
from vidsum.features.settings import Extraction
from vidsum.options import Checked, option
from vidsum.summary.settings import ShortSettings
from vidsum.times import format_time
from vidsum.video.settings import Clips, SoundLevel, Styling

if TYPE_CHECKING:
    from vidsum.results.shorts import Shorts

app = typer.Typer(add_completion=False)

_COLUMNS: Columns = {"length_s": "duration_s", "shorts": "shorts", "evidence": "evidence"}


@dataclass(frozen=True, kw_only=True)
class ShortOutputs(Checked):
    """The MP4 files."""

    PANEL = "Output"

    styling: Styling = field(default_factory=lambda: Styling(vertical=True, burn=True))
    sound: SoundLevel = field(default_factory=lambda: SoundLevel(loudness=-14.0))
    dry_run: bool = option("Print the shorts, write nothing.", False)


@command(
    app,
    "vidsum shorts talk.mp4",
    "vidsum shorts talk.mp4 -n 3 --length 30s-90s",
    "vidsum shorts talk.mp4 --no-vertical --no-burn --loudness none",
)
def shorts(
    sources: Videos,
    settings: ShortSettings,
    common: Exporting,
    extra: ShortOutputs,
    extraction: Annotated[Extraction, Only(("device", "cache", "audio_track", "subtitles", "reader"))],
) -> None:
    """Make short clips for phones of the best passages of videos.

    Writes {video}_short_1.mp4, the best one, and so on, each with its subtitles, and {video}_shorts.json with
    their titles into the current folder. They are whole thoughts of the speech, which is transcribed once, or
    scenes where little is said.
    """
    inputs = read_inputs(sources, common)
    common = keep_subtitles(inputs, extraction, common, saves=True)
    files = {}
    for path, json in main_outputs(inputs, "_shorts.json", (".json",), common).items():
        files[path] = {"json": json, **({} if common.to_stdout else {"clips": json.parent})}
    if not extra.dry_run:
        inputs = check_clips(with_files(inputs, files, common), _stem)
    work = partial(shorts_of_one, settings, extraction, extra, common)
    run_verb("shorts", work, inputs, common, device=extraction.device, columns=_COLUMNS)


def shorts_of_one(
    settings: ShortSettings,
    extraction: Extraction,
    extra: ShortOutputs,
    common: CommonOptions,
    item: BatchInput,
    progress: Progress | None,
) -> Reply:
    """Make the shorts of a video."""
    from vidsum.outputs.clips import clips_of, save_clips
    from vidsum.pipelines.make_shorts import plan_shorts
    from vidsum.results.shorts import Shorts

    plan, stem = plan_shorts(item.path, settings, extraction), _stem(item)
    look = Clips(styling=extra.styling, sound=extra.sound)

    def write(made: Shorts, folder: Path) -> tuple[str, ...]:
        return save_clips(made, folder, stem, look, extraction, progress)

    spec = ResultSpec(
        plan.provenance,
        partial(plan.run, progress),
        Shorts.from_dict,
        {"clips": write},
        clips=partial(clips_of, item.artifacts, stem),
        tags={"clips": look.tag},
    )
    return deliver(item, common, spec, _answer, page_clips=clip_place(item, stem), prints_only=extra.dry_run)


def _stem(item: BatchInput) -> str:
    """Return the name that the clips of an input begin with."""
    return item.artifacts.record.stem.removesuffix("_shorts") if item.artifacts else ""


def _answer(made: "Shorts", names: str) -> Reply:
    from vidsum.results.clock import to_player_time

    rows = [
        (
            str(rank),
            format_time(part.start_s),
            f"{part.end_s - part.start_s:.0f} s",
            f"{part.score:.2f}",
            part.title,
        )
        for rank, part in enumerate(to_player_time(made).shorts, 1)
    ]
    line = f"{names}: {len(rows)} short{'s' * (len(rows) != 1)} by {made.evidence}"
    table = (("rank", "start", "length", "score", "title"), *rows) if rows else ()
    return Reply(lines=(*filter(None, [made.note]), line), table=table)
