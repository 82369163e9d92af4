"""`vidsum shots`: where a video's shots begin and end."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from vidsum.commands.batch import Batch, Verb, run_verb
from vidsum.commands.export import Exports, one_table
from vidsum.commands.jobs import Task
from vidsum.commands.options import Sources, Without, command
from vidsum.commands.outputs import Files, Outputs, Sheet, moment_files, refuse
from vidsum.commands.progress import Columns
from vidsum.commands.result import CommandResult, View, interval_table
from vidsum.commands.saving import Saving, document_result, save_result, write_moments
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

    clips: bool = option("Save each shot as MP4.", False, value_flag="--clips-dir")
    clips_dir: str | None = option(
        "Folder for the clips; implies --clips.", None, metavar="FOLDER", default_text="next to the JSON"
    )
    images: int | None = option(
        "Save this many JPEGs of each shot. 3 are its first, middle and last frame.", None, min=1, max=99
    )
    stats: bool = option("Save a CSV of the changes between frames.", False)
    sheet: Sheet = False

    @property
    def clip_folder(self) -> str | None:
        """The folder of the clips: empty for that of the JSON, None for no clips."""
        return self.clips_dir or ("" if self.clips else None)


_COLUMNS: Columns = {
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

    vidsum shots film.mp4 --shots transnetv2 --clips-dir cuts --images 3 --stats
    """
    sources = batch.inputs(sources)
    outputs, table = one_table(outputs, exports, asks_more=extra != ShotOutputs())
    more = {"images": f"shots_images_{extra.images}"} if extra.images else {}
    more |= {"stats": "shots.stats.csv"} if extra.stats else {}
    more |= {"sheet": "shots_sheet.png"} if extra.sheet else {}
    targets = moment_files(sources, outputs, "shots", more, extra.clip_folder)
    _refuse_features(targets, extra)
    targets = exports.with_exports(targets, outputs)

    job = ShotJob(settings, extraction, outputs, exports, n_images=extra.images, has_document=table is None)
    verb = Verb("shots", partial(find_shots, job), extraction.device, _COLUMNS, collect=table)
    run_verb(verb, sources, view, batch, outputs, targets)


@dataclass(frozen=True)
class ShotJob:
    """Settings of `find_shots`."""

    settings: ShotSettings
    extraction: Extraction
    outputs: Outputs
    exports: Exports
    n_images: int | None
    has_document: bool
    """Print a document to stdout, where results go there."""


def find_shots(job: ShotJob, task: Task, progress: "Progress | None") -> CommandResult:
    """Cut a video into shots."""
    from vidsum.pipelines.summary import plan_shots
    from vidsum.results.clock import to_player_time
    from vidsum.results.shots import Shots

    plan = plan_shots(task.path, job.settings, job.extraction)
    if job.outputs.to_stdout:
        return document_result(plan.run(progress), in_table=not job.has_document)

    def answer(shots: Shots, names: str) -> CommandResult:
        line = f"{names}: {len(shots)} shot{'s' if len(shots) > 1 else ''} by {shots.method}"
        return CommandResult(lines=(line,), table=interval_table("shot", to_player_time(shots).intervals))

    saving = Saving(
        plan.provenance,
        lambda: plan.run(progress),
        lambda shots, _: shots.to_dict(),
        partial(_write, job=job, progress=progress),
        answer,
        Shots.from_dict,
    )
    result = save_result(task.files, saving, job.outputs)
    return job.exports.write(result, task.files, overwrite=job.outputs.overwrite)


def _refuse_features(targets: dict[str, Files], extra: ShotOutputs) -> None:
    """Refuse sources that are features where pictures are asked for; see `refuse`."""
    from vidsum.pipelines.sources import has_pictures

    if extra != ShotOutputs():
        for source in targets:
            if not has_pictures(source):
                fault = UsageError(f"{source}: features have no pictures", hint="give the video")
                refuse(targets, source, fault)


def _write(shots: "Shots", files: Files, *, job: ShotJob, progress: "Progress | None") -> Iterator[str]:
    """Write the requested clips, images and statistics; yield warnings."""
    from vidsum.pipelines.clips import write_images, write_stats

    yield from write_moments(shots, files, progress)
    if job.n_images and "images" in files.named:
        write_images(shots, files.named["images"], job.n_images, files.clip_stem)
    if "stats" in files.named:
        write_stats(shots, files.named["stats"], job.settings, job.extraction, progress)
