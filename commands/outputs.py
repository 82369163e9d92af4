"""Names of output files, from `--output` and `--output-dir`; made sure of before any work."""

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import TypeGuard

from vidsum.errors import OutputError, UsageError
from vidsum.outputs import check_name, make_folder

_FIELDS = ("stem", "parent", "n")
"""What `--output` may name in braces: the input's name and folder, and its number in the batch, from 1."""


def destinations(
    sources: Sequence[str], output: str | None, folder: Path | None, ending: str, suffixes: Sequence[str]
) -> dict[str, Path]:
    """Where the main output of each source goes: `FOLDER/{stem}{ending}`, or where `output` says.

    In a folder that was named, the folders of the sources are kept, from the one that holds them all on.

    Args:
        sources: the inputs of a batch.
        output: a file, a template such as `cuts/{parent}_{stem}.mp4`, `-`, or None.
        folder: of `--output-dir`; the current one if None.
        ending: of a name that is made from the source's.
        suffixes: that `output` may have.

    Raises:
        UsageError: `output` is one name for several sources, or has a suffix or a field that does not fit.
    """
    if output in (None, "-"):
        kept = {} if folder is None else _own_folders(sources)
        place = folder or Path()
        return {source: place / kept.get(source, "") / f"{_stem(source)}{ending}" for source in sources}
    if not _is_template(output) and len(sources) > 1:
        raise UsageError(
            "--output names one file, but there are several inputs",
            hint=f"-o '{{stem}}{ending}', or --output-dir FOLDER",
        )
    targets = {
        source: _filled(output, source, number, suffixes[0]) for number, source in enumerate(sources, 1)
    }
    for target in targets.values():
        require_suffix(target, suffixes)
    return targets


def require_suffix(path: Path, suffixes: Sequence[str]) -> None:
    """See to it that a file has one of the suffixes.

    Raises:
        UsageError: it has another one.
    """
    if path.suffix not in suffixes:
        hint = f"-o {path.with_suffix(suffixes[0])}" if path.name else None
        raise UsageError(f"{path}: has to end in {' or '.join(suffixes)}", hint=hint)


def claim(outputs: Sequence[tuple[str, Sequence[Path]]], output: str | None = "") -> None:
    """Make sure, before any work, that each source's outputs are its own and can be written.

    Args:
        outputs: each source with the files that are made of it.
        output: `--output`; without it, or if it is a template, folders that are not there are made.

    Raises:
        UsageError: an output is one of the sources, or two sources have the same output.
        OutputError: the folder of an output is not there, or cannot be made.
    """
    inputs = {os.path.realpath(source) for source, _ in outputs}
    owners: dict[str, str] = {}
    for source, paths in outputs:
        for path in paths:
            check_name(path)
            place = os.path.realpath(path)
            if place in inputs:
                raise UsageError(
                    f"{path}: would be written over the input", hint="-o FILE, or --output-dir FOLDER"
                )
            owner = owners.setdefault(place, source)
            if os.path.realpath(owner) != os.path.realpath(source):
                raise UsageError(
                    f"{owner} and {source} would both be written to {path}",
                    hint=_apart(source, owner, path.suffix),
                )
    makes_folders = output is None or _is_template(output)
    for path in (path for _, paths in outputs for path in paths):
        if makes_folders:
            make_folder(path.parent)
        elif not path.parent.is_dir():
            raise OutputError(f"{path}: there is no folder {path.parent}", hint=f"mkdir -p {path.parent}")


def _apart(source: str, other: str, suffix: str) -> str:
    """What gives two inputs of one name outputs of their own."""
    if _folder(source) == _folder(other):
        return f"-o '{{n}}_{{stem}}{suffix}'"
    return f"-o '{{parent}}_{{stem}}{suffix}', or --output-dir FOLDER"


def _is_template(output: str | None) -> TypeGuard[str]:
    return output is not None and ("{" in output or "}" in output)


def _filled(output: str, source: str, number: int, suffix: str) -> Path:
    """The output of one source, the fields of a template filled in."""
    if not _is_template(output):
        return Path(output)
    fields = {"stem": _stem(source), "parent": _folder(source).name, "n": number}
    try:
        if any(name is not None and name not in _FIELDS for _, name, _, _ in Formatter().parse(output)):
            raise ValueError
        return Path(output.format(**fields))
    except (ValueError, LookupError) as error:
        raise UsageError(
            f"{output}: braces must hold {', '.join(_FIELDS[:-1])} or {_FIELDS[-1]}",
            hint=f"-o '{{parent}}_{{stem}}{suffix}'",
        ) from error


def _stem(source: str) -> str:
    """What an output is named after; one video of an h5 file (`file.h5#name`) goes by its own name."""
    from vidsum.pipelines.summary import has_pictures

    path, _, video = (source, "", "") if has_pictures(source) else source.partition("#")
    return video or Path(path).stem


def _folder(source: str) -> Path:
    return Path(os.path.normpath(Path(source).absolute())).parent


def _own_folders(sources: Sequence[str]) -> dict[str, str]:
    """The folder of each source, from the one on that holds them all."""
    folders = {source: _folder(source) for source in sources}
    try:
        common = os.path.commonpath(folders.values())
    except ValueError:  # they are on several drives
        return {}
    return {source: os.path.relpath(folder, common) for source, folder in folders.items()}


@dataclass(frozen=True)
class SummaryFiles:
    """The files that one summary is written to; None for those not asked for."""

    json: Path
    video: Path | None
    storyboard: Path | None
    key_frames: Path | None
    """A folder of JPEG files."""
    plot: Path | None
    attention: Path | None

    @property
    def all(self) -> list[Path]:
        """Those that are asked for."""
        paths = (self.video, self.json, self.storyboard, self.key_frames, self.plot, self.attention)
        return [path for path in paths if path]

    @property
    def names(self) -> dict[str, dict[str, str]]:
        """The same as data."""
        kinds = {"video": self.video, "json": self.json, "storyboard": self.storyboard}
        kinds |= {"key_frames": self.key_frames, "plot": self.plot, "attention": self.attention}
        return {"outputs": {kind: str(path) for kind, path in kinds.items() if path}}


def summary_files(
    source: str, base: Path, storyboard: bool, plots: Collection[str], plot_format: str, attention_part: str
) -> SummaryFiles:
    """Where a summary of `source` goes, of which `base` is the MP4 or, where there is none, the JSON.

    `plots` are names of `commands.options.PlotName`. A picture of another `attention_part` than the mean has
    a name of its own, so that one is not taken for the other.
    """
    from vidsum.pipelines.summary import has_pictures

    from_features = not has_pictures(source)
    stem = base.with_suffix("").name.removesuffix("_summary")
    part = "" if attention_part == "mean" else f"_{attention_part}"
    return SummaryFiles(
        json=base.with_suffix(".json"),
        video=base if base.suffix == ".mp4" and not from_features else None,
        storyboard=base.with_name(f"{stem}_storyboard.png") if storyboard and not from_features else None,
        key_frames=base.with_name(f"{stem}_key_frames") if storyboard and not from_features else None,
        plot=base.with_name(f"{stem}_importance.{plot_format}") if "importance" in plots else None,
        attention=base.with_name(f"{stem}_attention{part}.{plot_format}") if "attention" in plots else None,
    )
