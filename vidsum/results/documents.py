"""The JSON documents that vidsum writes: summaries, shots, moments, highlights, transcripts; see schemas/.

The same inputs give the same bytes: nothing in a document depends on when or where it was made. Each ends
with a digest of the rest, so that one which was changed since is not taken for what vidsum wrote.
"""

import json
import os
import re
from collections.abc import Mapping
from typing import Any

from vidsum.outputs import as_utf8, atomic_write
from vidsum.provenance import digest_of
from vidsum.types import FloatArray, Interval, TimeArray

_CONTROL = re.compile(r"[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""What JSON lets through, but a terminal may act upon: names of files may hold it."""

_DECIMALS = 6  # microseconds, and more than float32 scores resolve


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document with the digest of the rest of it, which `read_record` checks."""
    return {**document, "digest": digest_of(document)}


def to_text(document: Mapping[str, Any], *, in_a_line: bool = False) -> str:
    """A document as the text of a file, or as one of the lines of a JSON lines file."""
    layout: dict[str, Any] = {"separators": (",", ":")} if in_a_line else {"indent": 1}
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, **layout)
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", as_utf8(text)) + "\n"


def write_document(document: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a document as UTF-8 JSON.

    Raises:
        OutputError: the file cannot be written.
    """
    with atomic_write(path) as part:
        part.write_text(to_text(document), encoding="utf-8")


def number(value: float) -> float:
    """A number as documents have it."""
    return round(float(value), _DECIMALS)


def numbers(values: FloatArray | TimeArray) -> list[float]:
    """An array of numbers as documents have it."""
    return [number(value) for value in values.tolist()]


def optional(value: float | None) -> float | None:
    """The same of a number that may be unknown."""
    return None if value is None else number(value)


def interval_data(interval: Interval) -> dict[str, float]:
    """[start_s, end_s) as JSON-ready data."""
    return {"start_s": number(interval[0]), "end_s": number(interval[1])}
