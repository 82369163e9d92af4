"""`vidsum shots`: where a video's shots begin and end."""

from typing import TYPE_CHECKING

from vidsum.commands import options
from vidsum.commands.batch import run_batch
from vidsum.commands.outputs import claim, destinations
from vidsum.commands.records import recorded, up_to_date
from vidsum.commands.result import Result, Table, View
from vidsum.times import format_time, parse_optional_time

if TYPE_CHECKING:
    from vidsum.types import Progress, Shots


def shots(
    sources: options.VideosOrFeatures,
    output: options.Output = None,
    output_dir: options.OutputDir = None,
    overwrite: options.Overwrite = False,
    fail_fast: options.FailFast = False,
    shots: options.Shots = options.ShotMethod.kts,
    max_shots: options.MaxShots = None,
    min_shot: options.MinShot = None,
    max_shot: options.MaxShot = None,
    extractor: options.Extractor = options.ExtractorName.mobilenet_v2,
    fps: options.Fps = None,
    clip_frames: options.ClipFrames = None,
    stride_frames: options.StrideFrames = None,
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
    """Cut videos into shots.

    Writes {video}_shots.json into the current folder and prints the shots.

    vidsum shots film.mp4

    vidsum shots film.mp4 --max-shot 20s -o -
    """
    targets = destinations(sources, output, output_dir, "_shots.json", (".json",))
    if output != "-":
        claim([(source, [target]) for source, target in targets.items()], output)

    def step(source: str, progress: "Progress | None") -> Result:
        from vidsum.documents import shots_document, to_text, write_document
        from vidsum.pipelines import summary as pipeline
        from vidsum.settings import Extraction, ShotSettings

        how = Extraction(
            extractor=extractor.value,
            fps=fps,
            clip_frames=clip_frames,
            stride_frames=stride_frames,
            precision=precision.value,
            backend=backend.value,
            device=device,
            reader=reader.value,
            strict=strict,
            cache=not no_cache,
            allow_playlists=allow_playlists,
        )
        cutting = ShotSettings(
            shots.value, max_shots, parse_optional_time(min_shot), parse_optional_time(max_shot)
        )
        target = targets[source]
        if output != "-":
            before = recorded([target], target, pipeline.shots_provenance(source, cutting, how), overwrite)
            if before is not None:
                return up_to_date("shots", source, before, [target], {"output": str(target)})
        found = pipeline.run_shots(source, cutting, how, progress)
        document = shots_document(found)
        if output == "-":
            return Result("shots", source, document, document=to_text(document), messages=found.warnings)
        write_document(document, target)
        return Result(
            "shots",
            source,
            {"output": str(target), **document},
            lines=(f"{target}: {len(found)} shot{'s' if len(found) > 1 else ''}",),
            table=_table(found),
            messages=found.warnings,
        )

    run_batch("shots", sources, View(json, quiet, verbose), step, fail_fast=fail_fast)


def _table(found: "Shots") -> Table:
    rows = [
        (str(number), format_time(start), format_time(end), f"{end - start:.2f}")
        for number, (start, end) in enumerate(found.intervals, 1)
    ]
    return Table(("shot", "start", "end", "seconds"), tuple(rows))
