"""Files of an archive's videos: their keys, and which are gone."""

import os
import time
from collections.abc import Iterable

from vidsum.archive.rows import read_rows
from vidsum.archive.space_versions import drop_orphans
from vidsum.archive.store import Database


def mark_gone(connection: Database, folders: Iterable[str]) -> list[str]:
    """Mark the missing files below some folders, and return them."""
    gone = []
    with connection.transaction():
        for folder in folders:
            prefix = key_of(folder).rstrip(os.fsencode(os.sep)) + os.fsencode(os.sep)
            source = "FROM files WHERE substr(path, 1, ?) = ?"
            for (path,) in read_rows(connection, ["files.path"], source, (len(prefix), prefix)):
                if is_gone(path):
                    gone.append(os.fsdecode(path))
                    mark_missing(connection, path)
    return gone


def is_gone(path: bytes) -> bool:
    """Return whether a file is not there; one in a folder that may not be read counts as there."""
    try:
        os.lstat(path)
    except (OSError, ValueError) as error:
        return isinstance(error, FileNotFoundError | NotADirectoryError | ValueError)
    return False


def mark_missing(connection: Database, key: bytes) -> None:
    """Mark a file as gone, or as one that can no longer be read."""
    query = "UPDATE files SET gone_s = coalesce(gone_s, ?) WHERE path = ?"
    connection.execute(query, (time.time(), key))


def key_of(path: str | os.PathLike[str]) -> bytes:
    """Return the absolute path of a file: no links are followed, and .. goes."""
    return os.fsencode(os.path.abspath(path))  # noqa: PTH100


def remove(connection: Database, paths: Iterable[str | os.PathLike[str]]) -> int:
    """Remove files from the archive, not from the disk; return how many were in it."""
    with connection.transaction():
        removed = [connection.execute("DELETE FROM files WHERE path = ?", (key_of(path),)) for path in paths]
        drop_orphans(connection)
    return sum(cursor.rowcount for cursor in removed)
