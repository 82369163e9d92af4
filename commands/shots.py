"""`vidsum shots`: where a video's shots begin and end."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import typer

from vidsum.commands.batch import Batch, Sources, Verb, run_verb
from vidsum.commands.options import Without, command
from vidsum.commands.outputs import ClipOutputs, Destination, Exports, Outputs, Sheet, plan_files
from vidsum.commands.result import Columns, CommandResult, View, interval_table
from vidsum.features.settings import Extraction
from vidsum.options import option
from vidsum.outputs.saving import Saving, write_moments
from vidsum.outputs.tasks import Files, Progress, Task
from vidsum.shots.settings import ShotSettings

app = typer.Typer(add_completion=False)


@dataclass(frozen=True, kw_only=True)
class ShotOutputs(ClipOutputs):
    """Outputs in addition to the JSON."""

    clips: bool = option("Save each shot as MP4.", False)
    images: int | None = option(
        "Save this many JPEGs of each shot. 3 are its first, middle and last frame.", None, min=1, max=99
    )
    sheet: Sheet = False


_COLUMNS: Columns = {
    "length_s": lambda data: data["shots"][-1]["end_s"],
    "shots": "shots",
    "method": "method",
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

    vidsum shots film.mp4 --clips-dir cuts --images 3
    """
    sources = batch.inputs(sources)
    more = {"images": f"shots_images_{extra.images}"} if extra.images else {}
    more |= {"sheet": "shots_sheet.png"} if extra.sheet else {}
    destination, targets = plan_files("shots", sources, outputs, exports, extra, more, needs_pictures=True)
    work = partial(find_shots, settings, extraction, extra.images, destination)
    verb = Verb("shots", work, extraction.device, _COLUMNS, collect=destination.collect)
    run_verb(verb, sources, view, batch, destination.outputs, targets)


def find_shots(
    settings: ShotSettings,
    extraction: Extraction,
    n_images: int | None,
    destination: Destination,
    task: Task,
    progress: Progress | None,
) -> CommandResult:
    from vidsum.outputs.clips import write_images
    from vidsum.pipelines.summarize import plan_shots
    from vidsum.results.clock import to_player_time
    from vidsum.results.shots import Shots

    plan = plan_shots(task.path, settings, extraction)

    def write(shots: Shots, files: Files) -> Iterator[str]:
        yield from write_moments(shots, files, progress)
        if n_images and "images" in files.named:
            write_images(shots, files.named["images"], n_images, files.clip_stem)

    def answer(shots: Shots, names: str) -> CommandResult:
        line = f"{names}: {len(shots)} shot{'s' if len(shots) > 1 else ''} by {shots.method}"
        return CommandResult(lines=(line,), table=interval_table("shot", to_player_time(shots).intervals))

    saving = Saving(plan.provenance, partial(plan.run, progress), Shots.from_dict, write)
    return destination.deliver(task, saving, answer)
