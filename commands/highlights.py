"""`vidsum highlights`: what stands out in a video, asked for nothing in particular."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from vidsum.commands import options
from vidsum.commands.batch import run_batch
from vidsum.commands.moment_files import (
    CELLS,
    MomentFiles,
    cells,
    claim_files,
    moment_files,
    write_files,
)
from vidsum.commands.records import recorded, require_made_from, up_to_date
from vidsum.commands.result import Result, Table, View

if TYPE_CHECKING:
    from vidsum.types import Highlights, Progress

_WHAT = "Highlights"

TopK = Annotated[
    int, options.option("--top-k", "-k", help="Most highlights of a video.", min=1, rich_help_panel=_WHAT)
]
Clips = Annotated[
    str | None,
    options.option(
        "--clips",
        help="Also an MP4 of each highlight, {video}_highlight_{rank}.mp4, in this folder or beside the "
        "JSON.",
        show_default=False,
        metavar="[FOLDER]",
        rich_help_panel=options.OUT,
    ),
]
Plot = Annotated[
    bool,
    options.option(
        "--plot",
        help="Also {video}_highlights.png: the saliency curve and the highlights.",
        rich_help_panel=options.OUT,
    ),
]


def highlights(
    sources: options.Inputs,
    top_k: TopK = 5,
    output: options.Output = None,
    output_dir: options.OutputDir = None,
    clips: Clips = None,
    plot: Plot = False,
    overwrite: options.Overwrite = False,
    fail_fast: options.FailFast = False,
    extractor: options.Extractor = options.ExtractorName.mobilenet_v2,
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
    """Find what stands out in videos, with no query.

    Writes {video}_highlights.json into the current folder, with the saliency of every two seconds, and prints
    the stretches that stand out, best first. What is found is relative to the video.

    vidsum highlights film.mp4

    vidsum highlights *.mp4 --top-k 3 --plot --clips
    """
    targets = moment_files(sources, output, output_dir, plot, clips, "highlights")
    if output != "-":
        claim_files(targets, output)

    def step(source: str, progress: "Progress | None") -> Result:
        from vidsum.pipelines import highlights as highlighting
        from vidsum.settings import Extraction

        how = Extraction(
            extractor=extractor.value,
            precision=precision.value,
            backend=backend.value,
            device=device,
            reader=reader.value,
            strict=strict,
            cache=not no_cache,
            allow_playlists=allow_playlists,
        )
        files = targets[source]
        if output != "-":
            provenance = highlighting.highlights_provenance(source, top_k, how)
            before = recorded(files.all, files.json, provenance, overwrite)
            written = [] if before is None else _clips_of(before, files)
            require_made_from(written, provenance)
            if before is not None and all(path.exists() for path in written):
                return up_to_date("highlights", source, before, [*files.all, *written], files.names(written))
        found = highlighting.run_highlights(source, top_k, how, progress)
        if output == "-":
            return _shown(source, found)
        return _written(source, found, files, overwrite, progress)

    run_batch("highlights", sources, View(json, quiet, verbose), step, fail_fast=fail_fast)


def _shown(source: str, found: "Highlights") -> Result:
    """The result of a run that writes no file."""
    from vidsum.documents import highlights_document, to_text

    document = highlights_document(found)
    return Result("highlights", source, document, document=to_text(document), messages=found.warnings)


def _written(
    source: str, found: "Highlights", files: MomentFiles, overwrite: bool, progress: "Progress | None"
) -> Result:
    from vidsum.documents import highlights_document

    document = highlights_document(found)
    clips = _clips_of(document, files)
    messages = write_files(found, document, files, clips, overwrite, progress)
    return Result(
        "highlights",
        source,
        {**files.names(clips), **document},
        lines=(files.told(clips),),
        table=Table(CELLS, tuple(cells(rank, moment) for rank, moment in enumerate(found.moments, 1))),
        messages=messages,
    )


def _clips_of(document: Mapping[str, Any], files: MomentFiles) -> list[Path]:
    """The MP4 files of the highlights in a document, where they are asked for."""
    if files.clips is None:
        return []
    from vidsum.pipelines.export import highlight_path

    return [highlight_path(files.clips, files.stem, rank) for rank in range(1, len(document["moments"]) + 1)]
