"""Folders whose videos a client may name, in the forms in which people and programs write paths."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from vidsum.errors import InputError, printable
from vidsum.pipelines.sources import expand

_MAX_SHOWN = 300  # letters of a name in an error
_DRIVE = re.compile(r"(?:[A-Za-z]:)?[\\/]")


class ToolUseError(InputError):
    """A call that cannot be answered; the hint names tools and parameters, which a model can change."""


class Folders:
    """Folders whose files may be read. Raises InputError: one is no folder."""

    def __init__(self, names: Sequence[str]) -> None:
        if missing := next((name for name in names if not Path(name).is_dir()), None):
            raise InputError("no such folder", subject=missing)
        self.named = [Path(os.path.abspath(name)) for name in names]  # noqa: PTH100  # keeps links
        self.roots = [Path(os.path.realpath(name)) for name in names]

    def contains(self, path: str | Path) -> bool:
        """Return whether a path leads into a folder, links followed."""
        return any(Path(os.path.realpath(path)).is_relative_to(root) for root in self.roots)

    def find(self, name: str) -> str:
        """Return where a path leads, links followed. Raises InputError: outside the folders.

        A path is absolute, or below a folder, with or without the folder's name; it may begin with `~` or
        `file://`. Where there is no such file, it is also read with %20 as a space, \\ as / and without
        quotation marks. Whatever it means must be in a folder.
        """
        inside = [path for form in _forms(name) for path in self._places(form) if self.contains(path)]
        if path := next((path for path in inside if path.exists()), None):
            return str(path)
        first = [path for path in self._places(next(_forms(name))) if self.contains(path)]
        if not first:
            hint = f"a path in {', '.join(map(str, self.named))}"
            raise ToolUseError(
                "is outside the folders of this server", hint=hint, subject=printable(name)[:_MAX_SHOWN]
            )
        return str(first[0])

    def videos(self, names: Sequence[str] = ()) -> list[str]:
        """Return the videos that are named, or in and below named folders: by default, in all folders."""
        places = [self.find(name) for name in names] or [*map(str, self.roots)]
        return [path for path in expand(places, recursive=True) if self.contains(path)]

    def _places(self, name: str) -> Iterator[Path]:
        """Yield where a name may lead: from each folder, and beside it where it begins with its name."""
        for folder in dict.fromkeys([*self.roots, *self.named]):
            yield resolve(folder, name)
            parts = _DRIVE.split(name) if _DRIVE.match(name) else name.split("/")
            if folder.name and folder.name in parts[:-1]:
                is_foreign = re.match("[A-Za-z]:", name)  # a path of Windows, whose drives are elsewhere here
                if is_foreign or parts[0] == folder.name:
                    yield resolve(folder, "/".join(parts[parts.index(folder.name) + 1 :]))


def _forms(name: str) -> Iterator[str]:
    """Yield what a name may mean, the most literal first."""
    if name.lower().startswith("file:"):
        try:
            yield unquote(urlsplit(name).path)
        except ValueError:  # no host's name
            yield name
        return
    if name.startswith("~"):
        yield os.path.expanduser(name)  # noqa: PTH111  # a user may be unknown
    yield name
    plain = name.strip().strip("\"'`")
    yield plain
    yield unquote(plain)
    yield plain.replace("\\", "/")


def resolve(folder: Path, name: str) -> Path:
    """Return where a name in a folder leads, links followed. Raises InputError: it holds a NUL."""
    try:
        return Path(os.path.realpath(folder / name))
    except ValueError as error:
        raise ToolUseError("is no path", subject=repr(printable(name)[:_MAX_SHOWN])) from error
