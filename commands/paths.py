"""Which paths a command may write, whichever option names them, and which files that exist are its own.

A path is refused where the command reads it, or writes it for something else too. MP4, PNG and SVG files have
a label, JSON documents a digest, features their provenance. Subtitles, timelines, lists, pages and previews
have none of these: their hashes are noted in a hidden file in the folder of the outputs, and `--update`
replaces them only if they still are as vidsum wrote them.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vidsum.errors import InputError, OutputError, UsageError
from vidsum.io.outputs import check_name, is_special
from vidsum.io.text import read_bytes
from vidsum.io.urls import Url, is_url, local_path

_Key = str | tuple[int, int]


@dataclass(frozen=True)
class RunPaths:
    """Paths that a run of a command reads and writes."""

    read: dict[_Key, str] = field(default_factory=dict)
    """The option that names each file that is read; empty for an input."""
    written: dict[_Key, str] = field(default_factory=dict)
    """The input or option that each output is for."""
    urls: dict[str, Url] = field(default_factory=dict)
    """The URL of each input that is a copy in the cache."""


_run_paths: ContextVar[RunPaths] = ContextVar("run_paths")


def _current() -> RunPaths:
    return _run_paths.get(None) or begin(())


def url_of(path: str) -> Url | None:
    """Return the URL of an input that is a copy in the cache; None for other inputs."""
    return _current().urls.get(path)


def copy_of(name: str) -> str:
    """Return where the copy of an address is, or will be; other names as they are."""
    name = local_path(name)
    if not is_url(name):
        return name
    from vidsum.pipelines.download import copy_path, is_web

    url = Url(name)
    if not is_web(name):  # opening it names the fault
        return url
    path = str(copy_path(url))
    _current().urls[path] = url
    return path


def begin(named: Iterable[tuple[str, object]]) -> RunPaths:
    """Start the paths of a run, with the files that its options read.

    Args:
        named: each value on the command line that is not the name of an output, with its option; arguments
            have an empty one. Those that lead to a file are files to read.
    """
    _run_paths.set(paths := RunPaths())
    for option, value in named:
        for path in value if isinstance(value, list | tuple) else (value,):
            if isinstance(path, str | Path) and is_file(path):
                register_input(path, option)
    return paths


def register_input(path: str | Path, option: str = "") -> None:
    """Note that a file is read. Raises UsageError: it is to be written too."""
    paths = _current()
    for key in _keys(path):
        paths.read.setdefault(key, option)
        if key in paths.written:
            fault = f"{path}: is read, and would be written for {paths.written[key]}"
            raise UsageError(fault, hint=_OTHER_NAME)


def register_output(path: Path, owner: str) -> str | None:
    """Note that a path is written for an input or option; return what it is written for already, if so.

    Devices and pipes, which are written into, may be named more than once.

    Raises UsageError: it is read.
    """
    if is_special(path):
        return None
    keys, paths = _keys(path), _current()
    for key in keys:
        if key in paths.read:
            what = f"the file of {paths.read[key]}" if paths.read[key] else "the input"
            raise UsageError(f"{path}: would be written over {what}", hint=_OTHER_NAME)
    before = next((paths.written[key] for key in keys if key in paths.written), None)
    for key in keys:
        paths.written.setdefault(key, owner)
    return before


_OTHER_NAME = "-o FILE, or --output-dir FOLDER"


def reserve_output(path: Path, option: str) -> None:
    """The same for an option that names a file of its own.

    Raises UsageError: it is read, or written for something else.
    """
    if owner := register_output(path, option):
        raise UsageError(f"{path}: would be written for {owner} and for {option}", hint=f"{option} FILE")


def _keys(path: str | Path) -> list[_Key]:
    """By name, and as the file that it is: two names may lead to one file."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return [os.path.realpath(path)]
    return [os.path.realpath(path), (status.st_dev, status.st_ino)]


def is_file(path: str | Path) -> bool:
    try:
        return Path(path).is_file()
    except (OSError, ValueError):  # too long for a name, or no name
        return False


def mark_of(record: Path) -> Path:
    """Return the file that says, while outputs are written, what they are made from."""
    return record.with_name(f".{record.name}.unfinished")


def read_mark(record: Path) -> tuple[str, str] | None:
    """Return the digest that a mark holds, and the name of the source; None if there is no mark."""
    try:
        text = mark_of(record).read_text(encoding="utf-8", errors="surrogateescape")
    except (OSError, ValueError):
        return None
    digest, _, source = text.partition("\n")
    return digest, source


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
    """Return whether vidsum wrote a file, and nobody edited it since; see `note`."""
    from vidsum.io.provenance import hash_file

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


HINT = "--overwrite, or -o FILE"
_LABELLED = (".mp4", ".png", ".svg")


def require_own(paths: Iterable[Path], record: Path | None = None) -> None:
    """See to it that files may be replaced: vidsum wrote those that exist, and nobody edited them since.

    Raises OutputError: it did not write one, or somebody did.
    """
    from vidsum.pipelines.export import read_result_record

    for path in paths:
        check_name(path)
        if not path.is_file():  # in the folder of key frames, only these are replaced
            continue
        if path == record:
            try:
                read_result_record(path)
            except InputError as error:
                raise OutputError(f"{path}: already exists, and {error.message}", hint=HINT) from error
        elif not (has_label(path) if path.suffix in _LABELLED else is_as_written(path, path.parent)):
            fault = f"{path}: already exists, and was not written by vidsum, or edited since"
            raise OutputError(fault, hint=HINT)


def require_made_from(paths: Iterable[Path], provenance: Mapping[str, Any], form: str = "") -> None:
    """See to it that the MP4, PNG and SVG files among some say that they were made from `provenance`.

    Raises OutputError: one that exists was not, or a name is too long for a file.
    """
    from vidsum.pipelines.export import read_encoding_tag

    for path in paths:
        check_name(path)
        if path.suffix not in _LABELLED or not path.exists():
            continue
        found = read_encoding_tag(path, provenance)
        if found is None:
            raise OutputError(f"{path}: already exists, and differs from what would be written", hint=HINT)
        if path.suffix == ".mp4" and found != form:
            raise OutputError(f"{path}: already exists, made {_other_form(found, form)}", hint=HINT)


def _other_form(found: str, wanted: str) -> str:
    """How a file of one form was made, in options, where another form is wanted."""
    had, asked = _options_of(found), _options_of(wanted)
    more = [option for option in had if option not in asked]
    fewer = [option for option in asked if option not in had]
    return f"with {' and '.join(more)}" if more else f"without {' and '.join(fewer)}"


_CHANGES = ("vertical", "burn", "loudness")
_LENGTHS = {"pad": "--pad", "least": "--min-clip"}


def _options_of(form: str) -> list[str]:
    """Return the options that a form stands for."""
    encoding = form.removesuffix("chapters").removesuffix("-")
    options = [] if encoding == form else ["--chapters"]
    codec, _, rest = encoding.partition("-")
    if codec in _LENGTHS:
        length, _, more = rest.partition("-")
        options += [f"{_LENGTHS[codec]} {length}", *_options_of(more)]
    elif codec in _CHANGES:
        options += [f"--{word}" for word in encoding.split("-") if word in _CHANGES]
    elif codec:
        options.append("--copy" if codec == "copy" else f"--codec {codec}" + (f" ({rest})" if rest else ""))
    return options


def has_label(path: Path) -> bool:
    """Return whether an MP4, Matroska, PNG or SVG file says that vidsum wrote it."""
    from vidsum.io.provenance import is_label
    from vidsum.pipelines.export import read_label

    return is_label(read_label(path) or "")
