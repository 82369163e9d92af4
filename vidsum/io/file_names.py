"""Names of files as people type them, and as file systems have them."""

import os
import re
import shlex
import unicodedata
from contextlib import suppress
from pathlib import Path

from vidsum.errors import InputError, find_nearest, quote

_OF_WINDOWS = re.compile(r"([A-Za-z]):[\\/]+")


def existing_path(path: str) -> str:
    """Return a path, or where nothing is there the path whose names are equal after NFKC.

    Some letters and spaces have several forms, of which a keyboard gives one: macOS splits accents off in
    names, and puts a narrow no-break space into names of recordings. Raises InputError: several names are
    equal.
    """
    if not path or os.path.lexists(path):
        return path
    folder, name = os.path.split(path)
    if folder == path:
        return path
    place = existing_path(folder)
    try:
        names = os.listdir(place or ".")  # noqa: PTH208  # names alone
    except (OSError, ValueError):  # no folder, or a name that no file can have
        return path
    wanted = unicodedata.normalize("NFKC", name)
    matches = sorted(other for other in names if unicodedata.normalize("NFKC", other) == wanted)
    if len(matches) > 1:
        listed = ", ".join(quote(os.path.join(place, match)) for match in matches)  # noqa: PTH118
        raise InputError(
            "several names differ from it in the form of letters", f"one of {listed}", subject=path
        )
    return os.path.join(place, matches[0]) if matches else path  # noqa: PTH118


def unreadable_file(path: str | os.PathLike[str]) -> InputError:
    """Return the error for a file or folder that this user may not read."""
    hint = f"stat {shlex.quote(os.fspath(path))} shows who may read it"
    return InputError("permission denied", hint, subject=path)


def missing_file(path: str | os.PathLike[str], what: str = "no such file") -> InputError:
    """Return the error for a path that leads nowhere; its hint is a name like it, or lists the folder.

    A path of Windows is given as the Windows Subsystem for Linux has it.
    """
    source = Path(path)
    if (match := _OF_WINDOWS.match(str(source))) and os.name != "nt":
        rest = str(source)[match.end() :].replace("\\", "/")
        hint = f"this is a path of Windows; in WSL, it is /mnt/{match[1].lower()}/{rest}"
        return InputError(what, hint, subject=source)
    with suppress(OSError, ValueError):
        for name in find_nearest(source.name, os.listdir(source.parent)):  # noqa: PTH208  # names alone
            return InputError(what, shlex.quote(str(source.with_name(name))), subject=source)
    folder = next((place for place in source.parents if place.is_dir()), Path())
    return InputError(what, f"a file that is there: ls {shlex.quote(str(folder))}", subject=source)
