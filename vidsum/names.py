"""Errors for unknown names, with the nearest known ones, and for arguments of a wrong type."""

import re
from collections.abc import Iterable
from typing import Any, get_args

from vidsum.errors import UsageError

_MAX_GUESSES, _MAX_LETTERS = 3, 100


def require_type(value: object, *kinds: Any) -> None:
    """Raise UsageError unless an argument is of one of these classes, or unions of classes."""
    if not isinstance(value, kinds):
        names = " or ".join(choice.__name__ for kind in kinds for choice in get_args(kind) or (kind,))
        raise UsageError(f"{names} expected, not {type(value).__name__}")


def unknown_name_error(what: str, name: str, known: Iterable[str], more: str = "") -> UsageError:
    """Return the error for an unknown name; the hint lists the known names and ends with `more`."""
    names = list(known)
    hint = f"choose from {', '.join(names)}{more}"
    return UsageError(f"unknown {what} {name!r}{did_you_mean(name, names)}", hint, option=what)


def did_you_mean(name: str, known: Iterable[str], *, quoted: bool = True) -> str:
    """Return `; did you mean 'ridge'?`, the end of an error; empty if no known name is near."""
    near = [repr(match) if quoted else match for match in nearest(name, known)]
    return f"; did you mean {' or '.join(near)}?" if near else ""


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names within the fewest typing errors: at most two, and one in three letters.

    Without any, return those that begin with the name or have it as a word (`dir` of `--output-dir`). Case
    and leading dashes do not count.
    """
    typed, plain = _plain(name), {known_name: _plain(known_name) for known_name in known}
    if len(typed) > _MAX_LETTERS:
        return []
    errors = {known_name: _typing_errors(typed, meant) for known_name, meant in plain.items()}
    fewest = min(errors.values(), default=0)
    if fewest <= min(2, len(typed) // 3):
        return [known_name for known_name, count in errors.items() if count == fewest][:_MAX_GUESSES]
    matches = [
        known_name
        for known_name, meant in plain.items()
        if typed in (meant[: len(typed)], *re.split("[-_]", meant))
    ]
    return matches if len(typed) > 2 and len(matches) <= _MAX_GUESSES else []


def _plain(name: str) -> str:
    return name.lower().lstrip("-")


def _typing_errors(typed: str, meant: str) -> int:
    """Return letters left out, added or changed, and neighbours swapped, between two names."""
    before: list[int] = []
    row = list(range(len(meant) + 1))
    for i, letter in enumerate(typed, 1):
        before, above, row = row, before, [i]
        for j, other in enumerate(meant, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (letter != other)))
            if i > 1 and j > 1 and letter == meant[j - 2] and typed[i - 2] == other:
                row[j] = min(row[j], above[j - 2] + 1)
    return row[-1]
