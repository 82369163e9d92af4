"""Names of output files, from `--output` and `--output-dir`, checked before any work."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from string import Formatter
from typing import Annotated, Any, Literal, TypeVar

from vidsum.commands.names import fields_of, folder_of, own_folders, own_names
from vidsum.commands.paths import register_input, register_output
from vidsum.errors import InputError, OutputError, UsageError, VidsumError
from vidsum.io.outputs import check_name, make_folder
from vidsum.options import ADVANCED, Option, leaves, option
from vidsum.video.settings import Clips

T = TypeVar("T")
PlotFormat = Annotated[Literal["png", "svg"], Option("Format of the plots.", panel=ADVANCED, flag_on=())]
Sheet = Annotated[bool, Option("Save a contact sheet, a picture for each.")]


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
    update: bool = option("Has no effect: accepted for earlier scripts.", False, panel=ADVANCED, hidden=True)
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

    def check(self, targets: "dict[str, Files]") -> None:
        """`check_outputs` of all files of each source, unless stdout gets the document; see `refuse`."""
        if self.to_stdout:
            return
        for source in targets:
            register_input(source)
        for source, files in [*targets.items()]:
            if fault := attempt(partial(check_outputs, source, files.all, make_folders=self.makes_folders)):
                refuse(targets, source, fault)

    @property
    def is_template(self) -> bool:
        """Whether `--output` names several files, with fields in braces."""
        return self.output is not None and ("{" in self.output or "}" in self.output)

    @property
    def makes_folders(self) -> bool:
        """Whether missing folders are made: without `--output`, and where it is a template."""
        return self.output is None or self.is_template


_FIELDS = ("stem", "name", "suffix", "parent", "n")
"""Fields of `--output`: parts of the input's name and folder, and its number in the batch, from 1."""
_FORM = re.compile(r"(0?[1-9]d?)?")
"""How a field may be padded, as in {n:04}: at most nine places."""


def destinations(
    sources: Sequence[str], outputs: Outputs, ending: str, suffixes: Sequence[str]
) -> dict[str, Path]:
    """Return where the main output of each source goes: `FOLDER/{stem}{ending}` (see `own_names`), or where
    `output` says.

    In a folder that was named, the folders of the sources are kept, from the one that holds them all on.

    Args:
        sources: the inputs of a batch.
        outputs: what was chosen; `--output` is a file, a template such as `cuts/{parent}_{stem}.mp4`, or `-`.
        ending: of a name that is made from the source's.
        suffixes: that `output` may have.

    Raises:
        UsageError: `output` is one name for several sources, or has a suffix or a field that does not fit.
    """
    output = outputs.output
    if output is None or outputs.to_stdout:
        folders = {} if outputs.output_dir is None else own_folders(sources)
        place = outputs.output_dir or Path()
        return own_names(sources, lambda source, name: place / folders.get(source, "") / f"{name}{ending}")
    if not outputs.is_template and len(sources) > 1:
        more = f" and {len(sources) - 2} more" if len(sources) > 2 else ""
        raise UsageError(
            f"--output names one file, but there are several inputs: {', '.join(sources[:2])}{more}",
            hint=f"-o '{{stem}}{ending}', or --output-dir FOLDER",
        )
    targets = {
        source: _filled(output, source, number, suffixes[0]) if outputs.is_template else Path(output)
        for number, source in enumerate(sources, 1)
    }
    for target in targets.values():
        require_suffix(target, suffixes)
    return targets


def require_one_text(sources: Sequence[str], outputs: Outputs) -> None:
    """Raise a UsageError where several inputs would print texts to stdout: only JSON can be told apart."""
    if outputs.to_stdout and len(sources) > 1:
        fault = f"-o - prints one file of this format, but there are {len(sources)} inputs"
        raise UsageError(fault, hint="--output-dir FOLDER")


def require_suffix(path: Path, suffixes: Sequence[str]) -> None:
    """Raise a UsageError unless a file has one of the suffixes."""
    if path.suffix not in suffixes:
        hint = f"-o {path.with_suffix(suffixes[0])}" if path.name else None
        raise UsageError(f"{path}: output must end in {_listed(suffixes)}", hint=hint)


def _listed(words: Sequence[str]) -> str:
    """`a, b or c`."""
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def check_outputs(source: str, outputs: Sequence[Path], *, make_folders: bool = False) -> None:
    """Make sure, before any work, that a source's outputs are its own and can be written.

    Args:
        source: an input, or what else the outputs are made of.
        outputs: the files.
        make_folders: make the folders that do not exist.

    Raises:
        UsageError: the command reads an output, or writes it for another source or option too.
        OutputError: the folder of an output is not there, or cannot be made.
    """
    register_input(source)
    for path in outputs:
        check_name(path)
        owner = register_output(path, source)
        if owner == source:
            raise UsageError(f"{path}: two outputs of {source} have this name", hint="leave out one of them")
        if owner is not None and os.path.realpath(owner) != os.path.realpath(source):
            fault = f"{owner} and {source} would both be written to {path}"
            raise UsageError(fault, hint=_apart(source, owner, path.suffix))
    for path in outputs:
        if make_folders:
            make_folder(path.parent)
        elif not path.parent.is_dir():
            raise OutputError(f"{path}: no folder {path.parent}", hint=f"mkdir -p {path.parent}")


def _apart(source: str, other: str, suffix: str) -> str:
    """Return the option that keeps the outputs of two inputs of the same name apart."""
    if suffix == ".edl":  # Kodi looks for the name of the video
        return "rename one of them"
    if folder_of(source) == folder_of(other):
        return f"-o '{{name}}{suffix}'"
    return f"-o '{{parent}}_{{stem}}{suffix}', or --output-dir FOLDER"


def _filled(output: str, source: str, number: int, suffix: str) -> Path:
    """Return the output of one source: a template with its fields filled in."""
    try:
        for _, name, form, conversion in Formatter().parse(output):
            if name is not None and (name not in _FIELDS or conversion or not _FORM.fullmatch(form or "")):
                raise ValueError
        return Path(output.format(**fields_of(source, number)))
    except (ValueError, LookupError) as error:
        raise UsageError(
            f"{output}: braces must hold {', '.join(_FIELDS[:-1])} or {_FIELDS[-1]}",
            hint=f"-o '{{parent}}_{{stem}}{suffix}'",
        ) from error


@dataclass(frozen=True)
class Files:
    """The files of one result."""

    named: Mapping[str, Path]
    """By kind, the one that records what they were made from first, if none is called `json`."""
    nested: bool = True
    """Whether they stand under `outputs` in the JSON result."""
    absent: tuple[str, ...] = ()
    """Kinds that are null in the JSON result where they were not asked for."""
    clip_folder: Path | None = None
    """Folder of an MP4 for each moment, if these are asked for."""
    clip_stem: str = ""
    """Prefix of the names of these MP4 files."""
    clip_settings: Clips = field(default_factory=Clips)
    """How they differ from their moments."""
    derived: tuple[Path, ...] = ()
    """Exports, made from the record."""
    refused: Mapping[Path, VidsumError] = field(default_factory=dict)
    """Formats that cannot be made."""
    fault: VidsumError | None = None
    """Why none of them can be made."""

    @property
    def record(self) -> Path:
        """The file that tells what all were made from."""
        return self.named.get("json") or next(iter(self.named.values()))

    @property
    def all(self) -> list[Path]:
        """The files whose names do not depend on the result."""
        return list(self.named.values())

    @property
    def has_json(self) -> bool:
        """Whether the record is a JSON document, which lists the other files."""
        return self.record.suffix == ".json"

    @property
    def unlisted(self) -> list[Path]:
        """The files other than a JSON record."""
        return [path for path in self.all if not (self.has_json and path == self.record)]

    def clips(self, document: Mapping[str, Any]) -> list[Path]:
        """Return the MP4 files of the moments in a document."""
        if self.clip_folder is None:
            return []
        from vidsum.pipelines.clips import clip_paths
        from vidsum.results.load import result_of

        result: Any = result_of(document)
        return [path for path, _ in clip_paths(result, self.clip_folder, self.clip_stem)]

    def facts(self, clips: Sequence[Path] = ()) -> dict[str, Any]:
        """Return all of them, as data."""
        names: dict[str, Any] = dict.fromkeys(self.absent)
        names |= {kind: str(path) for kind, path in self.named.items()}
        if self.clip_folder:
            names["clips"] = [str(path) for path in clips]
        return {"outputs": names} if self.nested else names


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


def moment_files(
    sources: Sequence[str],
    outputs: Outputs,
    what: str,
    more: Mapping[str, str],
    clips: str | None = None,
    settings: Clips = Clips(),
) -> dict[str, Files]:
    """Return where the moments, highlights or shots (`what`) of each video go, checked before any work.

    Args:
        sources, outputs: the videos, and what was chosen.
        what: ends the names of the JSON files.
        more: the ends of the names of other files, by option.
        clips: folder of an MP4 of each; empty for the JSON's, None for no MP4.
        settings: how the clips differ from the moments.

    Raises:
        UsageError: the JSON goes to stdout, and there would be other files; there are no clips to pad; two
            videos have the same clips, or a video has the name of a clip; or see `destinations` and
            `check_outputs`.
    """
    if outputs.to_stdout and (more or clips is not None):
        options = " or --".join([*more, *([] if clips is None else ["clips"])])
        raise UsageError("-o - writes JSON only", hint=f"-o FILE.json, with --{options}")
    pairs = zip(leaves(Clips, settings), leaves(Clips), strict=True)
    chosen = [leaf.flags[0] for leaf, plain in pairs if leaf.default != plain.default]
    if clips is None and chosen:
        raise UsageError(f"{chosen[0]} needs --clips", hint="--clips")
    targets = {}
    for source, json in destinations(sources, outputs, f"_{what}.json", (".json",)).items():
        stem = json.stem.removesuffix(f"_{what}")
        named = {"output" if what == "shots" else "json": json}
        named |= {kind: json.with_name(f"{stem}_{end}") for kind, end in more.items()}
        folder = None if clips is None else Path(clips) if clips else json.parent
        targets[source] = Files(
            named, nested=what != "shots", clip_folder=folder, clip_stem=stem, clip_settings=settings
        )
    outputs.check(targets)
    if clips is not None:
        _check_clips(targets)
    return targets


def _check_clips(targets: dict[str, Files]) -> None:
    from vidsum.pipelines.clips import video_stem

    owners: dict[tuple[str, str], str] = {}
    for source, files in [*targets.items()]:
        assert files.clip_folder is not None
        place = (os.path.realpath(files.clip_folder), files.clip_stem)
        if (owner := owners.setdefault(place, source)) != source:
            fault = f"{owner} and {source} would have the same clips in {files.clip_folder}"
            hint = "-o '{parent}_{stem}_moments.json', or --clips without a folder"
            refuse(targets, source, UsageError(fault, hint))
    for source in targets:
        folder, name = os.path.split(os.path.realpath(source))
        place = (folder, video_stem(name.removesuffix(".mp4")) or "")
        if name.endswith(".mp4") and place in owners:
            fault = f"{source}: has the name of a clip to be written of {owners[place]}"
            refuse(targets, owners[place], UsageError(fault, hint="--clips-dir FOLDER"))
