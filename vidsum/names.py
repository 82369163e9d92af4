"""Names that are not known: which known one was meant, and the error that says so; wrong arguments."""

import re
from collections.abc import Iterable
from typing import Any, get_args

from vidsum.errors import UsageError

_MOST_GUESSES, _LONGEST = 3, 100


def require_type(value: object, *kinds: Any) -> None:
    """See that an argument is of one of these classes, or unions of some. Raises UsageError: it is not."""
    if not isinstance(value, kinds):
        names = " or ".join(one.__name__ for kind in kinds for one in get_args(kind) or (kind,))
        raise UsageError(f"{names} expected, not {type(value).__name__}")


def unknown_name_error(what: str, name: str, known: Iterable[str], more: str = "") -> UsageError:
    """Return the error for a name that is not among those known; `more` ends the list of these in the
    hint.
    """
    names = list(known)
    hint = f"choose from {', '.join(names)}{more}"
    return UsageError(f"unknown {what} {name!r}{did_you_mean(name, names)}", hint, option=what)


def did_you_mean(name: str, known: Iterable[str], *, quoted: bool = True) -> str:
    """`; did you mean 'ridge'?`, to end an error with; empty if no known name is near."""
    near = [repr(each) if quoted else each for each in nearest(name, known)]
    return f"; did you mean {' or '.join(near)}?" if near else ""


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names with the fewest typing errors between, at most one in three letters and two in
    all.

    Without any, those that begin with the name or have it as a word (`dir` of `--output-dir`). Case and
    leading dashes do not count.
    """
    typed, plain = _plain(name), {each: _plain(each) for each in known}
    if len(typed) > _LONGEST:
        return []
    errors = {each: _typing_errors(typed, meant) for each, meant in plain.items()}
    fewest = min(errors.values(), default=0)
    if fewest <= min(2, len(typed) // 3):
        return [each for each in errors if errors[each] == fewest][:_MOST_GUESSES]
    begun = [
        each for each, meant in plain.items() if typed in (meant[: len(typed)], *re.split("[-_]", meant))
    ]
    return begun if len(typed) > 2 and len(begun) <= _MOST_GUESSES else []


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
