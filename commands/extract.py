"""`vidsum extract`: features of videos, into .npz or .h5 files."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import typer

from vidsum.commands.batch import Batch, run_batch
from vidsum.commands.options import Videos, command
from vidsum.commands.outputs import Files, Outputs, destinations
from vidsum.commands.progress import Facts
from vidsum.commands.records import unless_up_to_date
from vidsum.commands.result import Result, View
from vidsum.features.settings import Extraction
from vidsum.options import option

if TYPE_CHECKING:
    from vidsum.types import Progress

app = typer.Typer(add_completion=False)

_FACTS: Facts = {
    "length_s": lambda data: data["video"]["duration_s"],
    "features": lambda data: data["shape"][0],
    "numbers": lambda data: data["shape"][1],
    "extractor": lambda data: data["extractor"],
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
    videos = batch.inputs(videos, allow_playlists=extraction.allow_playlists)
    ending = f"_{extraction.extractor}.{file.format}"
    bases = destinations(videos, outputs, ending, (".npz", ".h5", ".hdf5"))
    targets = {video: Files({"output": base}, nested=False) for video, base in bases.items()}
    outputs.check(targets)

    def step(video: str, progress: "Progress | None") -> Result:
        from vidsum.pipelines.plan import plan_extraction, save_features

        plan, files = plan_extraction(video, extraction), targets[video]

        def make() -> Result:
            features = plan.run(progress)
            facts = features.to_dict(with_arrays=outputs.to_stdout)
            target = None if outputs.to_stdout else str(files.record)
            if target:
                save_features(features, files.record)
            count = f"{len(features)} features of {features.dim} numbers"
            line = f"{target or video}: {count}, one every {features.step_s:g} s"
            return Result(
                data={"output": target, **facts},
                lines=(line,),
                document=None if target else facts,
                messages=features.warnings,
            )

        return unless_up_to_date(video, files, plan.provenance, make, outputs)

    run_batch("extract", videos, view, step, batch=batch, outputs=outputs, targets=targets, facts=_FACTS)
