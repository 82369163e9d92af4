"""Names that outputs take from their sources."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from glob import escape
from pathlib import Path, PurePath
from typing import Any

from vidsum.commands.legacy import read_mark
from vidsum.commands.paths import url_of
from vidsum.errors import InputError, UsageError
from vidsum.io.outputs import shortened, stems_of
from vidsum.io.text import STDIN, read_json


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


def fields_of(source: str, number: int) -> dict[str, object]:
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
