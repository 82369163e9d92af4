"""The JSON objects of a data set's files, whose faults say where they are."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vidsum.errors import InputError
from vidsum.text_files import json_lines, shown
from vidsum.types import Interval

_LARGEST = float(np.finfo(np.float32).max)
"""Of a number: it fits into float32, and in float64 the sum and product of two are still finite."""


def parse_lines(path: Path, text: str) -> Iterator["Entry"]:
    """The objects of JSON lines; blank lines are skipped.

    Raises:
        InputError: a line is not a JSON object.
    """
    for where, values in json_lines(path, text):
        yield entry_of(where, values)


def number_of(value: Any) -> float | None:
    """A JSON value as a finite number; None if it is something else, or too large to compute with."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST:
        return None
    return float(value)


def entry_of(where: str, values: Any) -> "Entry":
    """A value that must be an object.

    Raises:
        InputError: it is something else.
    """
    if not isinstance(values, Mapping):
        raise InputError(f"{where}: is not a JSON object")
    return Entry(where, values)


@dataclass(frozen=True)
class Entry:
    """One object of a file, whose values are checked: a wrong one is an InputError."""

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

    def number_or_text(self, key: str) -> str:
        """A value that must be a whole number or a text, as text."""
        value = self.values.get(key)
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise self.fault(f"has no number or text {key}")
        return str(value)

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
        value = number_of(self.values.get(key))
        if value is None or value <= 0:
            raise self.fault(f"has no positive number {key}")
        return value

    def window(self, value: Any) -> Interval:
        """A start and an end, which must be finite numbers."""
        try:
            start, end = self.numbers(value, "a window")
        except (InputError, ValueError) as error:
            raise self.fault(f"has a window that is not a start and an end: {shown(value)}") from error
        return start, end

    def numbers(self, values: Any, called: str) -> tuple[float, ...]:
        """What must be a list of finite numbers."""
        if not isinstance(values, list):
            raise self.fault(f"has {called} that are not a list: {shown(values)}")
        numbers = []
        for value in values:
            number = number_of(value)
            if number is None:
                raise self.fault(f"has {called} that are not finite numbers: {shown(value)}")
            numbers.append(number)
        return tuple(numbers)
