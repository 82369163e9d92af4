"""`vidsum export`: results as timelines for editors, and as lists."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from vidsum.commands.batch import Verb, run_verb
from vidsum.commands.options import command
from vidsum.commands.outputs import MEDIA_HELP, Outputs
from vidsum.commands.result import CommandResult, View
from vidsum.options import ADVANCED, option
from vidsum.pipelines.staging import save_text
from vidsum.pipelines.tasks import Files, Progress, Task
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

    format: ExportName | None = option(
        "Format of the files.", None, default_text="by the suffix of --output, else otio"
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
    format, ending, suffixes = _wanted(settings, outputs)
    bases = outputs.destinations(results, ending, suffixes)
    targets = {source: Files({"output": base}, nested=False) for source, base in bases.items()}
    outputs.check(targets)

    def step(task: Task, progress: Progress | None) -> CommandResult:
        from vidsum.pipelines.timelines import timeline_text
        from vidsum.results.load import read_result

        result = read_result(task.path)
        target = bases[task.path]
        text, warnings = timeline_text(
            result, format, target, settings.media, settings.video, Path(task.path)
        )
        if outputs.to_stdout:
            return CommandResult(data={"format": format}, document=text, messages=warnings)
        line = save_text(text, target, overwrite=outputs.overwrite)
        data = {"output": str(target), "format": format}
        return CommandResult(data=data, lines=(line,), messages=warnings)

    run_verb(Verb("export", step), results, view, outputs=outputs, targets=targets)


def _wanted(settings: ExportSettings, outputs: Outputs) -> tuple[str, str, tuple[str, ...]]:
    """Return the format, how names end that are made from the input's, and the suffixes of --output."""
    from vidsum.pipelines.timelines import format_of
    from vidsum.results.formats import FORMATS, PROGRAMS

    output = None if outputs.to_stdout else outputs.output
    format = PROGRAMS.get(settings.format or "", settings.format) or (format_of(output) if output else "otio")
    ending, named = FORMATS[format].ending, Path(output or "").suffix
    suffix = ending[ending.rindex(".") :]
    return format, ending, (suffix, named) if named.lower() == suffix else (suffix,)
