"""The database of an archive, in an SQLite file; see also `postgres`.

A writer changes one video per transaction, so that a killed run leaves whole videos, and several processes
can write and read at once.
"""

import os
import re
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import RLock

from vidsum.archive import postgres
from vidsum.archive.schema import EVIDENCE_TABLE, PASSAGES, REINDEX_HINT, TABLES, VERSION, require_known
from vidsum.archive.settings import is_server
from vidsum.errors import (
    DamagedArchiveError,
    InputError,
    Mention,
    MissingError,
    OutputError,
    VidsumError,
    quote,
)
from vidsum.io.atomic import check_target, make_folder
from vidsum.io.locks import has_locks
from vidsum.io.paths import home, is_file

APPLICATION_ID = 0x76647361  # in the header of the file: `vdsa`
_WAIT_S = 30.0  # longest wait for another process that writes
_STALE_S = 60.0  # no transaction takes longer: a mark of a lock that is older is left by a killed process
_MAX_VALUE_BYTES = 96 << 20  # longest value or row: more than three days of video need
_OF_THE_MACHINE = frozenset(
    {
        *(sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM),
        *(sqlite3.SQLITE_READONLY, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL),
        *(sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOLFS, sqlite3.SQLITE_AUTH),
    }
)  # errors of SQLite that say nothing about what is in a file
_STATISTICS = "sqlite_stat"  # tables that ANALYZE makes
TEXTS = (
    f"CREATE VIRTUAL TABLE {PASSAGES} USING fts5(text, video UNINDEXED, kind UNINDEXED, start_s UNINDEXED, "
    "end_s UNINDEXED, certain UNINDEXED)",
)


class SQLite(sqlite3.Connection):
    """A connection to the file of an archive, for several threads, of which one has a transaction."""

    stream = sqlite3.Connection.execute
    where: Path
    lock: RLock

    def clock(self) -> float:
        return time.time()

    def version(self) -> int:
        """Return the version of the schema; 0 of an empty file."""
        return int(self.execute("PRAGMA user_version").fetchone()[0])

    def set_version(self, version: int) -> None:
        self.execute(f"PRAGMA user_version = {version}")

    @contextmanager
    def transaction(self, begin: str = "BEGIN IMMEDIATE") -> Iterator[None]:
        """Apply all changes or none, as the only writer."""
        with self.lock:
            self.execute(begin)
            with self:
                yield

    def snapshot(self) -> AbstractContextManager[None]:
        return self.transaction("BEGIN")

    def create_evidence(self) -> None:
        """Create the tables of evidence."""
        for statement in (*EVIDENCE_TABLE, *TEXTS):
            self.execute(statement)

    def find_words(self, kind: str, words: Sequence[str]) -> Iterator[int]:
        """Return the videos whose passages of a kind contain some words, best first."""
        query = f"SELECT video FROM {PASSAGES} WHERE {PASSAGES} MATCH ? AND kind = ? ORDER BY rank"
        text = " OR ".join(f'"{word}"' for word in words)
        return (video for (video,) in self.execute(query, (text, kind)))


Database = SQLite | postgres.Postgres


def default_path() -> Path:
    """`archive.vidsum` in the user's data folder."""
    import platformdirs

    return Path(platformdirs.user_data_dir("vidsum", appauthor=False)) / "archive.vidsum"


def connect(path: Path | str, *, create: bool) -> Database:
    """Open an archive, by its file or the address of a server.

    `create` makes it, and its folder, if it is missing. Raises InputError: it is missing, damaged, not an
    archive, or of another schema. OutputError: it cannot be made or written, or another process holds it.
    """
    if is_server(path):
        return postgres.connect(str(path), create=create)
    path = Path(path)
    if path.is_dir():
        raise InputError("is a folder", hint=Mention("archive", "FILE"), subject=path)
    is_new = create and not path.exists()
    if is_new:
        make_folder(path.parent)
        check_target(path)
    elif not path.is_file() or (not create and not path.stat().st_size):
        raise MissingError("no such archive", hint="vidsum index FOLDER", subject=path)
    elif not os.access(path, os.R_OK):
        raise InputError("cannot be read", subject=path)
    elif create:
        _require_writable(path)
    may_write = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    log = Path(f"{path}-wal")  # without one, SQLite need not write beside a file that cannot be written
    fixed = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
    mode = "mode=rwc" if create else "mode=rw" if may_write else fixed
    with _faults_of_opening(path):
        is_locked = not (may_write or create) or has_locks(path.parent)
        uri = f"{path.absolute().as_uri()}?{mode}{'' if is_locked else '&vfs=unix-dotfile'}"
        if not is_locked:
            _remove_stale_lock(path)
        connection = SQLite(uri, _WAIT_S, isolation_level=None, uri=True, check_same_thread=False)
        connection.where, connection.lock = path, RLock()
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
        try:
            if not is_locked and _is_logged(path):
                _leave_wal(connection)
            _prepare(connection, path, may_write=is_locked and (may_write or create))
        except BaseException as error:
            connection.close()
            _explain(error, path, is_new=is_new, may_write=may_write)
            raise
    return connection


def _is_logged(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(19)[18:] == b"\2"  # "file format write version" of SQLite's header


def _leave_wal(connection: SQLite) -> None:
    """Let a rollback journal take the place of a log, which needs locks of the file system."""
    for step in ("locking_mode = EXCLUSIVE", "journal_mode = DELETE", "locking_mode = NORMAL"):
        connection.execute(f"PRAGMA {step}")
    connection.execute("SELECT count(*) FROM sqlite_schema")  # which ends the exclusive lock


def _remove_stale_lock(path: Path) -> None:
    """Remove the folder that marks a lock, if it is older than any transaction."""
    mark = Path(f"{path}.lock")
    with suppress(OSError), TemporaryDirectory(dir=path.parent) as now:  # by the clock of the file system
        if Path(now).stat().st_mtime - mark.stat().st_mtime > _STALE_S:
            mark.rmdir()


def _explain(error: BaseException, path: Path, *, is_new: bool, may_write: bool) -> None:
    """Remove a new file that a full disk left empty; raise OutputError where a log cannot be read."""
    code = _code_of(error)
    if is_new and code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR) and not path.stat().st_size:
        path.unlink()
    log = Path(f"{path}-wal")
    if not may_write and code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY) and log.exists():
        fault = f"its last changes are in {log.name}, which cannot be read in a read-only folder"
        raise OutputError(
            fault, hint="copy both files into a folder that can be written", subject=path
        ) from error


def _require_writable(path: Path) -> None:
    """Raise OutputError where a file that is there, or its folder, cannot be written."""
    reason, place = "permission denied", path
    if os.access(path, os.W_OK):
        if os.access(path.parent, os.W_OK):
            return
        place = path.parent
    elif os.statvfs(path).f_flag & os.ST_RDONLY:
        reason = "read-only file system"
    raise OutputError(
        f"cannot be written ({reason})",
        hint=("copy the archive elsewhere: ", Mention("archive", "FILE")),
        subject=place,
    )


def _code_of(error: BaseException) -> int:
    """Return SQLite's primary code of an error; 0 for others."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF


def require_copy(video: str) -> None:
    """Raise MissingError if a video was a URL's and its copy is gone: the cache has a limit."""
    if home() / "videos" in Path(video).parents and not is_file(video):
        fault = "the copy of a URL, no longer in the cache"
        raise MissingError(fault, hint="vidsum index URL, which downloads it again", subject=video)


@contextmanager
def _faults_of_opening(path: Path) -> Iterator[None]:
    """Turn errors into errors of vidsum; any error while a file is opened means damage."""
    try:
        with faults(path):
            yield
    except (sqlite3.Error, ValueError, OverflowError) as error:
        raise DamagedArchiveError(f"is damaged ({error})", hint=REINDEX_HINT, subject=path) from error


def faults(path: Path | str) -> AbstractContextManager[None]:
    """Turn the errors of a database into errors of vidsum, each a line that names the database."""
    return postgres.faults(str(path)) if is_server(path) else _faults(Path(path))


@contextmanager
def _faults(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.ProgrammingError:  # ours, not the file's
        raise
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        code = _code_of(error)
        if code == sqlite3.SQLITE_NOTADB:
            raise _foreign(path) from error
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            reason = f"another process has been writing to it for {_WAIT_S:.0f} s"
            raise OutputError(reason, hint="try again when it is done", subject=path) from error
        reason = " ".join(str(error).split())  # SQLite quotes whole statements
        fault: VidsumError = DamagedArchiveError(f"is damaged ({reason})", hint=REINDEX_HINT, subject=path)
        if code in _OF_THE_MACHINE:
            fault = OutputError(f"cannot be used ({error})", subject=path)
            fault.ends_batch = True
        raise fault from error


def _foreign(path: Path) -> InputError:
    return InputError("is not an archive of vidsum", hint=Mention("archive", "FILE"), subject=path)


def _prepare(connection: SQLite, path: Path, *, may_write: bool) -> None:
    is_new = not path.stat().st_size  # another process may be making it
    (number,) = connection.execute("PRAGMA application_id").fetchone()
    if not is_new and number != APPLICATION_ID:
        raise _foreign(path)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA page_size = 65536")  # of a new file: a scan reads it in half the time
    if is_new:
        with connection.transaction():  # before WAL: the header of the file is written by its end
            if not connection.version():  # else another process was first
                _create_tables(connection)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.set_version(VERSION)
    require_known(connection.version(), str(path))
    if connection.version() == VERSION:
        require_tables(connection, path)
    if may_write:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")


def _create_tables(connection: sqlite3.Connection) -> None:
    for statement in (*TABLES.split(";\n"), *EVIDENCE_TABLE, *TEXTS):
        connection.execute(statement)


@cache
def _new_tables() -> dict[str, object]:
    """Return the statements of a new archive by the names of tables and indexes, without comments."""
    with closing(sqlite3.connect(":memory:")) as connection:
        _create_tables(connection)
        return _read_tables(connection)


def _read_tables(connection: sqlite3.Connection) -> dict[str, object]:
    rows = connection.execute("SELECT name, type, tbl_name, sql FROM sqlite_schema").fetchall()
    return {name: (kind, table, _without_layout(str(sql))) for name, kind, table, sql in rows}


def _without_layout(statement: str) -> str:
    """Return a statement without comments, and without blanks that mean nothing: changed tables have others.

    No statement of ours has a quote or bracket outside comments, so a comment is one wherever it is removed.
    """
    plain = re.sub("--[^\n]*", "", statement)
    return re.sub(r"\s*([(),])\s*|\s+", lambda match: match[1] or " ", plain)


def require_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Raise DamagedArchiveError where a table is not as vidsum makes it: no views, no triggers."""
    expected = _new_tables()
    tables = {
        name: facts
        for name, facts in _read_tables(connection).items()
        if not str(name).startswith(_STATISTICS)
    }
    if tables != expected:
        odd = next(name for name in [*expected, *tables] if tables.get(name) != expected.get(name))
        fault = f"is damaged ({quote(odd)} in it is not as vidsum makes it)"
        raise DamagedArchiveError(fault, hint=REINDEX_HINT, subject=path)
