"""Bring an archive of an earlier version to today's schema, by what it holds: no video is read."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from vidsum.archive.checked_records import read_clips, read_edges
from vidsum.archive.rows import list_passages, list_shots, read_rows
from vidsum.archive.schema import OLDEST, PASSAGES, VERSION
from vidsum.archive.settings import ArchiveEvidence
from vidsum.archive.space_versions import embed_class_names, read_axes
from vidsum.archive.store import Database, SQLite, connect, faults, require_tables
from vidsum.errors import InputError
from vidsum.evidence.match_probability import embed_background, usual_of
from vidsum.evidence.records import pack_pieces, unpack_clips
from vidsum.evidence.written import Written
from vidsum.grounding.spaces import STEP_S, describe_space
from vidsum.types import FloatArray

_OLD: Mapping[ArchiveEvidence, tuple[str, str]] = {
    "speech": ("spoken", "sentences"),
    "text": ("written", "screen_lines"),
    "sound": ("sounds", ""),
    "described": ("described", "descriptions"),
}
"""The columns of `videos`, and the tables of texts, that held each kind in version 10."""


def _iter_statements() -> Iterator[str]:
    """Yield statements of SQLite from version 10 to 11."""
    for column, default in (("usual_mean", 0), ("usual_deviation", 1), ("usual_best", 0)):
        yield f"ALTER TABLE videos ADD COLUMN {column} REAL NOT NULL DEFAULT {default}"
    for kind, (column, table) in _OLD.items():
        made = "described_by, described_with" if kind == "described" else "NULL, NULL"
        columns = "video, kind, records, made_from, made_with"
        of_videos = f"SELECT id, '{kind}', {column}, {made} FROM videos WHERE {column} IS NOT NULL"
        yield f"INSERT INTO evidence ({columns}) {of_videos}"
        if table:
            columns = "video, start_s, end_s, text, certain"
            yield f"INSERT INTO {PASSAGES} (kind, {columns}) SELECT '{kind}', {columns} FROM {table}"
            yield f"DROP TABLE {table}"
    for column in (*(column for column, _ in _OLD.values()), "described_by", "described_with"):
        yield f"ALTER TABLE videos DROP COLUMN {column}"


def open_current(path: Path | str, name: str, *, create: bool) -> tuple[Database, tuple[str, ...]]:
    """Open an archive, bring it to today's schema, and return a note where it was of an earlier one.

    Raises InputError: it would have to be written, and cannot be; see also `vidsum.archive.store.connect`.
    """
    connection, notes = connect(path, create=create), tuple[str, ...]()
    try:
        with faults(path):
            if (version := connection.version()) != VERSION:
                places = (path, path.parent) if isinstance(path, Path) else ()
                if not all(os.access(place, os.W_OK) for place in places):
                    fault = f"has schema {version}, and must be written to become {VERSION}"
                    raise InputError(fault, hint="copy it into a folder that can be written", subject=name)
                migrate(connection)
                notes = (f"{name}: was of schema {version}, and is now of {VERSION}",)
    except BaseException:
        connection.close()
        raise
    return connection, notes


def migrate(connection: Database) -> None:
    """Bring an archive to `VERSION`, in a transaction; another process may have been first.

    Raises DamagedArchiveError. WeightsError: the text encoder of its space is unavailable.
    """
    with connection.transaction():
        if (version := connection.version()) == VERSION:
            return
        connection.execute("ALTER TABLE shots ADD COLUMN actions BLOB")  # of these videos, none are known
        if version == OLDEST:
            _bring_to_11(connection)
        connection.set_version(VERSION)
        if isinstance(connection, SQLite):
            require_tables(connection, connection.where)


def _bring_to_11(connection: Database) -> None:
    connection.create_evidence()
    for statement in _iter_statements():
        connection.execute(statement)
    columns = ("videos.id", "videos.duration_s", "videos.edges", "spaces.name", "spaces.axes")
    source = "FROM videos JOIN spaces ON spaces.id = videos.space ORDER BY videos.id"
    for number, duration_s, edges, space, axes in read_rows(connection, columns, source):
        _compare_with_usual(connection, number, duration_s, edges, space, read_axes(number, space, axes))
    _encode_screens(connection)


def _compare_with_usual(
    connection: Database, number: int, duration_s: float, edges: bytes, space: str, axes: FloatArray
) -> None:
    """Store what is usual in a video, and the pieces of its shots, except shots of one clip."""
    names = embed_class_names(space)
    shots = list_shots(connection, number, duration_s, with_clips=True)
    background, dim = embed_background(space), describe_space(space).dim
    parts = [read_clips([shot], dim, names)[0] for shot in shots]
    shots_s = read_edges(number, edges, duration_s)
    clips = unpack_clips(np.concatenate(parts), None, names, duration_s, STEP_S, shots_s)
    usual = usual_of(clips, background)
    starts = np.cumsum([0, *map(len, parts[:-1])])
    values = (*usual, pack_pieces(clips, starts, axes).tobytes(), number)
    changed = "usual_mean = ?, usual_deviation = ?, usual_best = ?, scan = ?"
    connection.execute(f"UPDATE videos SET {changed} WHERE id = ?", values)


def _encode_screens(connection: Database) -> None:
    """Store the meaning of what is on a screen together, as of its lines."""
    source = "FROM evidence WHERE kind = 'text' AND length(records) > 0"
    for (video,) in read_rows(connection, ["evidence.video"], source):
        lines = list_passages(connection, "text", video)
        text = Written.of_lines(lines)
        values = (text.pack().records, video)
        connection.execute("UPDATE evidence SET records = ? WHERE video = ? AND kind = 'text'", values)
