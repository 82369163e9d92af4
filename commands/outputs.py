"""Where results go: `--output`, `--output-dir` and `--export`, checked before any work."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from vidsum.commands.result import CommandResult
from vidsum.errors import EmptyResultError, InputError, OutputError, Problem, UsageError, VidsumError
from vidsum.io.paths import register_input
from vidsum.options import ADVANCED, Option, leaves, option
from vidsum.outputs.names import (
    check_outputs,
    fill_template,
    find_clip_faults,
    own_folders,
    own_names,
    require_suffix,
    stem_of,
)
from vidsum.outputs.saving import Saving, save_result
from vidsum.outputs.tasks import Files, Task
from vidsum.results.settings import ExportFormat, ExportName, MediaPaths
from vidsum.video.settings import Clips

R = TypeVar("R", bound=Any)
T = TypeVar("T")
PlotFormat = Annotated[Literal["png", "svg"], Option("Format of the plots.", panel=ADVANCED, flag_on=())]
Sheet = Annotated[bool, Option("Save a contact sheet with a picture of each.")]
MEDIA_HELP = "Write absolute or relative paths in timelines."


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """Where the results of a batch go."""

    PANEL = "Output"

    output: str | None = option(
        "Output file; - for stdout. For several inputs a template with {stem}, {name} or {n}.",
        None,
        flags=("--output", "-o"),
        default_text="named after the input",
        metavar="FILE",
        writes=True,
    )
    output_dir: Path | None = option("Folder for the outputs.", None, default_text="the current folder")
    overwrite: bool = option("Replace existing outputs.", False)
    skip_existing: bool = option("Skip inputs whose outputs exist, even if outdated.", False, panel=ADVANCED)
    fail_fast: bool = option(
        "Stop a batch at the first bad input.", False, panel=ADVANCED, flag_on=("extract",)
    )

    def __post_init__(self) -> None:
        only_one = {
            "--skip-existing": self.skip_existing,
            "--overwrite": self.overwrite,
            "-o -": self.to_stdout and not self.overwrite,
        }
        chosen = [option for option, is_chosen in only_one.items() if is_chosen]
        if len(chosen) > 1:
            raise UsageError(f"{chosen[0]} and {chosen[1]} exclude each other")

    @property
    def to_stdout(self) -> bool:
        """Whether the document goes to stdout, and no file is written."""
        return self.output == "-"

    @property
    def is_template(self) -> bool:
        """Whether `--output` names several files, with fields in braces."""
        return self.output is not None and ("{" in self.output or "}" in self.output)

    @property
    def makes_folders(self) -> bool:
        """Whether missing folders are made: without `--output`, and where it is a template."""
        return self.output is None or self.is_template

    def check(self, targets: dict[str, Files]) -> None:
        """`check_outputs` of all files of each source, unless stdout gets the document; see `refuse`."""
        if self.to_stdout:
            return
        for source in targets:
            register_input(source)
        for source, files in [*targets.items()]:
            if fault := attempt(partial(check_outputs, source, files.all, make_folders=self.makes_folders)):
                refuse(targets, source, fault)

    def destinations(self, sources: Sequence[str], ending: str, suffixes: Sequence[str]) -> dict[str, Path]:
        """Return where the main output of each source goes: where `--output` says, else to
        `FOLDER/{stem}{ending}` (see `own_names`).

        `--output-dir` keeps the folders of the sources; see `own_folders`. A folder, which has no video or
        cannot be read, has no output. Raises UsageError: `--output` is one name for several sources, or has
        another suffix or an unknown field.
        """
        from vidsum.pipelines.sources import is_folder  # with NumPy

        output, files = self.output, [source for source in sources if not is_folder(source)]
        if output is None or self.to_stdout:
            folders = {} if self.output_dir is None else own_folders(files)
            root = self.output_dir or Path()
            return own_names(files, lambda source, name: root / folders.get(source, "") / f"{name}{ending}")
        if not self.is_template and len(sources) > 1:
            fault = f"--output names one file, but there are {len(sources)} inputs"
            raise UsageError(fault, hint=f"-o '{{stem}}{ending}', or --output-dir FOLDER")
        targets = {
            source: fill_template(output, source, number, suffixes[0]) if self.is_template else Path(output)
            for number, source in enumerate(sources, 1)
            if source in files
        }
        for target in targets.values():
            require_suffix(target, suffixes)
        return targets

    def require_one_text(self, sources: Sequence[str]) -> None:
        """Raise a UsageError where several inputs would print texts to stdout."""
        if self.to_stdout and len(sources) > 1:
            fault = f"-o - prints one file of this format, but there are {len(sources)} inputs"
            raise UsageError(fault, hint="--output-dir FOLDER")


@dataclass(frozen=True, kw_only=True)
class ClipOutputs:
    """An MP4 of each moment, highlight or shot; each command has its own help for `clips`."""

    PANEL = "Output"

    clips: bool = False
    clips_dir: str | None = option(
        "Folder for the clips; implies --clips.", None, metavar="FOLDER", default_text="next to the JSON"
    )

    def clip_folder(self, record: Path) -> Path | None:
        """Return the folder of the clips, by default that of the JSON; None for no clips."""
        return Path(self.clips_dir) if self.clips_dir else record.parent if self.clips else None


@dataclass(frozen=True, kw_only=True)
class Exports:
    """Exports of other commands, in addition to their JSON."""

    PANEL = "Output"

    export: tuple[ExportName, ...] = option(
        f"Save in another format. {', '.join(get_args(ExportFormat))}. Can be repeated.", (), metavar="FORMAT"
    )
    media: MediaPaths = option(MEDIA_HELP, "absolute", flag_on=())
    report: bool = option("Save a page with player, curve and pictures.", False)

    def with_exports(self, targets: Mapping[str, Files], outputs: Outputs) -> dict[str, Files]:
        """Return the files of each source with its exports, checked before any work.

        A source with an export that cannot be written is refused; see `refuse`. Raises UsageError: the JSON
        goes to stdout.
        """
        if self == Exports(media=self.media):
            return dict(targets)
        if outputs.to_stdout:
            hint = "-o FILE.json, with --export or --report"
            raise UsageError("-o - writes JSON only", hint=hint)
        from vidsum.outputs.exports import export_targets

        exported = dict(targets)
        for source, files in targets.items():
            derived = export_targets(self.export, files.record, source, page=self.report)
            exported[source] = replace(files, derived={} if files.fault else derived)
            for kind, path in exported[source].derived.items():
                if fault := attempt(partial(self._check, source, outputs, kind, path)):
                    refuse(exported, source, fault)
        return exported

    def write(self, result: CommandResult, files: Files, *, overwrite: bool) -> CommandResult:
        """Return the result of a command with its exports, made from its data and written next to its JSON.

        Each that cannot be written is an error of its own. Without moments, timelines are left out.
        """
        if not files.derived:
            return result
        from vidsum.outputs.exports import write_export
        from vidsum.results.load import result_of

        lines, messages, made = list(result.lines), list(result.messages), result_of(result.data)
        errors, exports = list[Problem](), list[str]()
        write = partial(write_export, made, files.record, overwrite=overwrite)
        for kind, target in files.derived.items():
            written = attempt(partial(write, kind, target, self.media))
            if isinstance(written, EmptyResultError):
                messages.append(written.message)
            elif isinstance(written, VidsumError):
                errors.append(Problem.of(written))
            else:
                exports.append(str(target))
                lines.append(written[0])
                messages += written[1]
        return replace(
            result,
            data={"exports": exports, **result.data},
            lines=tuple(lines),
            messages=tuple(dict.fromkeys(messages)),
            errors=tuple(dict.fromkeys(errors)),
            exit_code=1 if errors else result.exit_code,
        )

    def _check(self, source: str, outputs: Outputs, kind: str, target: Path) -> None:
        from vidsum.outputs.records import require_ours
        from vidsum.pipelines.sources import has_pictures
        from vidsum.outputs.timelines import require_expressible, require_nameable

        if kind != "html":
            require_expressible(kind, has_video=has_pictures(source))
            require_nameable(kind, source, target, self.media)
        check_outputs(source, [target], make_folders=outputs.makes_folders)
        if not (outputs.overwrite or outputs.skip_existing):
            require_ours(target)


@dataclass(frozen=True)
class Destination:
    """Stdout, files with exports, one table, or nothing: how the results of a batch are delivered."""

    outputs: Outputs
    exports: Exports = Exports()
    table: Path | None = None  # one CSV of all inputs, in place of files of each
    dry_run: bool = False  # print the answers only

    def deliver(
        self, task: Task, saving: Saving[R], answer: Callable[[R, str], CommandResult]
    ) -> CommandResult:
        """Make the result of an input, and print its document or save it with its exports.

        `answer` returns lines and a table for people; its text names the files.
        """
        to_stdout = self.outputs.to_stdout and not self.table
        if to_stdout or self.table or self.dry_run:
            result = saving.run()
            data = saving.document(result, ())
            made = CommandResult(document=data) if to_stdout else answer(result, task.path)
            return replace(made, data=data, messages=result.warnings)
        saved = save_result(task.files, saving, overwrite=self.outputs.overwrite)
        answered = answer(saved.result, saved.names)
        lines, state = answered.lines, dict[str, Any]()
        if not saved.is_new:
            lines, state = (*lines[:-1], f"{lines[-1]} (unchanged)"), {"up_to_date": True}
        data = {**state, **task.files.facts(saved.clips), **saved.document}
        answered = replace(answered, data=data, lines=lines, messages=saved.messages)
        return self.exports.write(answered, task.files, overwrite=self.outputs.overwrite)

    @property
    def collect(self) -> Callable[[Sequence[CommandResult]], CommandResult] | None:
        """The function that writes the table of all results, if there is one."""
        return partial(_save_table, self.table, self.outputs.overwrite) if self.table else None


def _save_table(table: Path, overwrite: bool, results: Sequence[CommandResult]) -> CommandResult:
    from vidsum.outputs.exports import save_table
    from vidsum.results.load import result_of

    made = [result_of(result.data) for result in results if not result.exit_code]
    n_rows, line = save_table(made, table, overwrite=overwrite)
    return CommandResult(data={"output": str(table), "rows": n_rows}, lines=(line,))


def attempt(step: Callable[[], T]) -> T | VidsumError:
    """Return what a step gives, or what is wrong with an input, an output or an option if it raises that."""
    try:
        return step()
    except (InputError, OutputError, UsageError) as fault:
        return fault


def refuse(targets: dict[str, Files], source: str, fault: VidsumError) -> None:
    """Note that the files of a source cannot be made; raise the fault if it is the only one."""
    if len(targets) == 1:
        raise fault
    targets[source] = replace(targets[source], fault=targets[source].fault or fault)


def plan_files(
    kind: str,
    sources: Sequence[str],
    outputs: Outputs,
    exports: Exports,
    clips: ClipOutputs,
    more: Mapping[str, str],
    settings: Clips = Clips(),
    *,
    needs_pictures: bool = False,
) -> tuple[Destination, dict[str, Files]]:
    """Return where the moments, highlights or shots (`kind`) of each video go, checked before any work.

    With `-o FILE.csv` there is one table of all inputs: then, as for stdout, no input has files of its own.
    `more` has the ends of the names of other files, by option; `needs_pictures` refuses features for these
    and for clips. Raises UsageError: files do not go together, or have the same names; OutputError.
    """
    has_clips, table = clips.clip_folder(Path()) is not None, None
    is_file = outputs.output is not None and not (outputs.is_template or outputs.to_stdout)
    if is_file and str(outputs.output).lower().endswith(".csv"):
        if more or has_clips or exports != Exports(media=exports.media):
            hint = "--output-dir FOLDER, for more files"
            raise UsageError("-o FILE.csv writes one table of all inputs", hint=hint)
        table = Path(str(outputs.output))
        check_outputs("the table", [table])
        outputs = replace(outputs, output="-")
    elif is_file:
        require_suffix(Path(str(outputs.output)), (".json", ".csv"))
    elif outputs.to_stdout and (more or has_clips):
        options = " or --".join([*more, *(["clips"] if has_clips else [])])
        raise UsageError("-o - writes JSON only", hint=f"-o FILE.json, with --{options}")
    pairs = zip(leaves(Clips, settings), leaves(Clips), strict=True)
    chosen = [leaf.flags[0] for leaf, plain in pairs if leaf.default != plain.default]
    if chosen and not has_clips:
        raise UsageError(f"{chosen[0]} needs --clips", hint="--clips")
    targets = {}
    for source, json in outputs.destinations(sources, f"_{kind}.json", (".json",)).items():
        stem = json.stem.removesuffix(f"_{kind}")
        named = {"output" if kind == "shots" else "json": json}
        named |= {option: json.with_name(f"{stem}_{end}") for option, end in more.items()}
        folder = clips.clip_folder(json)
        place = stem_of(source) if is_file else stem  # a template may keep videos of one name apart
        targets[source] = Files(
            named, nested=kind != "shots", clip_folder=folder, clip_stem=place, clip_settings=settings
        )
    outputs.check(targets)
    for source, fault in find_clip_faults({**targets}) if has_clips else ():
        refuse(targets, source, fault)
    if needs_pictures and (more or has_clips):
        from vidsum.pipelines.sources import has_pictures

        for source in [source for source in targets if not has_pictures(source)]:
            refuse(targets, source, UsageError(f"{source}: features have no pictures", hint="give the video"))
    return Destination(outputs, exports, table), exports.with_exports(targets, outputs)
