"""Which files without a label vidsum wrote: their hashes, in a hidden file in the folder of the outputs.

MP4, PNG and SVG files have a label, JSON documents a digest, features their provenance. Subtitles, timelines,
lists, pages and previews have none of these: `--update` replaces them only if they still are as vidsum wrote
them.
"""

import hashlib
from contextlib import suppress
from pathlib import Path

from vidsum.errors import InputError
from vidsum.text_files import read_bytes

_NAME = ".vidsum.sha256"
_HEAD = b"# SHA-256 of files that vidsum wrote here; --update may replace these\n"


def note(written: bytes, folder: Path) -> None:
    """Remember what vidsum writes, or wrote; nothing is remembered in a folder that cannot be written to."""
    log = folder / _NAME
    if (known := _content(log)) is None:
        return
    line = _line(hashlib.sha256(written).hexdigest())
    if line not in known:
        with suppress(OSError), log.open("ab") as file:
            file.write((b"" if known else _HEAD) + line)


def is_as_written(path: Path, folder: Path) -> bool:
    """Whether vidsum wrote a file, and nobody edited it since; see `note`."""
    from vidsum.provenance import hash_file

    known = _content(folder / _NAME) or b""
    return path.is_file() and _line(hash_file(path)) in known


def _content(log: Path) -> bytes | None:
    """What is remembered; None if the file is another's."""
    if log.is_symlink():
        return None
    try:
        content = read_bytes(log) if log.exists() else b""
    except InputError:
        return None
    return content if not content or content.startswith(_HEAD) else None


def _line(sha256: str) -> bytes:
    return f"{sha256}\n".encode()
