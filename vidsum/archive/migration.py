"""Bring an archive of an earlier version to today's schema, by what it holds: no video is read."""

import numpy as np

from vidsum.archive.packed import clip_type, pack_pieces, read_edges, read_records, unpack_clips
from vidsum.archive.rows import list_shots, read_rows
from vidsum.archive.schema import VERSION
from vidsum.archive.space_versions import embed_class_names, read_axes
from vidsum.archive.store import Database
from vidsum.evidence.match_probability import embed_background, usual_of
from vidsum.grounding.spaces import STEP_S, describe_space
from vidsum.types import FloatArray

_STATEMENTS = (
    "ALTER TABLE videos ADD COLUMN usual_mean REAL NOT NULL DEFAULT 0",
    "ALTER TABLE videos ADD COLUMN usual_deviation REAL NOT NULL DEFAULT 1",
    "ALTER TABLE videos ADD COLUMN usual_best REAL NOT NULL DEFAULT 0",
)


def migrate(connection: Database) -> None:
    """Bring an archive to `VERSION`, in a transaction; another process may have been first.

    Raises DamagedArchiveError. WeightsError: the text encoder of its space is unavailable.
    """
    with connection.transaction():
        if connection.version() == VERSION:
            return
        for statement in _STATEMENTS:
            connection.execute(statement)
        columns = ("videos.id", "videos.duration_s", "videos.edges", "spaces.name", "spaces.axes")
        source = "FROM videos JOIN spaces ON spaces.id = videos.space ORDER BY videos.id"
        for number, duration_s, edges, space, axes in read_rows(connection, columns, source):
            _compare_with_usual(connection, number, duration_s, edges, space, read_axes(number, space, axes))
        connection.set_version(VERSION)


def _compare_with_usual(
    connection: Database, number: int, duration_s: float, edges: bytes, space: str, axes: FloatArray
) -> None:
    """Store what is usual in a video, and the pieces of its shots without those of one clip."""
    names = embed_class_names(space)
    shots = list_shots(connection, number, duration_s, "clips")
    layout, background = clip_type(describe_space(space).dim, len(names)), embed_background(space)
    parts = [read_records(layout, (f"shots.id {shot}: clips", content)) for shot, _, _, content in shots]
    shots_s = read_edges(number, edges, duration_s)
    clips = unpack_clips(np.concatenate(parts), names, duration_s, STEP_S, shots_s)
    usual = usual_of(clips, background)
    starts = np.cumsum([0, *map(len, parts[:-1])])
    values = (*usual, pack_pieces(clips, starts, axes).tobytes(), number)
    changed = "usual_mean = ?, usual_deviation = ?, usual_best = ?, scan = ?"
    connection.execute(f"UPDATE videos SET {changed} WHERE id = ?", values)
