"""`vidsum shots`: where a video's shots begin and end."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vidsum.commands.batch import Batch, run_batch
from vidsum.commands.export import Exports, one_table
from vidsum.commands.options import Sources, Without, command
from vidsum.commands.outputs import Files, Outputs, Sheet, moment_files, refuse
from vidsum.commands.progress import Facts
from vidsum.commands.records import unless_up_to_date, write_moments
from vidsum.commands.result import Result, View, interval_table
from vidsum.errors import UsageError
from vidsum.features.settings import Extraction
from vidsum.options import option
from vidsum.shots.settings import ShotSettings

if TYPE_CHECKING:
    from vidsum.results.shots import Shots
    from vidsum.types import Progress

app = typer.Typer(add_completion=False)


@dataclass(frozen=True, kw_only=True)
class ShotOutputs:
    """Outputs in addition to the JSON."""

    PANEL = "Output"

    clips: str | None = option(
        "Save each shot as MP4, {video}-Scene-001.mp4, in this folder or next to the JSON.",
        None,
        metavar="[FOLDER]",
        alone="",
    )
    images: int | None = option(
        "Save this many JPEGs of each shot, {video}-Scene-001-01.jpg, in {JSON name}_images/; 3 are the "
        "first, middle and last frame.",
        None,
        min=1,
        max=99,
    )
    stats: bool = option(
        "Save {JSON name}.stats.csv: the difference of each frame from the one before, and the detector's "
        "score.",
        False,
    )
    sheet: Sheet = False


_FACTS: Facts = {
    "length_s": lambda data: data["shots"][-1]["end_s"],
    "shots": lambda data: len(data["shots"]),
    "method": lambda data: data["method"],
}


@command(app)
def shots(
    sources: Sources,
    batch: Batch,
    settings: ShotSettings,
    outputs: Outputs,
    extra: ShotOutputs,
    exports: Exports,
    extraction: Annotated[Extraction, Without(("logits",))],
    view: View,
) -> None:
    """Cut videos into shots.

    Writes {video}_shots.json into the current folder and prints the shots.

    vidsum shots film.mp4

    vidsum shots film.mp4 --max-shot 20s -o -

    vidsum shots film.mp4 --shots transnetv2 --clips cuts --images 3 --stats
    """
    sources = batch.inputs(sources, allow_playlists=extraction.allow_playlists)
    outputs, table = one_table(outputs, exports, asks_more=extra != ShotOutputs())
    more = {"images": f"shots_images_{extra.images}"} if extra.images else {}
    more |= {"stats": "shots.stats.csv"} if extra.stats else {}
    more |= {"sheet": "shots_sheet.png"} if extra.sheet else {}
    targets = moment_files(sources, outputs, "shots", more, extra.clips)
    _refuse_features(targets, extra)
    targets = exports.with_exports(targets, outputs)

    def step(source: str, progress: "Progress | None") -> Result:
        from vidsum.pipelines.summary import plan_shots
        from vidsum.results.clock import to_player_time

        plan, files = plan_shots(source, settings, extraction), targets[source]

        def make() -> Result:
            shots = plan.run(progress)
            document = shots.to_dict()
            if outputs.to_stdout:
                text = None if table else document
                return Result(data=document, document=text, messages=shots.warnings)
            how = (settings, extraction, progress)
            _write(shots, files, extra.images, *how)
            line, messages = write_moments(shots, document, files, outputs.replaces, progress)
            line += f": {len(shots)} shot{'s' if len(shots) > 1 else ''} by {shots.method}"
            rows = interval_table("shot", to_player_time(shots).intervals)
            data = {**files.facts(files.clips(document)), **document}
            return Result(data=data, lines=(line,), table=rows, messages=messages)

        result = unless_up_to_date(source, files, plan.provenance, make, outputs)
        return exports.write(result, files, outputs.replaces)

    how: dict[str, Any] = {"batch": batch, "outputs": outputs, "targets": targets, "facts": _FACTS}
    run_batch("shots", sources, view, step, **how, collect=table)


def _refuse_features(targets: dict[str, Files], extra: ShotOutputs) -> None:
    """Refuse sources that are features where pictures are asked for; see `refuse`."""
    from vidsum.pipelines.sources import has_pictures

    if extra != ShotOutputs():
        for source in targets:
            if not has_pictures(source):
                fault = UsageError(f"{source}: features have no pictures", hint="give the video")
                refuse(targets, source, fault)


def _write(
    shots: "Shots",
    files: Files,
    n_images: int | None,
    settings: ShotSettings,
    extraction: Extraction,
    progress: "Progress | None",
) -> None:
    """Write the images and statistics that are asked for."""
    from vidsum.pipelines.shot_files import write_images, write_stats

    if n_images:
        write_images(shots, files.named["images"], n_images, files.clip_stem)
    if "stats" in files.named:
        write_stats(shots, files.named["stats"], settings, extraction, progress)
