"""The JSON objects of a data set's files, whose faults say where they are."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vidsum.errors import InputError
from vidsum.features.arrays import existing
from vidsum.types import Interval


def read_text(path: Path) -> str:
    """The text of a file.

    Raises:
        InputError: it cannot be read, or is no text.
    """
    try:
        return existing(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not a text file") from error


def parse_lines(path: Path, text: str) -> Iterator["Entry"]:
    """The objects of JSON lines; those that are blank are passed over.

    Raises:
        InputError: a line is no JSON object.
    """
    for number, line in numbered(text):
        where = f"{path}: line {number}"
        try:
            values = json.loads(line)
        except ValueError as error:
            raise InputError(f"{where}: cannot be read as JSON ({error})") from error
        yield entry_of(where, values)


def numbered(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers. JSON may hold other signs that end a line."""
    return ((number, line.strip()) for number, line in enumerate(text.split("\n"), 1) if line.strip())


def entry_of(where: str, values: Any) -> "Entry":
    """A value that must be an object.

    Raises:
        InputError: it is something else.
    """
    if not isinstance(values, Mapping):
        raise InputError(f"{where}: is no JSON object")
    return Entry(where, values)


@dataclass(frozen=True)
class Entry:
    """One object of a file. All that it gives is checked: what will not do is an InputError."""

    where: str
    """File, and line or name in it."""
    values: Mapping[str, Any]

    def fault(self, reason: str) -> InputError:
        """The error that says what is wrong with it."""
        return InputError(f"{self.where}: {reason}")

    def text(self, key: str) -> str:
        """A value that must be a text."""
        value = self.values.get(key)
        if not isinstance(value, str):
            raise self.fault(f"has no text {key}")
        return value

    def list(self, key: str) -> list[Any]:
        """A value that must be a list."""
        value = self.values.get(key)
        if not isinstance(value, list):
            raise self.fault(f"has no list {key}")
        return value

    def entry(self, key: str) -> "Entry":
        """A value that must be an object."""
        value = self.values.get(key)
        if not isinstance(value, Mapping):
            raise self.fault(f"has no object {key}")
        return Entry(self.where, value)

    def entries(self, key: str) -> Iterator["Entry"]:
        """A value that must be a list of objects."""
        return (entry_of(f"{self.where}: {key}", value) for value in self.list(key))

    def positive(self, key: str) -> float:
        """A value that must be a positive number."""
        value = self.values.get(key)
        if not isinstance(value, int | float) or not 0 < value < math.inf:
            raise self.fault(f"has no positive number {key}")
        return float(value)

    def window(self, value: Any) -> Interval:
        """A start and an end, which must be finite numbers."""
        try:
            start, end = map(float, value)
        except (TypeError, ValueError):
            start = end = math.nan
        if not (math.isfinite(start) and math.isfinite(end)):
            raise self.fault(f"has a window that is no start and end: {value!r}")
        return start, end

    def numbers(self, values: Any, called: str) -> tuple[float, ...]:
        """What must be a list of finite numbers."""
        if not isinstance(values, list):
            raise self.fault(f"has {called} that are no list: {values!r}")
        for value in values:
            if not isinstance(value, int | float) or not math.isfinite(value):
                raise self.fault(f"has {called} that are no finite numbers: {value!r}")
        return tuple(map(float, values))
