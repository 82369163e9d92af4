"""`vidsum extract`: features of videos, into .npz or .h5 files."""

from pathlib import Path
from typing import TYPE_CHECKING

from vidsum.commands import options
from vidsum.commands.batch import run_batch
from vidsum.commands.outputs import claim, destinations
from vidsum.commands.records import recorded, up_to_date
from vidsum.commands.result import Result, View

if TYPE_CHECKING:
    from vidsum.types import Features, Progress


def extract(
    videos: options.Inputs,
    output: options.Output = None,
    output_dir: options.OutputDir = None,
    format: options.FormatOfFeatures = options.FeatureFormat.npz,
    overwrite: options.Overwrite = False,
    fail_fast: options.FailFast = False,
    extractor: options.Extractor = options.ExtractorName.mobilenet_v2,
    fps: options.Fps = None,
    clip_frames: options.ClipFrames = None,
    stride_frames: options.StrideFrames = None,
    logits: options.Logits = False,
    precision: options.Precision = options.PrecisionName.fp32,
    backend: options.Backend = options.BackendName.torch,
    device: options.Device = "auto",
    reader: options.Reader = options.ReaderName.pyav,
    strict: options.Strict = False,
    allow_playlists: options.AllowPlaylists = False,
    no_cache: options.NoCache = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    config: options.Config = None,
) -> None:
    """Turn videos into features.

    Writes {video}_{extractor}.npz into the current folder: features, and the time of each.

    vidsum extract film.mp4

    vidsum extract film.mp4 --extractor i3d --logits -o film.h5
    """
    ending = f"_{extractor.value}.{format.value}"
    targets = destinations(videos, output, output_dir, ending, (".npz", ".h5", ".hdf5"))
    if output != "-":
        claim([(video, [target]) for video, target in targets.items()], output)

    def step(video: str, progress: "Progress | None") -> Result:
        from vidsum.pipelines import summary as pipeline
        from vidsum.settings import Extraction

        how = Extraction(
            extractor=extractor.value,
            fps=fps,
            clip_frames=clip_frames,
            stride_frames=stride_frames,
            logits=logits,
            precision=precision.value,
            backend=backend.value,
            device=device,
            reader=reader.value,
            strict=strict,
            cache=not no_cache,
            allow_playlists=allow_playlists,
        )
        if output == "-":
            return _result(video, pipeline.run_extraction(video, how, progress), None)
        target = targets[video]
        before = recorded([target], target, pipeline.extraction_provenance(video, how), overwrite)
        if before is not None:
            return up_to_date("extract", video, before, [target], {"output": str(target)})
        features = pipeline.run_extraction(video, how, progress)
        pipeline.save_features(features, target)
        return _result(video, features, target)

    run_batch("extract", videos, View(json, quiet, verbose), step, fail_fast=fail_fast)


def _result(video: str, features: "Features", target: Path | None) -> Result:
    """What was extracted; without a target the features themselves are the document."""
    from vidsum.documents import features_document, to_text

    facts = features_document(features, with_arrays=target is None)
    count = f"{len(features)} features of {features.dim} numbers"
    line = f"{target or video}: {count}, one every {features.step_s:g} s"
    return Result(
        "extract",
        video,
        {"output": str(target) if target else None, **facts},
        lines=(line,),
        document=None if target else to_text(facts),
        messages=features.warnings,
    )
