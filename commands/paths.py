"""One rule for every path that a command writes, whichever option names it.

A path is refused where the command reads it, or writes it for something else too. Whether a file that exists
may be replaced is for whoever writes it to say (`records`, `tally`, `log`): only they know their own files.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from vidsum.errors import UsageError
from vidsum.outputs import is_special

_Key = str | tuple[int, int]
_read: dict[_Key, str] = {}
"""What the command reads, with the option that names it; empty for an input."""
_written: dict[_Key, str] = {}
"""What it writes, with the input or option that it is for."""


def begin(named: Iterable[tuple[str, object]]) -> None:
    """Forget the command before this one in the process, and note which files this one reads.

    Args:
        named: each value on the command line that is not the name of an output, with its option; arguments
            have an empty one. Those that lead to a file are files to read.
    """
    _read.clear()
    _written.clear()
    for option, value in named:
        for each in value if isinstance(value, list | tuple) else (value,):
            if isinstance(each, str | Path) and _is_file(each):
                will_read(each, option)


def will_read(path: str | Path, option: str = "") -> None:
    """Note that a file is read. Raises UsageError: it is to be written too."""
    for key in _keys(path):
        _read.setdefault(key, option)
        if key in _written:
            raise UsageError(f"{path}: is read, and would be written for {_written[key]}", hint=_HINT)


def will_write(path: Path, owner: str) -> str | None:
    """Note that a path is written for an input or option; return what it is written for already, if so.

    Devices and pipes, which are written into, may be named more than once.

    Raises UsageError: it is read.
    """
    if is_special(path):
        return None
    keys = _keys(path)
    for key in keys:
        if key in _read:
            what = f"the file of {_read[key]}" if _read[key] else "the input"
            raise UsageError(f"{path}: would be written over {what}", hint=_HINT)
    before = next((_written[key] for key in keys if key in _written), None)
    for key in keys:
        _written.setdefault(key, owner)
    return before


_HINT = "-o FILE, or --output-dir FOLDER"


def claim(path: Path, option: str) -> None:
    """The same for an option that names a file of its own.

    Raises UsageError: it is read, or written for something else.
    """
    if owner := will_write(path, option):
        raise UsageError(f"{path}: would be written for {owner} and for {option}", hint=f"{option} FILE")


def _keys(path: str | Path) -> list[_Key]:
    """By name, and as the file that it is: two names may lead to one file."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return [os.path.realpath(path)]
    return [os.path.realpath(path), (status.st_dev, status.st_ino)]


def _is_file(path: str | Path) -> bool:
    try:
        return Path(path).is_file()
    except (OSError, ValueError):  # too long for a name, or no name
        return False
