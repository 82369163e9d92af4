"""Files of earlier versions, which recorded what they wrote in other ways.

Pictures and videos had a label with a digest of the provenance, the hashes of texts were in `.vidsum.sha256`
in their folder, and while files were written, a mark `.NAME.unfinished` had the digest of the provenance.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from vidsum.errors import InputError
from vidsum.io.text import read_bytes

_NOTES = ".vidsum.sha256"
_NOTES_HEAD = b"# SHA-256 of files that vidsum wrote here"
_MAX_NOTED_BYTES = 1 << 26
_KEY_FRAME = re.compile(r"\d{2,}_\d+\.\d\ds\.jpg")
_LABELLED = (".mp4", ".png", ".svg", ".mkv", ".mov", ".m4v")


def outputs_of(
    record: Path,
    requested: Sequence[Path],
    others: Iterable[Path],
    document: Mapping[str, Any] | None,
    folder: Mapping[str, Sequence[str]],
) -> dict[Path, str]:
    """Return the SHA-256 of those files that an earlier version wrote with a record, or before a kill."""
    from vidsum.io.provenance import digest_of, identify_file

    mark = read_mark(record)
    digests = [digest_of(document["provenance"])] if document else []
    digests += [mark[0]] if mark else []
    noted = {sha256 for hashes in folder.values() for sha256 in hashes}
    known = dict[Path, str]()
    for path in _candidates(requested, others):
        is_key_frame = path not in requested and _KEY_FRAME.fullmatch(path.name)
        is_labelled = bool(digests) and (read_label(path) or "").endswith(tuple(digests))
        is_text = mark is not None and path.suffix not in _LABELLED
        is_record = document is not None and path == record
        is_noted = path in requested and identify_file(path)["sha256"] in noted
        if is_record or is_noted or is_labelled or is_text or (is_key_frame and digests):
            known[path] = identify_file(path)["sha256"]
    return known


def _candidates(requested: Iterable[Path], others: Iterable[Path]) -> list[Path]:
    """Return the files that an earlier version may have written, with the key frames in a folder."""
    paths = list[Path]()
    for path in requested:
        jpegs = sorted(path.glob("*.jpg")) if path.is_dir() else []
        paths += [jpeg for jpeg in jpegs if _KEY_FRAME.fullmatch(jpeg.name)] if path.is_dir() else [path]
    return [path for path in dict.fromkeys([*paths, *others]) if path.is_file()]


def has_label(path: Path) -> bool:
    """Return whether vidsum wrote a picture or video, by its label."""
    from vidsum.io.provenance import is_label

    return is_label(read_label(path) or "")


def read_label(path: Path) -> str | None:
    """Return the label of a picture or video; None if it has none."""
    from vidsum.pipelines import replacing

    return replacing.read_label(path) if path.suffix in _LABELLED else None


def read_mark(record: Path) -> tuple[str, str] | None:
    """Return the digest in the mark of a run that was stopped, and the name of its source; else None."""
    try:
        text = _mark_of(record).read_text(encoding="utf-8", errors="surrogateescape")
    except (OSError, ValueError):
        return None
    digest, _, source = text.partition("\n")
    return digest, source


def remove_mark(record: Path) -> None:
    """Remove the mark of a run that was stopped."""
    with suppress(OSError):  # it was not there, or its name is too long
        _mark_of(record).unlink()


def _mark_of(record: Path) -> Path:
    return record.with_name(f".{record.name}.unfinished")


def convert_notes(folder: Path, add: Callable[[Path, Mapping[str, str]], None]) -> None:
    """Move the hashes in `.vidsum.sha256` of files that are still as they were to the folder's record."""
    from vidsum.io.provenance import hash_file

    notes = folder / _NOTES
    try:
        content = b"" if notes.is_symlink() or not notes.is_file() else read_bytes(notes)
    except InputError:
        return
    if not content.startswith(_NOTES_HEAD):
        return
    noted, converted = set(content.decode("ascii", "replace").split()), dict[str, str]()
    for path in (*folder.iterdir(), *folder.glob("*_previews/*")):
        if (
            path.is_file()
            and path.stat().st_size <= _MAX_NOTED_BYTES
            and (sha256 := hash_file(path)) in noted
        ):
            converted[path.relative_to(folder).as_posix()] = sha256
    add(folder, converted)
    with suppress(OSError):
        notes.unlink()
