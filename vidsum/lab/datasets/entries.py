"""The JSON objects of a data set's files, whose faults say where they are."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from vidsum.errors import InputError, quote
from vidsum.io.text import json_lines
from vidsum.types import Interval

_LARGEST = float(np.finfo(np.float32).max)
"""Maximum of a number: it fits into float32, and in float64 the sum and product of two are still finite."""

T = TypeVar("T")


def parse_lines(path: Path, text: str) -> Iterator["DataEntry"]:
    """Yield the objects of JSON lines, blank ones skipped. Raises InputError: a line is no JSON object."""
    return (entry_of(where, values) for where, values in json_lines(path, text))


def table_of(path: Path, text: str) -> tuple[Sequence[str], list["DataEntry"]]:
    """Return the columns and rows of CSV. Raises InputError: a row is longer or shorter, or it is no CSV."""
    reader = csv.DictReader(io.StringIO(text), strict=True)
    try:
        columns = reader.fieldnames or []
        rows = [DataEntry(f"{path}: line {reader.line_num}", row) for row in reader]
    except csv.Error as error:
        raise InputError(f"line {reader.line_num}: cannot be read as CSV ({error})", subject=path) from error
    if odd := next((row for row in rows if None in row.values or None in row.values.values()), None):
        raise odd.fault(f"does not have {len(columns)} fields, as the header has")
    return columns, rows


def number_of(value: Any) -> float | None:
    """Return a JSON value as a finite number; None if it is something else, or too large to compute with."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST:
        return None
    return float(value)


def entry_of(where: str, values: Any) -> "DataEntry":
    """Return a value that must be an object; else it is an InputError."""
    if not isinstance(values, Mapping):
        raise InputError("is not a JSON object", subject=where)
    return DataEntry(where, values)


@dataclass(frozen=True)
class DataEntry:
    """One object of a file, whose values are checked: a wrong one is an InputError."""

    where: str  # file, and line or name in it
    values: Mapping[str, Any]

    def fault(self, reason: str) -> InputError:
        return InputError(reason, subject=self.where)

    def text(self, key: str) -> str:
        return self._require(key, str, "text")

    def list(self, key: str) -> list[Any]:
        return self._require(key, list, "list")

    def entry(self, key: str) -> "DataEntry":
        values: Mapping[str, Any] = self._require(key, dict, "object")
        return DataEntry(self.where, values)

    def _require(self, key: str, kind: type[T], name: str) -> T:
        value = self.values.get(key)
        if not isinstance(value, kind):
            raise self.fault(f"has no {name} {key}")
        return value

    def entries(self, key: str) -> Iterator["DataEntry"]:
        return (entry_of(f"{self.where}: {key}", value) for value in self.list(key))

    def number_or_text(self, key: str) -> str:
        """Return the whole number or text of a key, as text."""
        value = self.values.get(key)
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise self.fault(f"has no number or text {key}")
        return str(value)

    def positive(self, key: str) -> float:
        """Return the positive number of a key."""
        value = number_of(self.values.get(key))
        if value is None or value <= 0:
            raise self.fault(f"has no positive number {key}")
        return value

    def numbers(self, values: Any, called: str) -> tuple[float, ...]:
        """Return a value that must be a list of finite numbers; `called` names them in messages."""
        if not isinstance(values, list):
            raise self.fault(f"has {called} that are not a list: {quote(values)}")
        numbers = [number_of(value) for value in values]
        if None in numbers:
            wrong = values[numbers.index(None)]
            raise self.fault(f"has {called} that are not finite numbers: {quote(wrong)}")
        return tuple(number for number in numbers if number is not None)

    def window(self, value: Any) -> Interval:
        """Return a start and an end, which must be finite numbers."""
        start, end = self.row(value, 2, "a window that is not a start and an end")
        return start, end

    def row(self, values: Any, length: int, wrong: str) -> tuple[float, ...]:
        """Return a list of finite numbers of a given length; messages call another value `wrong`."""
        numbers = [number_of(value) for value in values] if isinstance(values, list) else []
        if len(numbers) != length or None in numbers:
            raise self.fault(f"has {wrong}: {quote(values)}")
        return tuple(number for number in numbers if number is not None)
