"""The base of all results: their JSON document, equality by content, tables, and HTML for notebooks.

The same inputs give the same bytes. Each document ends with a digest of the rest, which shows changes.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from functools import cache, partial
from html import escape
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    NotRequired,
    Self,
    TypedDict,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from vidsum.errors import UsageError
from vidsum.io.atomic import as_utf8, write_text
from vidsum.io.packages import pip_install_command
from vidsum.io.paths import Reads, reads_of
from vidsum.io.provenance import seal
from vidsum.times import format_time
from vidsum.types import FloatArray, Interval, Seconds, Sha256, TimeArray, VideoInfo, rules

if TYPE_CHECKING:
    from pandas import DataFrame

Parsed = TypeVar("Parsed")

_CONTROL = re.compile(r"[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")  # that JSON allows, but terminals interpret

_DECIMALS = 6  # microseconds, and more than float32 scores resolve


class Sealed(TypedDict):
    """The keys that all documents have, besides `schema` and `provenance`."""

    warnings: tuple[str, ...]
    outputs: NotRequired[Mapping[str, Sha256]]
    """SHA-256 of the files that were written with this one, by their paths relative to its folder."""
    digest: Annotated[str, rules(pattern="^[0-9a-f]{32}$")]  # digest of the rest, to detect edits


class Span(TypedDict):
    """A part [start_s, end_s) of a video."""

    start_s: Seconds
    end_s: Seconds


def to_text(document: Mapping[str, Any], *, in_a_line: bool = False) -> str:
    """Return a document as the text of a file, or as one of the lines of a JSON lines file."""
    layout: dict[str, Any] = {"separators": (",", ":")} if in_a_line else {"indent": 1}
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, **layout)
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", as_utf8(text)) + "\n"


def write_document(document: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a document as UTF-8 JSON. Raises OutputError: the file cannot be written."""
    write_text(path, to_text(document))


def round_number(value: float) -> float:
    """Return a number as documents have it."""
    return round(float(value), _DECIMALS)


def to_data(value: Any) -> Any:
    """Return a value as documents have it: dataclasses as objects, arrays as lists, numbers rounded."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, float):
        return round_number(value)
    if is_dataclass(value):
        value = vars(value)
    if isinstance(value, Mapping):
        return {name: to_data(part) for name, part in value.items()}
    return [to_data(part) for part in value] if isinstance(value, list | tuple) else value


@cache
def _parser(kind: Any) -> Callable[[Any], Any]:
    """Return a function from the data of a document to a type; see `to_data`."""
    if is_dataclass(kind):
        return getattr(kind, "from_dict", partial(parse_fields, kind))  # type: ignore[arg-type]
    if kind in (FloatArray, TimeArray):
        return partial(np.asarray, dtype=np.float32 if kind == FloatArray else np.float64)
    if kind == Interval:
        return lambda data: (data["start_s"], data["end_s"]) if isinstance(data, Mapping) else tuple(data)
    if isinstance(kind, UnionType):  # with None
        inner = _parser(get_args(kind)[0])
        return lambda data: None if data is None else inner(data)
    if get_origin(kind) is tuple:
        parse = _parser(get_args(kind)[0])
        return lambda data: tuple(map(parse, data))
    return lambda data: data


@cache
def _field_parsers(kind: Any) -> dict[str, Callable[[Any], Any]]:
    hints = get_type_hints(kind)
    return {part.name: _parser(hints[part.name]) for part in fields(kind)}


def parse_fields(kind: Callable[..., Parsed], data: Mapping[str, Any]) -> Parsed:
    """Return a dataclass from data with its fields, and perhaps others."""
    parsers = _field_parsers(kind).items()
    return kind(**{name: parse(data[name]) for name, parse in parsers if name in data})


def intervals_data(intervals: Iterable[Interval]) -> list[Span]:
    """Return intervals [start_s, end_s) as JSON-ready data."""
    return [{"start_s": round_number(start_s), "end_s": round_number(end_s)} for start_s, end_s in intervals]


_ROWS = 20  # rows of a table in a notebook; the others are counted


class ContentEquality:
    """Dataclasses that are equal if their fields are, arrays included."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = (part.name for part in fields(self))  # type: ignore[arg-type]
        return all(_same(getattr(self, name), getattr(other, name)) for name in names)

    def __hash__(self) -> int:
        return hash((type(self), str(self)))


def _same(value: object, other: object) -> bool:
    if isinstance(value, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(value, other)  # type: ignore[arg-type]
    return value == other


@dataclass(frozen=True, eq=False, kw_only=True)
class Result(ContentEquality):
    """Features, shots, a summary, moments, highlights or a transcript of one video."""

    kind: ClassVar[str]
    parts: ClassVar[str]  # the field with the rows of its table
    video: VideoInfo | None = None  # none for features made elsewhere, and for sound without pictures
    provenance: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """Paths of the files that it was made from."""
        return (self.video.path,) if self.video else ()

    @property
    def messages(self) -> tuple[str, ...]:
        """Return its warnings, and those that follow from its other fields."""
        return self.warnings

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready data, curves included: what `vidsum.write_json` writes."""
        raise NotImplementedError

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Return the result of a valid document."""
        return parse_fields(cls, {"video_duration_s": document.get("duration_s"), **document})

    def document(self, facts: Mapping[str, object], last: Mapping[str, object] = {}) -> dict[str, Any]:
        """Return its facts as a document, with those that all results have; `last` come after these."""
        about = {"provenance": dict(self.provenance), "video": video_data(self.video)}
        data = to_data({**facts, "warnings": self.warnings, **last})
        return seal({"schema": f"vidsum.{self.kind}/1", **about, **data})

    def rows(self) -> list[dict[str, Any]]:
        """Return its parts as rows of a table, without lists of words."""
        rows = map(vars, getattr(self, self.parts))
        return [{name: fact for name, fact in row.items() if name != "words"} for row in rows]

    def to_pandas(self) -> DataFrame:
        """As a table of shots, moments, segments or features by time. Raises UsageError without pandas."""
        return load_pandas().DataFrame(self.rows())

    def _repr_html_(self) -> str:
        """Return a heading and a table, for notebooks."""
        heading = f"<p>{escape(repr(self))}</p>"
        if not (rows := self.rows()):
            return heading
        head = "".join(f"<th>{escape(name)}</th>" for name in rows[0])
        body = "".join(f"<tr>{''.join(map(_cell, row.items()))}</tr>" for row in rows[:_ROWS])
        more = f"<p>… {len(rows) - _ROWS} more</p>" if len(rows) > _ROWS else ""
        return f"{heading}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def reads_of_results(*results: Any) -> Reads:
    """Return the videos of results as files that are read: nothing is written over them."""
    return reads_of(path for result in results if isinstance(result, Result) for path in result.files)


def load_pandas() -> Any:
    """Return the package. Raises UsageError where it is not installed."""
    try:
        return import_module("pandas")
    except ImportError as error:
        raise UsageError("pandas is not installed", hint=pip_install_command("pandas")) from error


def video_prefix(video: VideoInfo | None) -> str:
    """Return the name of a video's file and a colon, for `repr`."""
    return f"{Path(video.path).name}: " if video else ""


def count_text(number: int, noun: str, plural: str = "") -> str:
    """Return a count with its noun: `1 query`, `2 queries`."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def video_data(video: VideoInfo | None) -> dict[str, Any] | None:
    """Return a video as JSON-ready data, its tracks where it has several of a kind."""
    if video is None:
        return None
    facts = asdict(video)
    return {name: fact for name, fact in facts.items() if fact is not None or not name.endswith("_track")}


def _cell(item: tuple[str, Any]) -> str:
    name, value = item
    if isinstance(value, float):
        value = format_time(value) if name.endswith("_s") else f"{value:.3f}"
    return f"<td>{escape(str(value))}</td>"
