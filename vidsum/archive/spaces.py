"""The image-text space of an archive, and its change to another (docs/archive.md).

An archive keeps its space, whatever is installed. A row of `spaces` is a space by a version of its networks.
All versions of `vse` lead to MiniLM's sentences, so that vectors of any version compare with texts; those of
another space compare with texts of the same networks only. A change makes new vectors beside the old ones,
which answer until all videos that are there have new ones.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vidsum import checkpoints
from vidsum.archive.packed import AXES, read_records
from vidsum.archive.store import Database
from vidsum.errors import WeightsError
from vidsum.features import describe, weights_sha256
from vidsum.grounding.conse import name_embeddings
from vidsum.grounding.spaces import describe_space, resolve_space
from vidsum.grounding.vse import NAME, load_map
from vidsum.io.provenance import digest_of
from vidsum.types import FloatArray

_MADE = "FROM videos AS old JOIN videos AS made ON made.sha256 = old.sha256 AND made.space = ?"


@dataclass(frozen=True, eq=False)
class StoredSpace:
    """A space by a version of its networks, of which an archive holds vectors."""

    id: int
    name: str
    made_from: str  # digest of the networks
    axes: FloatArray  # [D, d]: what the vectors of pieces are projected on
    is_pending: bool  # whether its vectors do not answer yet


@dataclass(frozen=True)
class Target:
    """The space of new vectors, by digests of networks."""

    name: str
    versions: tuple[str, ...]  # whose vectors need not be made again
    answering: tuple[str, ...]  # whose vectors files keep during a change; empty without one
    is_change: bool
    is_pending: bool  # whether new vectors wait for the end of a change


@dataclass(frozen=True)
class Change:
    """A change of an archive's space."""

    space: str
    is_complete: bool  # whether its vectors answer from now on
    missing: tuple[str, ...] = ()  # files that are gone or changed, which keep the old vectors
    left: tuple[str, ...] = ()  # files still without vectors of the space


def networks_digest(name: str) -> str:
    """Return the digest of the networks that make the vectors of new videos; texts are embedded later."""
    space = describe_space(name)
    sha256 = {"pictures": weights_sha256(describe(space.extractor))}
    return digest_of(sha256 | ({"vse": checkpoints.sha256_of(NAME)} if space.is_mapped else {}))


def embed_class_names(name: str) -> FloatArray:
    """Return the names of the classes that clips have probabilities of, [K, D]; K is 0 in most spaces."""
    space = describe_space(name)
    return name_embeddings() if space.is_mapped else np.zeros((0, space.dim), np.float32)


def find_space(connection: Database) -> str:
    """Return the name of an archive's space; of an empty archive, that of the best networks installed."""
    query = "SELECT name FROM spaces WHERE since_s IS NOT NULL ORDER BY since_s DESC, id DESC LIMIT 1"
    row = connection.execute(query).fetchone()
    return str(row[0]) if row else resolve_space("auto")


def list_answering(connection: Database, name: str) -> list[StoredSpace]:
    """Return the versions of a space whose vectors compare with today's texts."""
    spaces = _read_spaces(connection, "name = ? AND since_s IS NOT NULL", name)
    if describe_space(name).is_mapped:
        return spaces
    return [space for space in spaces if space.made_from == networks_digest(name)]


def find_target(connection: Database, change: str | None) -> Target:
    """Return the space of new vectors: that of a change, or the archive's."""
    before = find_space(connection)
    name, answering = change or before, [space.made_from for space in list_answering(connection, before)]
    digest = networks_digest(name)
    if change is None:
        return Target(name, (*dict.fromkeys([*answering, digest]),), (), is_change=False, is_pending=False)
    spaces = _read_spaces(connection, "made_from = ?", digest)
    is_pending = spaces[0].is_pending if spaces else bool(answering)
    return Target(name, (digest,), (*answering,) if is_pending else (), is_change=True, is_pending=is_pending)


def list_videos(connection: Database, spaces: Sequence[StoredSpace]) -> set[int]:
    """Return the ids of the videos with vectors of some spaces."""
    query = "SELECT id FROM videos WHERE space = ?"
    return {video for space in spaces for (video,) in connection.execute(query, (space.id,))}


def require_weights(archive: str, name: str) -> None:
    """Raise WeightsError where the networks of an archive's space are not installed."""
    if name != NAME and not describe_space(name).is_installed():
        fault = f"{archive}: its space is {name}, whose weights are not installed"
        hint = f"vidsum weights pull {name}, or vidsum index --space {NAME}"
        raise WeightsError(fault, hint=hint)


def insert_space(connection: Database, name: str, *, is_change: bool) -> StoredSpace:
    """Return the space of new vectors; insert it if it is new, inside a transaction.

    The vectors of a change wait for its end, unless the archive is empty.
    """
    digest = networks_digest(name)
    if not (known := _read_spaces(connection, "made_from = ?", digest)):
        is_first = connection.execute("SELECT 1 FROM spaces").fetchone() is None
        since_s = None if is_change and not is_first else connection.clock()
        values = (name, digest, _compute_axes(name).tobytes(), since_s)
        connection.execute("INSERT INTO spaces (name, made_from, axes, since_s) VALUES (?, ?, ?, ?)", values)
        known = _read_spaces(connection, "made_from = ?", digest)
    return known[0]


def begin_change(connection: Database, name: str) -> None:
    """Begin or resume a change to a space; vectors of another change that was not completed are dropped."""
    with connection.transaction():
        digest, before = networks_digest(name), find_space(connection)
        abandoned = "UPDATE spaces SET since_s = -1 WHERE since_s IS NULL AND made_from != ?"
        connection.execute(abandoned, (digest,))
        if before != name:  # its vectors of an earlier time, of films that were missing since
            connection.execute("UPDATE spaces SET since_s = NULL WHERE made_from = ?", (digest,))
        drop_orphans(connection)


def complete_change(connection: Database, name: str) -> Change:
    """Let the vectors of a space answer, in one transaction, if all videos that are there have them."""
    with connection.transaction():
        spaces = _read_spaces(connection, "made_from = ?", networks_digest(name))
        target = spaces[0].id if spaces else 0
        missing, left = _list_without(connection, target)
        is_made = connection.execute("SELECT 1 FROM videos WHERE space = ?", (target,)).fetchone()
        if left or (missing and not is_made):  # a drive may be away
            return Change(name, is_complete=False, missing=(*missing,), left=(*left,))
        if spaces and spaces[0].is_pending:
            _switch(connection, target)
    return Change(name, is_complete=True, missing=(*missing,))


def _list_without(connection: Database, space: int) -> tuple[list[str], list[str]]:
    """Return the files without vectors of a space: those gone or changed, and those that are there."""
    query = (
        f"SELECT path, files.bytes, mtime_ns, gone_s FROM files WHERE video NOT IN (SELECT old.id {_MADE}) "
        "ORDER BY path"
    )
    missing, left = list[str](), list[str]()
    for path, size, mtime_ns, gone_s in connection.execute(query, (space,)).fetchall():
        try:
            status = Path(os.fsdecode(path)).stat()
            is_same = gone_s is None and (status.st_size, status.st_mtime_ns) == (size, mtime_ns)
        except (OSError, ValueError):
            is_same = False
        (left if is_same else missing).append(os.fsdecode(path))
    return missing, left


def _switch(connection: Database, space: int) -> None:
    """Let files point to the vectors of a space, which take the texts of the old ones."""
    made = _MADE.replace("?", str(space))
    of_files = f"{made} WHERE old.space != made.space AND old.id IN (SELECT video FROM files)"
    texts = ("spoken", "described", "described_by", "described_with", "written", "sounds")
    taken = (
        f"{name} = coalesce({name}, (SELECT old.{name} {of_files} AND made.id = videos.id))" for name in texts
    )
    connection.execute(f"UPDATE videos SET {', '.join(taken)} WHERE space = {space}")
    for table in ("sentences", "descriptions", "screen_lines", "files"):
        new = f"(SELECT made.id {of_files} AND old.id = {table}.video)"
        connection.execute(f"UPDATE {table} SET video = {new} WHERE video IN (SELECT old.id {of_files})")
    connection.execute("UPDATE spaces SET since_s = ? WHERE id = ?", (connection.clock(), space))
    drop_orphans(connection)


def drop_orphans(connection: Database) -> None:
    """Remove the videos that no file holds, except those of a change; in a transaction."""
    orphans = (
        "SELECT id, first_shot, n_shots FROM videos WHERE id NOT IN (SELECT video FROM files) "
        "AND space NOT IN (SELECT id FROM spaces WHERE since_s IS NULL)"
    )
    for video, first, count in connection.execute(orphans).fetchall():
        drop_shots(connection, first, count)
        for table in ("sentences", "descriptions", "screen_lines"):
            connection.execute(f"DELETE FROM {table} WHERE video = ?", (video,))
        connection.execute("DELETE FROM videos WHERE id = ?", (video,))


def drop_shots(connection: Database, first: int, count: int) -> None:
    """Remove shots that follow each other, with their pictures."""
    for table, key in (("pictures", "shot"), ("shots", "id")):
        connection.execute(f"DELETE FROM {table} WHERE {key} >= ? AND {key} < ?", (first, first + count))


def _read_spaces(connection: Database, where: str, value: str) -> list[StoredSpace]:
    query = f"SELECT id, name, made_from, axes, since_s IS NULL FROM spaces WHERE {where} ORDER BY id"
    return [
        StoredSpace(
            number,
            name,
            digest,
            read_records(axes, np.float32).reshape(describe_space(name).dim, -1),
            bool(is_pending),
        )
        for number, name, digest, axes, is_pending in connection.execute(query, (value,)).fetchall()
    ]


def _compute_axes(name: str) -> FloatArray:
    """Return [D, d] the principal directions of the map's rows for photographs; of other spaces, all D."""
    if not (space := describe_space(name)).is_mapped:
        return np.eye(space.dim, dtype=np.float32)
    factor = load_map().tensors["cohort.weight"]
    _, directions = np.linalg.eigh(factor @ factor.T)
    return np.ascontiguousarray(directions[:, ::-1][:, :AXES], np.float32)
