"""`vidsum ground`: the moments of a video that texts describe."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vidsum.commands import ground_options as own
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
from vidsum.errors import OutputError
from vidsum.settings import DEFAULT_MODEL

if TYPE_CHECKING:
    from vidsum.types import Grounding, Progress

_NOT_OF_SEVERAL = "scores rank the moments of one video; they do not tell which of several videos fits best"


def ground(
    sources: options.Inputs,
    query: own.Query = None,
    queries: own.QueryFile = None,
    top_k: own.TopK = 5,
    model: own.Model = DEFAULT_MODEL,
    mask: own.Mask = None,
    space: own.Space = own.SpaceName.auto,
    snap: own.Snap = own.SnapName.none,
    output: options.Output = None,
    output_dir: options.OutputDir = None,
    clips: own.Clips = None,
    plot: own.Plot = False,
    saliency: own.Saliency = False,
    overwrite: options.Overwrite = False,
    fail_fast: options.FailFast = False,
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
    """Find the moments of videos that texts describe.

    Writes {video}_moments.json into the current folder and prints the moments, best first. Many queries cost
    one pass over the video, and none once its features are in the cache.

    vidsum ground film.mp4 --query "a person flips a pancake"

    vidsum ground film.mp4 --query "a dog in the snow" --query "two people dance" --plot --clips

    vidsum ground *.mp4 --queries queries.txt --output-dir moments

    A score ranks the moments of one query in one video. It does not tell which of several videos fits best.
    """
    from vidsum.pipelines import moments as retrieval

    asked = retrieval.queries_of(query or [], queries)
    targets = moment_files(sources, output, output_dir, plot, clips)
    if output != "-":
        claim_files(targets, output)

    def step(source: str, progress: "Progress | None") -> Result:
        from vidsum.settings import Extraction, Retrieval

        how = Extraction(
            precision=precision.value,
            backend=backend.value,
            device=device,
            reader=reader.value,
            strict=strict,
            cache=not no_cache,
            allow_playlists=allow_playlists,
        )
        settings = Retrieval(top_k, model, space.value, snap.value, mask.value if mask else None)
        files = targets[source]
        if output != "-":
            provenance = retrieval.grounding_provenance(source, asked, settings, how)
            before = recorded(files.all, files.json, provenance, overwrite)
            if before is not None and _is_whole(before, files, saliency):
                clips_made = _clips_of(before, files)
                made = [*files.all, *clips_made]
                return up_to_date("ground", source, before, made, files.names(clips_made))
        found = retrieval.run_grounding(source, asked, settings, how, progress)
        if output == "-":
            result = _shown(source, found, saliency)
        else:
            result = _written(source, found, files, saliency, overwrite, progress)
        if len(sources) > 1 and source == sources[0]:  # once is enough
            return replace(result, messages=(*result.messages, _NOT_OF_SEVERAL))
        return result

    run_batch("ground", sources, View(json, quiet, verbose), step, fail_fast=fail_fast)


def _is_whole(document: Mapping[str, Any], files: MomentFiles, saliency: bool) -> bool:
    """Whether the clips that a document of an earlier run tells of are there too.

    Raises:
        OutputError: it lacks the curves that are asked for, or a clip is of something else.
    """
    if saliency and "timestamps_s" not in document:
        raise OutputError(f"{files.json}: exists already, without saliency curves", hint="--overwrite")
    clips = _clips_of(document, files)
    require_made_from(clips, document["provenance"])
    return all(path.exists() for path in clips)


def _shown(source: str, found: "Grounding", saliency: bool) -> Result:
    """The result of a run that writes no file."""
    from vidsum.documents import grounding_document, to_text

    document = grounding_document(found, with_saliency=saliency)
    return Result("ground", source, document, document=to_text(document), messages=found.warnings)


def _written(
    source: str,
    found: "Grounding",
    files: MomentFiles,
    saliency: bool,
    overwrite: bool,
    progress: "Progress | None",
) -> Result:
    from vidsum.documents import grounding_document

    document = grounding_document(found, with_saliency=saliency)
    clips = _clips_of(document, files)
    messages = write_files(found, document, files, clips, overwrite, progress)
    return Result(
        "ground",
        source,
        {**files.names(clips), **document},
        lines=(f"{files.told(clips)}: by {found.model}, in the space {found.space}",),
        table=_table(found),
        messages=messages,
    )


def _clips_of(document: Mapping[str, Any], files: MomentFiles) -> list[Path]:
    """The MP4 files of the moments in a document, where they are asked for."""
    if files.clips is None:
        return []
    from vidsum.pipelines.export import clip_path

    return [
        clip_path(files.clips, files.stem, number, rank)
        for number, query in enumerate(document["queries"], 1)
        for rank in range(1, len(query["moments"]) + 1)
    ]


def _table(found: "Grounding") -> Table:
    """The moments of each query, its text beside the best."""
    from vidsum.pipelines.moments import in_short

    rows = [
        (in_short(one.query) if rank == 1 else "", *cells(rank, moment))
        for one in found.queries
        for rank, moment in enumerate(one.moments, 1)
    ]
    return Table(("query", *CELLS), tuple(rows))
