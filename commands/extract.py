"""`vidsum extract`: features of videos, into .npz or .h5 files."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from vidsum.batch.deliver import ResultSpec, deliver
from vidsum.batch.inputs import BatchInput, read_inputs
from vidsum.batch.reply import Reply
from vidsum.batch.runner import Progress
from vidsum.batch.settings import CommonOptions
from vidsum.batch.states import Columns
from vidsum.batch.targets import main_outputs, with_files
from vidsum.commands.batch import Videos, Writing, run_verb
from vidsum.commands.options import Under, Without, command
from vidsum.features.settings import Extraction
from vidsum.options import option

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


@command(
    app,
    "vidsum extract film.mp4",
    "vidsum extract film.mp4 --extractor i3d --logits -o film.h5",
)
def extract(
    videos: Videos,
    common: Writing,
    file: FeatureFile,
    extraction: Annotated[Extraction, Without(("subtitles",)), Under("Features")],
) -> None:
    """Turn videos into features.

    Writes {video}_{extractor}.npz into the current folder: features, and the time of each.
    """
    inputs = read_inputs(videos, common)
    ending = f"_{extraction.extractor}.{file.format}"
    bases = main_outputs(inputs, ending, (".npz", ".h5", ".hdf5"), common)
    inputs = with_files(inputs, {path: {"features": base} for path, base in bases.items()}, common)
    work = partial(extract_one, common, extraction)
    run_verb("extract", work, inputs, common, device=extraction.device, columns=_COLUMNS)


def extract_one(
    common: CommonOptions, extraction: Extraction, item: BatchInput, progress: Progress | None
) -> Reply:
    from vidsum.pipelines.plan import plan_extraction, save_features
    from vidsum.results.feature_files import read_features
    from vidsum.results.features import Features

    plan = plan_extraction(item.path, extraction)

    def load(_: object) -> Features:
        assert item.artifacts is not None
        return read_features(item.artifacts.files["features"])

    def write(features: Features, path: Path) -> tuple[str, ...]:
        save_features(features, path)
        return ()

    def describe(features: Features, name: str) -> Reply:
        line = f"{name}: {len(features)} features of {features.dim} numbers, one every {features.step_s:g} s"
        return Reply(lines=(line,))

    spec = ResultSpec(
        plan.provenance,
        partial(plan.run, progress),
        load,
        {"features": write},
        lambda features, _: features.to_dict(with_arrays=common.to_stdout),
    )
    return deliver(item, common, spec, describe)
