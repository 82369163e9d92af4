"""`vidsum export`: results as timelines for editors, and as lists."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from vidsum.batch.inputs import BatchInput, plain_inputs
from vidsum.batch.reply import Reply
from vidsum.batch.runner import Progress
from vidsum.batch.settings import MEDIA_HELP, PRINTING, WRITING, CommonOptions
from vidsum.batch.targets import (
    attempt,
    check_files,
    files_of_run,
    main_outputs,
    one_format_error,
    require_one_text,
)
from vidsum.commands.batch import run_verb
from vidsum.commands.options import Only, command
from vidsum.errors import Problem, VidsumError, message_of
from vidsum.io.atomic import make_folder
from vidsum.options import ADVANCED, option
from vidsum.outputs.alone import save_text
from vidsum.outputs.artifacts import Artifacts
from vidsum.outputs.output_records import record_of
from vidsum.results.settings import ExportName, MediaPaths

app = typer.Typer(add_completion=False)

Results = Annotated[
    list[str],
    typer.Argument(..., metavar="RESULT.json", help="Results that vidsum wrote as JSON; - for stdin."),
]


@dataclass(frozen=True, kw_only=True)
class ExportSettings:
    """Format of exported files."""

    PANEL = "Output"

    format: tuple[ExportName, ...] = option(
        "Format of the files.", (), default_text="by the suffix of --output, else otio"
    )
    media: MediaPaths = option(MEDIA_HELP, "absolute", panel=ADVANCED)
    video: Path | None = option(
        "The video, if it has moved.", None, default_text="where the result says", metavar="FILE"
    )


@command(
    app,
    "vidsum export film_summary.json -o cut.edl",
    "vidsum export *_moments.json --format fcpxml --media relative",
)
def export(
    results: Results, common: Annotated[CommonOptions, Only((*WRITING, *PRINTING))], settings: ExportSettings
) -> None:
    """Convert results to editor timelines, subtitles or lists.

    Writes {result}.otio into the current folder, or what the ending of -o stands for: .otio (OpenTimelineIO),
    .edl (CMX 3600), .fcpxml (Final Cut), .xml (Premiere, Resolve), .kdenlive, .mlt (Shotcut), .kodi.edl, .csv
    (LosslessCut), .srt, .vtt, .chapters.txt (YouTube) or .ffmetadata.
    """
    inputs = plain_inputs(results)
    require_one_text(results, common)
    formats, ending, suffixes = _wanted(settings, common)
    bases = main_outputs(inputs, ending, suffixes, common)
    paths = {source: _paths(base, formats) for source, base in bases.items()}
    files = {path: Artifacts(record_of(base), paths[path]) for path, base in bases.items()}
    planned = [replace(item, artifacts=files.get(item.path)) for item in inputs]
    planned = planned if common.to_stdout else check_files(planned, common)

    def work(item: BatchInput, progress: Progress | None) -> Reply:
        return _export_one(item, paths.get(item.path, {}), settings, common)

    run_verb("export", work, planned, common, are_videos=False)


def _export_one(
    item: BatchInput, paths: Mapping[str, Path], settings: ExportSettings, common: CommonOptions
) -> Reply:
    from vidsum.outputs.timelines import timeline_text
    from vidsum.results.load import read_exportable

    result, record = read_exportable(item.path), Path(item.path)
    make = partial(timeline_text, result, paths=settings.media, video=settings.video, record=record)
    film = str(settings.video or (result.video.path if result.video else ""))
    texts, messages, errors = dict[str, str](), list[str](), list[Problem]()
    for format, target in paths.items():
        made = attempt(partial(make, format=format, target=target))
        if isinstance(made, VidsumError):
            if len(paths) == 1:
                raise made
            errors.append(Problem.of(made))
        else:
            texts[format], warnings = made
            messages += (message_of(film, warning) for warning in warnings)
    messages = list(dict.fromkeys(messages))
    format = next(iter(paths))
    if common.to_stdout:
        return Reply(data={"format": format}, document=texts[format], messages=tuple(messages))
    reads = files_of_run([item], common)
    if common.makes_folders and texts:
        make_folder(paths[format].parent)
    lines = [
        save_text(text, paths[name], overwrite=common.overwrite, reads=reads) for name, text in texts.items()
    ]
    return Reply(
        data={"outputs": {name: str(paths[name]) for name in texts}},
        lines=tuple(lines),
        messages=tuple(messages),
        errors=tuple(errors),
        exit_code=1 if errors else 0,
    )


def _paths(base: Path, formats: Sequence[str]) -> dict[str, Path]:
    """Return the file of each format; `base` is the first's."""
    from vidsum.results.formats import FORMATS

    stem = base.name.removesuffix(FORMATS[formats[0]].ending) if len(formats) > 1 else ""
    more = {format: base.with_name(f"{stem}{FORMATS[format].ending}") for format in formats[1:]}
    return {formats[0]: base, **more}


def _wanted(settings: ExportSettings, common: CommonOptions) -> tuple[list[str], str, tuple[str, ...]]:
    """Return the formats, how names end that are made from the input's, and the suffixes of --output.

    Raises UsageError: several formats for stdout.
    """
    from vidsum.outputs.timelines import format_of
    from vidsum.results.formats import FORMATS, PROGRAMS

    output = None if common.to_stdout else common.output
    chosen = dict.fromkeys(PROGRAMS.get(name, name) for name in settings.format)
    formats = [*chosen] or [format_of(output) if output else "otio"]
    if common.to_stdout and len(formats) > 1:
        raise one_format_error()
    ending, named = FORMATS[formats[0]].ending, Path(output or "").suffix
    suffix = ending[ending.rindex(".") :]
    return formats, ending, (suffix, named) if named.lower() == suffix else (suffix,)
