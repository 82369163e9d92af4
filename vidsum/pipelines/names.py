"""Names that outputs take from their sources, and checks of these before any work."""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from glob import escape
from pathlib import Path, PurePath
from string import Formatter
from typing import Any

from vidsum.errors import InputError, OutputError, UsageError
from vidsum.io.outputs import check_name, make_folder, shortened, stems_of
from vidsum.io.paths import register_input, register_output, url_of
from vidsum.io.text import STDIN, read_json
from vidsum.pipelines.legacy import read_mark
from vidsum.pipelines.tasks import Files

_FIELDS = ("stem", "name", "suffix", "parent", "n")
"""Fields of `--output`: parts of the input's name and folder, and its number in the batch, from 1."""
_FORM = re.compile(r"(0?[1-9]d?)?")
"""How a field may be padded, as in {n:04}: at most nine places."""


def own_names(sources: Sequence[str], target: Callable[[str, str], Path]) -> dict[str, Path]:
    """Choose the main output of each source: `target(source, stem)`, or `target(source, name and suffix)`.

    The first belongs to the source that the record there names, or, where none is, to the first source of the
    batch. Once it is written, the other inputs of a batch change nothing.
    """
    plain = {source: target(source, stem_of(source)) for source in sources}
    longer = {source: target(source, _name_of(source)) for source in sources}
    is_plain = {
        source: False if _is_recorded(source, longer[source]) else _is_recorded(source, plain[source])
        for source in sources
    }
    owners = {os.path.realpath(plain[source]): Path(source).name for source in sources if is_plain[source]}
    for source in sources:
        if is_plain[source] is None:
            name = Path(source).name
            is_plain[source] = owners.setdefault(os.path.realpath(plain[source]), name) == name
    return {source: (plain if is_plain[source] else longer)[source] for source in sources}


def _is_recorded(source: str, output: Path) -> bool | None:
    """Return whether an output that exists, or was begun, was made of a source; None if that is not known.

    Its record names the video. One of another stem has been renamed since; so has one that is not there any
    more, if a file of its size is. Features are recorded under the name of the video that they were made of.
    """
    from vidsum.pipelines.sources import has_pictures

    video = _recorded_video(output)
    name, path = PurePath(str(video.get("path", ""))).name, Path(source)
    if not has_pictures(source):
        return True if name else None
    if not name:
        return _is_recorded_sound(path, video)
    if Path(name).stem != path.stem:
        return None
    if name == path.name:
        return True
    with suppress(OSError):
        return not path.with_name(name).exists() and path.stat().st_size == video.get("bytes")
    return False


def _is_recorded_sound(path: Path, recorded: dict[str, Any]) -> bool | None:
    """Return whether a record of sound, which has the content of its file but no name, is of this file."""
    from vidsum.io.provenance import identify_file

    with suppress(InputError, OSError):
        if recorded and identify_file(path).items() <= recorded.items():
            return True
        others = (other for other in path.parent.glob(f"{escape(path.stem)}.*") if other.name != path.name)
        if any(other.stat().st_size == recorded.get("bytes") for other in others):
            return False
    return None


def _recorded_video(output: Path) -> dict[str, Any]:
    """Return the video that the record of an output, or the mark of a stopped run, names; else nothing.

    Of sound without pictures, it is the size and hash of the file.
    """
    record = output.with_suffix(".json") if output.name.endswith("_summary.mp4") else output
    if mark := read_mark(record):
        return {"path": mark[1]}
    document: Any = None
    with suppress(InputError, UsageError, OSError):
        if record.suffix == ".json":
            document = read_json(record)
        elif record.suffix in (".npz", ".h5") and record.is_file():
            from vidsum.results.feature_files import read_features

            document = read_features(record).to_dict(with_arrays=False)
    if not isinstance(document, dict):
        return {}
    made_from = document.get("provenance")
    video = document.get("video") or (made_from.get("video") if isinstance(made_from, dict) else None)
    return video if isinstance(video, dict) else {}


def stem_of(source: str) -> str:
    """Return the name that an output takes; a video of an h5 file (`file.h5#name`) goes by its own name."""
    if source == STDIN:
        return "stdin"
    path, video = _parts(source)
    return shortened(video) if video else stems_of(path)[0]


def _name_of(source: str) -> str:
    path, video = _parts(source)
    return shortened(f"{Path(path).name}_{video}") if video else stems_of(path)[1]


def _parts(source: str) -> tuple[str, str]:
    """Return the path of a source, and the video in it if it is an h5 file."""
    if "#" not in source:
        return source, ""
    from vidsum.pipelines.sources import has_pictures

    path, _, video = (source, "", "") if has_pictures(source) else source.partition("#")
    return path, video


def _fields_of(source: str, number: int) -> dict[str, object]:
    """Return the values of a template's fields for a source and its number in the batch."""
    names = {"stem": stem_of(source), "name": _name_of(source), "suffix": Path(_parts(source)[0]).suffix}
    return {**names, "parent": folder_of(source).name, "n": number}


def folder_of(source: str) -> Path:
    """Return that of a file; for an address, one named after its host, and its path there."""
    if url := url_of(source):
        place = url.partition("//")[2].partition("?")[0].rpartition("/")[0]
        return Path.cwd().joinpath(*[part for part in place.split("/") if part not in ("", ".", "..")])
    return Path(os.path.normpath(Path(source).absolute())).parent


def own_folders(sources: Sequence[str]) -> dict[str, str]:
    """Return the folder of each source, from the one on that holds them all."""
    folders = {source: folder_of(source) for source in sources}
    try:
        common = os.path.commonpath(folders.values())
    except ValueError:  # they are on several drives
        return {}
    return {source: os.path.relpath(folder, common) for source, folder in folders.items()}


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


def fill_template(output: str, source: str, number: int, suffix: str) -> Path:
    """Return the output of one source: a template with its fields filled in."""
    try:
        for _, name, form, conversion in Formatter().parse(output):
            if name is not None and (name not in _FIELDS or conversion or not _FORM.fullmatch(form or "")):
                raise ValueError
        return Path(output.format(**_fields_of(source, number)))
    except (ValueError, LookupError) as error:
        raise UsageError(
            f"{output}: braces must hold {', '.join(_FIELDS[:-1])} or {_FIELDS[-1]}",
            hint=f"-o '{{parent}}_{{stem}}{suffix}'",
        ) from error


def find_clip_faults(targets: Mapping[str, Files]) -> Iterator[tuple[str, UsageError]]:
    """Yield sources whose clips have the names of those of another source, or of an input."""
    from vidsum.pipelines.clips import video_stem

    owners: dict[tuple[str, str], str] = {}
    for source, files in targets.items():
        assert files.clip_folder is not None
        place = (os.path.realpath(files.clip_folder), files.clip_stem)
        if (owner := owners.setdefault(place, source)) != source:
            fault = f"{owner} and {source} would have the same clips in {files.clip_folder}"
            yield source, UsageError(fault, "-o '{parent}_{stem}_moments.json', or --clips without a folder")
    for source in targets:
        folder, name = os.path.split(os.path.realpath(source))
        place = (folder, video_stem(name.removesuffix(".mp4")) or "")
        if name.endswith(".mp4") and place in owners:
            fault = f"{source}: has the name of a clip to be written of {owners[place]}"
            yield owners[place], UsageError(fault, "--clips-dir FOLDER")
