"""Files that a run reads, by name and identity, and that no output is written over; the home of vidsum."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from vidsum.errors import AnyOf, Mention, UsageError
from vidsum.io.atomic import is_special

FileKey = str | tuple[int, int]
Reads = Mapping[FileKey, str]
"""The field of the option that names each file that is read; empty for an input."""

OTHER_NAME = AnyOf((Mention("output", "FILE"), Mention("output_dir", "FOLDER")))


def home() -> Path:
    """Return the folder of `weights/`, `features/` ...: `$VIDSUM_HOME`, or the user's cache folder."""
    if named := os.environ.get("VIDSUM_HOME"):
        return Path(named).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("vidsum", appauthor=False))


def reads_of(paths: Iterable[str | Path], option: str = "") -> dict[FileKey, str]:
    """Return inputs, or the files of an option, as files that are read; they may not be there yet."""
    return {key: option for path in paths for key in keys_of(path)}


def files_read(named: Iterable[tuple[str, object]]) -> dict[FileKey, str]:
    """Return the files among values, by option; a value may be a path, several, or no path at all."""
    reads: dict[FileKey, str] = {}
    for option, value in named:
        for path in value if isinstance(value, list | tuple) else (value,):
            if isinstance(path, str | Path) and is_file(path):
                for key in keys_of(path):
                    reads.setdefault(key, option)
    return reads


def require_not_read(path: Path, reads: Reads) -> None:
    """Raise a UsageError where a path to be written is read, under this or another name."""
    keys = () if is_special(path) else keys_of(path)
    option = next((reads[key] for key in keys if key in reads), None)
    if option is not None:
        what = ("the file of ", Mention(option)) if option else ("the input",)
        raise UsageError(("would be written over ", *what), hint=OTHER_NAME, subject=path)


def keys_of(path: str | Path) -> list[FileKey]:
    """Return the keys of a file, by name and as the file that it is: two names may lead to one file."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return [os.path.realpath(path)]
    return [os.path.realpath(path), (status.st_dev, status.st_ino)]


def is_file(path: str | Path) -> bool:
    """Return whether a path leads to a file."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):  # too long for a name, or no name
        return False
