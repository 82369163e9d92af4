"""What all results share: equality by content, JSON, tables, HTML for notebooks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, fields
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from vidsum.errors import UsageError
from vidsum.packages import pip_install
from vidsum.results.documents import sealed, write_document
from vidsum.times import format_time
from vidsum.types import VideoInfo

if TYPE_CHECKING:
    from pandas import DataFrame

_ROWS = 20
"""Rows of a table in a notebook; the others are counted."""


class ByContent:
    """Dataclasses that are equal if their fields are, arrays included."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        names = (each.name for each in fields(self))  # type: ignore[arg-type]
        return all(_same(getattr(self, name), getattr(other, name)) for name in names)

    def __hash__(self) -> int:
        return hash((type(self), str(self)))


def _same(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)  # type: ignore[arg-type]
    return one == other


class Result(ByContent):
    """Features, shots, a summary, moments, highlights or a transcript of one video."""

    kind: ClassVar[str]
    video: VideoInfo | None
    provenance: Mapping[str, Any]
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready data, curves included: what `save` writes."""
        raise NotImplementedError

    def document(self, last: Mapping[str, Any] = {}, **facts: Any) -> dict[str, Any]:
        """Its facts as a document, with those that all results have; `last` come after these."""
        about = {"provenance": dict(self.provenance), "video": video_data(self.video)}
        warnings = {"warnings": list(self.warnings)}
        return sealed({"schema": f"vidsum.{self.kind}/1", **about, **facts, **warnings, **last})

    def rows(self) -> list[dict[str, Any]]:
        """What it consists of, one row each."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write as JSON, curves included: see docs/formats.md. `vidsum.load` reads it.

        Raises:
            UsageError: the suffix is not .json.
            OutputError: the file cannot be written.
        """
        if Path(path).suffix.lower() != ".json":
            hint = "vidsum.write_video writes videos, vidsum.write_features features"
            raise UsageError(f"{os.fspath(path)}: must end in .json", hint=hint)
        write_json(self, path)

    def to_pandas(self) -> DataFrame:
        """As a table: of shots, moments, segments of speech, or features by time.

        Raises UsageError where pandas is not installed.
        """
        return pandas().DataFrame(self.rows())

    def _repr_html_(self) -> str:
        """A heading and a table, for notebooks."""
        heading = f"<p>{escape(repr(self))}</p>"
        if not (rows := self.rows()):
            return heading
        head = "".join(f"<th>{escape(name)}</th>" for name in rows[0])
        body = "".join(f"<tr>{''.join(map(_cell, row.items()))}</tr>" for row in rows[:_ROWS])
        more = f"<p>… {len(rows) - _ROWS} more</p>" if len(rows) > _ROWS else ""
        return f"{heading}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def write_json(result: Result, path: str | os.PathLike[str]) -> None:
    """Write a result as JSON, whatever the file is called. Raises OutputError: it cannot be written."""
    write_document(result.to_dict(), path)


def pandas() -> Any:
    """The package. Raises UsageError where it is not installed."""
    try:
        return import_module("pandas")
    except ImportError as error:
        raise UsageError("pandas is not installed", hint=pip_install("pandas")) from error


def named(video: VideoInfo | None) -> str:
    """The name of a video's file and a colon, for `repr`."""
    return f"{Path(video.path).name}: " if video else ""


def video_data(video: VideoInfo | None) -> dict[str, Any] | None:
    """A video as JSON-ready data."""
    return None if video is None else asdict(video)


def origin_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that all results have, of a document."""
    video = VideoInfo(**document["video"]) if document["video"] else None
    return {"video": video, "provenance": document["provenance"], "warnings": tuple(document["warnings"])}


def _cell(item: tuple[str, Any]) -> str:
    name, value = item
    if isinstance(value, float):
        value = format_time(value) if name.endswith("_s") else f"{value:.3f}"
    return f"<td>{escape(str(value))}</td>"
