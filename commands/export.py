"""`vidsum export`: results as timelines and lists; `--export`, `--report`, `--preview` of other commands."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from vidsum.commands.batch import Verb, run_verb
from vidsum.commands.jobs import Task
from vidsum.commands.options import command
from vidsum.commands.outputs import (
    Files,
    Outputs,
    attempt,
    check_outputs,
    destinations,
    require_one_text,
    require_suffix,
)
from vidsum.commands.records import is_ours
from vidsum.commands.result import CommandResult, Problem, View
from vidsum.commands.staging import replacing, save_bytes, save_text
from vidsum.errors import UsageError, VidsumError
from vidsum.io.outputs import make_folder
from vidsum.options import ADVANCED, option
from vidsum.results.settings import ExportFormat, ExportName, MediaPaths
from vidsum.video.settings import PreviewFormat

if TYPE_CHECKING:
    from vidsum.results.cuts import Cutting
    from vidsum.types import Progress

app = typer.Typer(add_completion=False)

Results = Annotated[
    list[str],
    typer.Argument(
        ..., metavar="RESULT.json", help="JSON files of summarize, ground, highlights or shots; - for stdin."
    ),
]
_MEDIA = "Write absolute or relative paths in timelines."


@dataclass(frozen=True, kw_only=True)
class ExportSettings:
    """Format of exported files."""

    PANEL = "Output"

    format: ExportName | None = option(
        "Format of the files.", None, default_text="by the suffix of --output, else otio", shared=False
    )
    media: MediaPaths = option(_MEDIA, "absolute", panel=ADVANCED)
    video: Path | None = option(
        "The video, if it has moved.",
        None,
        default_text="where the result says",
        metavar="FILE",
        shared=False,
    )
    chapters: bool = option(
        "Save a copy of the video with chapters instead. It is not encoded again: {result}.mkv, or "
        "-o FILE.mp4.",
        False,
        shared=False,
    )


@dataclass(frozen=True, kw_only=True)
class Exports:
    """Exports of other commands, in addition to their JSON."""

    PANEL = "Output"

    export: tuple[ExportName, ...] = option(
        f"Save in another format. {', '.join(get_args(ExportFormat))}. Can be repeated.", (), metavar="FORMAT"
    )
    media: MediaPaths = option(_MEDIA, "absolute", flag_on=())
    report: bool = option("Save a page with player, curve and pictures.", False)
    preview: PreviewFormat | None = option(
        "Also an animation of each segment or moment, in {JSON name}_previews/.",
        None,
        panel=ADVANCED,
        flag_on=("summarize", "highlights"),
    )

    def with_exports(self, targets: Mapping[str, Files], outputs: Outputs) -> dict[str, Files]:
        """Return the files of each source with its exports, checked before any work.

        An export of one of several sources that cannot be written is refused alone.

        Raises UsageError, InputError, OutputError: the JSON goes to stdout, or the only source has such one.
        """
        if not self._kinds:
            return dict(targets)
        if outputs.to_stdout:
            hint = "-o FILE.json, with --export, --report or --preview"
            raise UsageError("-o - writes JSON only", hint=hint)
        exported = dict[str, Files]()
        for source, files in targets.items():
            if files.fault:
                exported[source] = files
                continue
            exports = self._targets(files.record, source)
            check = partial(self._check, source, outputs)
            faults = {path: attempt(partial(check, kind, path)) for kind, path in exports.items()}
            refused = {path: fault for path, fault in faults.items() if fault}
            for fault in refused.values() if len(targets) == 1 else ():
                raise fault
            exported[source] = replace(files, derived=tuple(exports.values()), refused=refused)
        return exported

    def _check(self, source: str, outputs: Outputs, kind: str, target: Path) -> None:
        from vidsum.pipelines.sources import has_pictures
        from vidsum.pipelines.timelines import require_expressible, require_nameable

        if kind not in ("html", "previews"):
            require_expressible(kind, has_video=has_pictures(source))
            require_nameable(kind, source, target, self.media)
        check_outputs(source, [target], make_folders=outputs.makes_folders)

    def write(self, result: CommandResult, files: Files, *, overwrite: bool) -> CommandResult:
        """Return the result of a command with its exports, made from its data and written next to its JSON.

        A format that the result does not suit, such as chapters of a short video, is an error of its own, and
        so is a file that exists, differs and is not to be replaced.
        """
        if not files.derived:
            return result
        from vidsum.results.load import result_of

        lines, messages, made = list(result.lines), list(result.messages), result_of(result.data)
        errors: dict[Path, Problem] = {}
        write = partial(self._write_one, made, files.record, overwrite)
        for kind, target in zip(self._kinds, files.derived, strict=True):
            fault = files.refused.get(target)
            written = attempt(partial(write, kind, target)) if fault is None else fault
            if isinstance(written, VidsumError):
                errors[target] = Problem.of(written)
            else:
                lines.append(written[0])
                messages += written[1]
        data = {"exports": [str(path) for path in files.derived if path not in errors], **result.data}
        result = replace(result, data=data, lines=tuple(lines), messages=tuple(dict.fromkeys(messages)))
        return replace(result, errors=tuple(errors.values()), exit_code=1) if errors else result

    @property
    def _kinds(self) -> tuple[str, ...]:
        from vidsum.results.formats import PROGRAMS

        more = {"html": self.report, "previews": self.preview}
        formats = dict.fromkeys(PROGRAMS.get(name, name) for name in self.export)
        return (*formats, *(kind for kind, is_chosen in more.items() if is_chosen))

    def _targets(self, record: Path, source: str) -> dict[str, Path]:
        from vidsum.results.formats import FORMATS

        endings = {kind: FORMATS[kind].ending if kind in FORMATS else f".{kind}" for kind in self._kinds}
        targets = {kind: record.with_suffix(ending) for kind, ending in endings.items()}
        if "kodi" in targets:  # Kodi looks for it next to the video
            targets["kodi"] = Path(source).with_suffix(".edl")
        if "previews" in targets:
            targets["previews"] = record.with_name(f"{record.stem}_previews")
        return targets

    def _write_one(
        self, made: "Cutting", record: Path, overwrite: bool, kind: str, target: Path
    ) -> tuple[str, tuple[str, ...]]:
        """Write an export; return a line about it, and warnings."""
        from vidsum.pipelines.report import report_text
        from vidsum.pipelines.timelines import timeline_text

        if kind == "previews" and self.preview:
            return self._write_previews(self.preview, made, record, overwrite), ()
        if kind == "html":
            text, warnings = report_text([(str(record), made)], target)
        else:
            text, warnings = timeline_text(made, kind, target, self.media)
        return save_text(text, target, overwrite=overwrite), warnings

    def _write_previews(self, format: PreviewFormat, made: "Cutting", record: Path, overwrite: bool) -> str:
        """Write a preview of each segment, remove outdated ones; return a line about them."""
        from vidsum.pipelines.export import is_preview, iter_previews

        folder, states = record.with_name(f"{record.stem}_previews"), {}
        for name, content in iter_previews(made, format):
            make_folder(folder)
            states[name] = save_bytes(content, folder / name, overwrite=overwrite, folder=record.parent)
        others = folder.glob(f"*.{format}")
        for path in [path for path in others if path.name not in states and is_preview(path.name)]:
            if is_ours(path, record.parent):
                path.unlink()
        state = "" if any(states.values()) else " (unchanged)"
        return f"{len(states)} preview{'' if len(states) == 1 else 's'} in {folder}{state}"


@command(app)
def export(results: Results, outputs: Outputs, settings: ExportSettings, view: View) -> None:
    """Turn results into timelines for editors, or lists.

    Writes {result}.otio into the current folder, or what the ending of -o stands for: .otio (OpenTimelineIO),
    .edl (CMX 3600), .fcpxml (Final Cut), .xml (Premiere, Resolve), .kdenlive, .mlt (Shotcut), .markers.edl
    (Resolve), .scenes.csv (PySceneDetect), .kodi.edl, .csv (LosslessCut), .srt, .vtt, .chapters.txt
    (YouTube), .ffmetadata or .labels.txt (Audacity).

    vidsum export film_summary.json -o cut.edl

    vidsum export *_moments.json --format fcpxml --media relative

    vidsum export film_shots.json --chapters -o film_chapters.mp4
    """
    require_one_text(results, outputs)
    format, ending, suffixes = _wanted(settings, outputs)
    bases = destinations(results, outputs, ending, suffixes)
    targets = {source: Files({"output": base}, nested=False) for source, base in bases.items()}
    outputs.check(targets)

    def step(task: Task, progress: "Progress | None") -> CommandResult:
        from vidsum.pipelines.timelines import timeline_text
        from vidsum.results.load import read_result

        result = read_result(task.path)
        target = bases[task.path]
        data = {"output": str(target), "format": format}
        if settings.chapters:
            line = _save_chaptered(result, target, settings.video, overwrite=outputs.overwrite)
            return CommandResult(data=data, lines=(line,))
        text, warnings = timeline_text(result, format, target, settings.media, settings.video)
        if outputs.to_stdout:
            return CommandResult(data={"format": format}, document=text, messages=warnings)
        line = save_text(text, target, overwrite=outputs.overwrite)
        return CommandResult(data=data, lines=(line,), messages=warnings)

    run_verb(Verb("export", step), results, view, outputs=outputs, targets=targets)


def _wanted(settings: ExportSettings, outputs: Outputs) -> tuple[str, str, tuple[str, ...]]:
    """Return the format, how names end that are made from the input's, and the suffixes that --output may
    have.

    Raises UsageError: there is no such format, or --chapters is asked for with another.
    """
    from vidsum.pipelines.timelines import format_of
    from vidsum.results.formats import FORMATS, PROGRAMS

    output = None if outputs.to_stdout else outputs.output
    if settings.chapters:
        if settings.format or outputs.to_stdout:
            other = "--format" if settings.format else "-o -"
            raise UsageError(f"--chapters and {other} exclude each other", hint="run export twice")
        return "video", ".mkv", (".mkv", ".mp4", ".m4v", ".mov", ".webm")
    format = PROGRAMS.get(settings.format or "", settings.format) or (format_of(output) if output else "otio")
    ending, named = FORMATS[format].ending, Path(output or "").suffix
    suffix = ending[ending.rindex(".") :]
    return format, ending, (suffix, named) if named.lower() == suffix else (suffix,)


def _save_chaptered(result: "Cutting", target: Path, video: Path | None, *, overwrite: bool) -> str:
    """Write the copy of a video with chapters, unless it is there already; return a line about it.

    Raises OutputError: another file is there, and is not to be replaced.
    """
    from vidsum.pipelines.export import read_label
    from vidsum.pipelines.timelines import chapters_label, write_chaptered

    source = Path(video or (result.video.path if result.video else ""))
    if target.exists() and source.exists() and target.samefile(source):
        raise UsageError(f"{target}: would be written over the video", hint="-o FILE")
    if target.exists() and not overwrite and read_label(target) == chapters_label(result, video):
        return f"{target} (unchanged)"
    with replacing(target, target.parent, overwrite=overwrite) as shadow:
        write_chaptered(result, shadow, video)
    return str(target)


def one_table(
    outputs: Outputs, exports: Exports, *, asks_more: bool
) -> tuple[Outputs, Callable[[Sequence[CommandResult]], CommandResult] | None]:
    """Return the outputs for `-o FILE.csv`, one table of all inputs, and the function that writes it.

    As for stdout, no input has files of its own then.

    Raises:
        UsageError: there would be other files, or see `check_outputs`.
        OutputError: see `check_outputs`.
    """
    if outputs.is_template or not (outputs.output or "").lower().endswith(".csv"):
        if outputs.output and not (outputs.is_template or outputs.to_stdout):
            require_suffix(Path(outputs.output), (".json", ".csv"))
        return outputs, None
    if asks_more or exports != Exports(media=exports.media):
        raise UsageError(
            "-o FILE.csv writes one table of all inputs", hint="--output-dir FOLDER, for more files"
        )
    table = Path(outputs.output or "")
    check_outputs("the table", [table])
    return replace(outputs, output="-"), partial(_save_table, table, outputs.overwrite)


def _save_table(table: Path, overwrite: bool, results: Sequence[CommandResult]) -> CommandResult:
    """Write the moments or shots of all results as one CSV. Raises OutputError: see `save_text`."""
    from vidsum.results.clock import to_player_time
    from vidsum.results.cuts import cuts_of
    from vidsum.results.lists import to_csv
    from vidsum.results.load import result_of

    made = [cuts_of(to_player_time(result_of(result.data))) for result in results if not result.exit_code]
    rows = [cut for cuts in made for cut in cuts]
    line = save_text(to_csv(rows), table, overwrite=overwrite)
    counts = (
        f"{len(rows)} row{'' if len(rows) == 1 else 's'}, {len(made)} video{'' if len(made) == 1 else 's'}"
    )
    return CommandResult(data={"output": str(table), "rows": len(rows)}, lines=(f"{line}: {counts}",))
