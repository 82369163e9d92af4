"""Which files without a label vidsum wrote: their hashes, in a hidden file in the folder of the outputs.

MP4, PNG and SVG files have a label, JSON documents a digest, features their provenance. Subtitles, timelines,
lists, pages and previews have none of these: `--update` replaces them only if they still are as vidsum wrote
them.
"""

from contextlib import suppress
from pathlib import Path

from vidsum.errors import InputError
from vidsum.outputs import is_special
from vidsum.text_files import read_bytes

_NAME = ".vidsum.sha256"
_HEAD = b"# SHA-256 of files that vidsum wrote here; --update may replace these\n"


def note(path: Path, folder: Path) -> None:
    """Remember that vidsum wrote a file as it is now; nothing is remembered where that cannot be written."""
    log = folder / _NAME
    if is_special(path) or (content := _content(log)) is None:
        return
    line = _line(path)
    if line not in content:
        with suppress(OSError), log.open("ab") as file:
            file.write((b"" if content else _HEAD) + line)


def is_as_written(path: Path, folder: Path) -> bool:
    """Whether vidsum wrote a file, and nobody edited it since; see `note`."""
    content = _content(folder / _NAME) or b""
    return path.is_file() and _line(path) in content


def _content(log: Path) -> bytes | None:
    """What is remembered; None if the file is another's."""
    if log.is_symlink():
        return None
    try:
        content = read_bytes(log) if log.exists() else b""
    except InputError:
        return None
    return content if not content or content.startswith(_HEAD) else None


def _line(path: Path) -> bytes:
    from vidsum.provenance import hash_file

    return f"{hash_file(path)}\n".encode()
