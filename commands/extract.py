"""`vidsum extract`: features of videos, into .npz or .h5 files."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import typer

from vidsum.commands.batch import Batch, Verb, Videos, run_verb
from vidsum.commands.options import command
from vidsum.commands.outputs import Destination, Outputs
from vidsum.commands.result import Columns, CommandResult, View
from vidsum.features.settings import Extraction
from vidsum.options import option
from vidsum.outputs.saving import Saving
from vidsum.outputs.tasks import Files, Progress, Task

app = typer.Typer(add_completion=False)

_COLUMNS: Columns = {
    "length_s": lambda data: data["video"]["duration_s"],
    "features": lambda data: data["shape"][0],
    "numbers": lambda data: data["shape"][1],
    "extractor": "extractor",
}


@dataclass(frozen=True, kw_only=True)
class FeatureFile:
    """Format of stored features."""

    PANEL = "Output"

    format: Literal["npz", "h5"] = option("Format of the feature file.", "npz")


@command(app)
def extract(
    videos: Videos, batch: Batch, outputs: Outputs, file: FeatureFile, extraction: Extraction, view: View
) -> None:
    """Turn videos into features.

    Writes {video}_{extractor}.npz into the current folder: features, and the time of each.

    vidsum extract film.mp4

    vidsum extract film.mp4 --extractor i3d --logits -o film.h5
    """
    videos = batch.inputs(videos)
    ending = f"_{extraction.extractor}.{file.format}"
    bases = outputs.destinations(videos, ending, (".npz", ".h5", ".hdf5"))
    targets = {video: Files({"output": base}, nested=False) for video, base in bases.items()}
    outputs.check(targets)
    verb = Verb("extract", partial(extract_one, outputs, extraction), extraction.device, _COLUMNS)
    run_verb(verb, videos, view, batch, outputs, targets)


def extract_one(
    outputs: Outputs, extraction: Extraction, task: Task, progress: Progress | None
) -> CommandResult:
    from vidsum.pipelines.plan import plan_extraction, save_features
    from vidsum.results.feature_files import read_features
    from vidsum.results.features import Features

    plan = plan_extraction(task.path, extraction)

    def write(features: Features, files: Files) -> Sequence[str]:
        save_features(features, files.record)
        return ()

    def answer(features: Features, name: str) -> CommandResult:
        line = f"{name}: {len(features)} features of {features.dim} numbers, one every {features.step_s:g} s"
        return CommandResult(lines=(line,))

    saving = Saving(
        plan.provenance,
        partial(plan.run, progress),
        lambda _: read_features(task.files.record),
        write,
        lambda features, _: features.to_dict(with_arrays=outputs.to_stdout),
    )
    return Destination(outputs).deliver(task, saving, answer)
