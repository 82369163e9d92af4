"""Paths that a run of a command reads and writes: none is written twice, or over an input."""

import os
from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from vidsum.errors import Mention, UsageError, fill
from vidsum.io.outputs import is_special
from vidsum.io.urls import Url

_OTHER_NAME = fill("{}, or {}", Mention("output", "FILE"), Mention("output_dir", "FOLDER"))
_Key = str | tuple[int, int]


@dataclass(frozen=True)
class RunPaths:
    """Paths that a run of a command reads and writes."""

    read: dict[_Key, str] = field(default_factory=dict)
    """The option that names each file that is read; empty for an input."""
    written: dict[_Key, str] = field(default_factory=dict)  # the input or option that each output is for
    urls: dict[str, Url] = field(default_factory=dict)  # the URL of each input that is a copy in the cache
    folders: set[str] = field(default_factory=set)  # those named as inputs, in place of their videos


_run_paths: ContextVar[RunPaths] = ContextVar("run_paths")


def _current() -> RunPaths:
    return _run_paths.get(None) or begin(())


def url_of(path: str) -> Url | None:
    """Return the URL of an input that is a copy in the cache; None for other inputs."""
    return _current().urls.get(path)


def add_copy(path: str, url: Url) -> None:
    """Note that an input is the copy of a URL in the cache."""
    _current().urls[path] = url


def named_folders() -> set[str]:
    """Return the folders that were named as inputs; batches add theirs."""
    return _current().folders


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
    require_not_read(path)
    keys, paths = _keys(path), _current()
    before = next((paths.written[key] for key in keys if key in paths.written), None)
    for key in keys:
        paths.written.setdefault(key, owner)
    return before


def require_not_read(path: Path) -> None:
    """Raise a UsageError where a path to be written is read, under this or another name."""
    paths = _current()
    for key in () if is_special(path) else _keys(path):
        if key in paths.read:
            what = f"the file of {paths.read[key]}" if paths.read[key] else "the input"
            raise UsageError(f"{path}: would be written over {what}", hint=_OTHER_NAME)


def reserve_output(path: Path, option: str) -> None:
    """Note that an option names a file to write.

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
