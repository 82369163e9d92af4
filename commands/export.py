"""`vidsum export`: results as timelines for editors, and as lists."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from vidsum.commands.batch import Verb, run_verb
from vidsum.commands.options import command
from vidsum.commands.outputs import MEDIA_HELP, Outputs, attempt
from vidsum.commands.result import CommandResult, View
from vidsum.errors import Problem, UsageError, VidsumError
from vidsum.options import ADVANCED, option
from vidsum.outputs.staging import save_text
from vidsum.outputs.tasks import Files, Progress, Task
from vidsum.results.settings import ExportName, MediaPaths

app = typer.Typer(add_completion=False)

Results = Annotated[
    list[str],
    typer.Argument(
        ..., metavar="RESULT.json", help="JSON files of summarize, ground, highlights or shots; - for stdin."
    ),
]


@dataclass(frozen=True, kw_only=True)
class ExportSettings:
    """Format of exported files."""

    PANEL = "Output"

    format: tuple[ExportName, ...] = option(
        "Format of the files. Can be repeated.", (), default_text="by the suffix of --output, else otio"
    )
    media: MediaPaths = option(MEDIA_HELP, "absolute", panel=ADVANCED)
    video: Path | None = option(
        "The video, if it has moved.", None, default_text="where the result says", metavar="FILE"
    )


@command(app)
def export(results: Results, outputs: Outputs, settings: ExportSettings, view: View) -> None:
    """Convert results to editor timelines, subtitles or lists.

    Writes {result}.otio into the current folder, or what the ending of -o stands for: .otio (OpenTimelineIO),
    .edl (CMX 3600), .fcpxml (Final Cut), .xml (Premiere, Resolve), .kdenlive, .mlt (Shotcut), .kodi.edl, .csv
    (LosslessCut), .srt, .vtt, .chapters.txt (YouTube) or .ffmetadata.

    vidsum export film_summary.json -o cut.edl

    vidsum export *_moments.json --format fcpxml --media relative
    """
    outputs.require_one_text(results)
    formats, ending, suffixes = _wanted(settings, outputs)
    bases = outputs.destinations(results, ending, suffixes)
    paths = {source: _paths(base, formats) for source, base in bases.items()}
    targets = {source: _files(named, is_one=len(formats) == 1) for source, named in paths.items()}
    outputs.check(targets)

    def step(task: Task, progress: Progress | None) -> CommandResult:
        from vidsum.outputs.timelines import timeline_text
        from vidsum.results.load import read_result

        result = read_result(task.path)
        named, record = paths[task.path], Path(task.path)
        make = partial(timeline_text, result, paths=settings.media, video=settings.video, record=record)
        texts, messages, errors = dict[str, str](), list[str](), list[Problem]()
        for format, target in named.items():
            made = attempt(partial(make, format=format, target=target))
            if isinstance(made, VidsumError):
                if len(formats) == 1:
                    raise made
                errors.append(Problem.of(made))
            else:
                texts[format], warnings = made
                messages += warnings
        messages = list(dict.fromkeys(messages))
        if outputs.to_stdout:
            data = {"format": formats[0]}
            return CommandResult(data=data, document=texts[formats[0]], messages=tuple(messages))
        lines = [save_text(text, named[name], overwrite=outputs.overwrite) for name, text in texts.items()]
        files = _files({name: named[name] for name in texts}, is_one=len(formats) == 1)
        data = {**files.facts(), **({"format": formats[0]} if len(formats) == 1 else {})}
        return CommandResult(
            data=data,
            lines=tuple(lines),
            messages=tuple(messages),
            errors=tuple(errors),
            exit_code=1 if errors else 0,
        )

    run_verb(Verb("export", step), results, view, outputs=outputs, targets=targets)


def _paths(base: Path, formats: Sequence[str]) -> dict[str, Path]:
    """Return the file of each format; `base` is the first's."""
    from vidsum.results.formats import FORMATS

    stem = base.name.removesuffix(FORMATS[formats[0]].ending) if len(formats) > 1 else ""
    more = {format: base.with_name(f"{stem}{FORMATS[format].ending}") for format in formats[1:]}
    return {formats[0]: base, **more}


def _files(paths: Mapping[str, Path], *, is_one: bool) -> Files:
    return Files({"output": next(iter(paths.values()))}, nested=False) if is_one else Files(paths)


def _wanted(settings: ExportSettings, outputs: Outputs) -> tuple[list[str], str, tuple[str, ...]]:
    """Return the formats, how names end that are made from the input's, and the suffixes of --output.

    Raises UsageError: several formats for stdout.
    """
    from vidsum.outputs.timelines import format_of
    from vidsum.results.formats import FORMATS, PROGRAMS

    output = None if outputs.to_stdout else outputs.output
    chosen = dict.fromkeys(PROGRAMS.get(name, name) for name in settings.format)
    formats = [*chosen] or [format_of(output) if output else "otio"]
    if outputs.to_stdout and len(formats) > 1:
        raise UsageError("-o - prints one format", hint="one --format, or --output-dir FOLDER")
    ending, named = FORMATS[formats[0]].ending, Path(output or "").suffix
    suffix = ending[ending.rindex(".") :]
    return formats, ending, (suffix, named) if named.lower() == suffix else (suffix,)
