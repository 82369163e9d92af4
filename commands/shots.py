"""`vidsum shots`: where a video's shots begin and end."""

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from vidsum.batch.deliver import ResultSpec, deliver
from vidsum.batch.inputs import BatchInput, read_inputs
from vidsum.batch.reply import Reply
from vidsum.batch.runner import Progress
from vidsum.batch.settings import CommonOptions
from vidsum.batch.states import Columns
from vidsum.batch.targets import clip_stem, plan_moment_files
from vidsum.commands.batch import Clipping, Sources, run_verb
from vidsum.commands.options import Without, command
from vidsum.commands.result import Sheet, collect_table, interval_table
from vidsum.features.settings import Extraction
from vidsum.options import option
from vidsum.shots.settings import ShotSettings
from vidsum.video.settings import Clips, SoundLevel

app = typer.Typer(add_completion=False)


@dataclass(frozen=True, kw_only=True)
class ShotOutputs:
    """Outputs in addition to the JSON."""

    PANEL = "Output"

    clips: bool = option("Save each shot as MP4.", False)
    images: int | None = option(
        "Save this many JPEGs of each shot.",
        None,
        min=1,
        max=99,
        more="3 are its first, middle and last frame.",
    )
    sheet: Sheet = False
    sound: SoundLevel = field(default_factory=SoundLevel)


_COLUMNS: Columns = {
    "length_s": lambda data: data["shots"][-1]["end_s"],
    "shots": "shots",
    "method": "method",
}


@command(
    app,
    "vidsum shots film.mp4",
    "vidsum shots film.mp4 --max-shot 20s -o -",
    "vidsum shots film.mp4 --clips-dir cuts --images 3",
)
def shots(
    sources: Sources,
    settings: ShotSettings,
    common: Clipping,
    extra: ShotOutputs,
    extraction: Annotated[Extraction, Without(("logits", "subtitles"))],
) -> None:
    """Cut videos into shots.

    Writes {video}_shots.json into the current folder and prints the shots.
    """
    inputs = read_inputs(sources, common)
    more = {"images": f"shots_images_{extra.images}"} if extra.images else {}
    more |= {"sheet": "shots_sheet.png"} if extra.sheet else {}
    planned, common, table = plan_moment_files(
        "shots", inputs, common, more, Clips(sound=extra.sound), clips=extra.clips, needs_pictures=True
    )
    work = partial(find_shots, settings, extraction, extra, common, has_table=table is not None)
    run_verb(
        "shots",
        work,
        planned,
        common,
        device=extraction.device,
        columns=_COLUMNS,
        collect=collect_table(table, common),
    )


def find_shots(
    settings: ShotSettings,
    extraction: Extraction,
    extra: ShotOutputs,
    common: CommonOptions,
    item: BatchInput,
    progress: Progress | None,
    *,
    has_table: bool = False,
) -> Reply:
    from vidsum.outputs.clips import clips_of, moment_writers, write_images
    from vidsum.pipelines.cut_shots import plan_shots
    from vidsum.results.clock import to_player_time
    from vidsum.results.shots import Shots

    plan = plan_shots(item.path, settings, extraction)
    stem, clips = clip_stem("shots", item, common), Clips(sound=extra.sound)

    def write_pictures(shots: Shots, folder: Path) -> tuple[str, ...]:
        write_images(shots, folder, extra.images or 1, stem)
        return ()

    def describe(shots: Shots, names: str) -> Reply:
        line = f"{names}: {len(shots)} shot{'s' if len(shots) > 1 else ''} by {shots.method}"
        return Reply(lines=(line,), table=interval_table("shot", to_player_time(shots).intervals))

    spec = ResultSpec(
        plan.provenance,
        partial(plan.run, progress),
        Shots.from_dict,
        {**moment_writers(stem, clips, progress=progress), "images": write_pictures},
        clips=partial(clips_of, item.artifacts, stem),
        tags={"clips": clips.tag},
    )
    return deliver(item, common, spec, describe, prints_only=has_table)
