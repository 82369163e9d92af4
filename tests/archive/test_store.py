"""The file of an archive: what is wrong with it is one line, and nothing is lost."""

import os
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from tests.archive.made import film
from tests.conftest import deep
from tests.full_disk import files_up_to, small_disk
from vidsum.archive import store
from vidsum.archive.archive import Archive
from vidsum.archive.schema import VERSION
from vidsum.archive.store import APPLICATION_ID, connect, faults
from vidsum.errors import InputError, OutputError
from vidsum.evidence import picture


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "folder" / "a.vidsum"
    connect(path, create=True).close()
    return path


def spaces(path: Path) -> int:
    connection = connect(path, create=False)
    (count,) = connection.execute("SELECT count(*) FROM spaces").fetchone()
    connection.close()
    return int(count)


def insert(connection: sqlite3.Connection, name: str, size: int = 10) -> None:
    connection.execute(
        "INSERT INTO spaces (name, made_from, axes) VALUES ('vse', ?, ?)", (name, b"\0" * size)
    )


def test_new_archive(file: Path) -> None:
    connection = sqlite3.connect(file)
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()
    assert [entry.name for entry in file.parent.iterdir()] == ["a.vidsum"]


def test_missing_archive(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such archive") as raised:
        connect(tmp_path / "none.vidsum", create=False)
    assert "vidsum index" in str(raised.value.hint)
    for create in (True, False):
        with pytest.raises(InputError, match="is a folder"):
            connect(tmp_path, create=create)
    empty = tmp_path / "a.vidsum"
    empty.touch()
    with pytest.raises(InputError, match="no such archive"):
        connect(empty, create=False)
    assert empty.stat().st_size == 0
    connect(empty, create=True).close()
    assert spaces(empty) == 0


@pytest.mark.parametrize(
    ("version", "hint"),
    [(99, "pip install -U"), (9, "index the videos again"), (-3, "index the videos again")],
)
def test_unknown_schema(file: Path, version: int, hint: str) -> None:
    connection = sqlite3.connect(file)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    before = file.read_bytes()
    with pytest.raises(InputError, match=rf"a\.vidsum: has schema {version}") as raised:
        connect(file, create=True)
    assert hint in str(raised.value.hint)
    assert file.read_bytes() == before


def test_files_of_other_programs(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    for content in (b"hello, not a database" * 99, b"SQLite format 3\0" + b"\xff" * 4000):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"not an archive|is damaged"):
            connect(path, create=True)
        assert path.read_bytes() == content
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 1")
    connection.execute("CREATE TABLE mine (x)")
    connection.close()
    before = path.read_bytes()
    for create in (True, False):
        with pytest.raises(InputError, match="not an archive"):
            connect(path, create=create)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("ALTER TABLE shots ADD COLUMN more", "shots"),
        ("CREATE TABLE mine (x)", "mine"),
        ("CREATE VIEW seen AS SELECT path FROM files", "seen"),
        ("DROP TABLE evidence", "evidence"),
    ],
    ids=["column", "table", "view", "missing"],
)
def test_the_table_that_is_not_as_vidsum_makes_it_is_named(file: Path, statement: str, name: str) -> None:
    connection = sqlite3.connect(file)
    connection.execute(statement)
    connection.close()
    with pytest.raises(InputError, match=f"is damaged \\('{name}' in it is not as vidsum makes it"):
        connect(file, create=False)


def test_damaged_archive(file: Path) -> None:
    connection = connect(file, create=False)
    for number in range(200):
        insert(connection, str(number), 500)
    connection.close()
    content = bytearray(file.read_bytes())
    content[65536:] = b"\xa5" * (len(content) - 65536)  # all but the first page
    file.write_bytes(content)
    connection = connect(file, create=False)
    with pytest.raises(InputError, match="is damaged") as raised, faults(file):
        connection.execute("SELECT sum(length(axes)), group_concat(made_from) FROM spaces").fetchall()
    assert "\n" not in raised.value.message
    connection.close()


def test_locked_archive(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_WAIT_S", 0.05)
    item, other = connect(file, create=False), connect(file, create=False)
    with item.transaction():
        insert(item, "first")
        assert other.execute("SELECT count(*) FROM spaces").fetchone() == (0,)  # readers go on
        with pytest.raises(OutputError, match="another process"), faults(file), other.transaction():
            pass
    with other.transaction():
        insert(other, "second")
    item.close()
    other.close()
    assert spaces(file) == 2


def test_full_disk(file: Path) -> None:
    connection = connect(file, create=False)
    with connection.transaction():
        insert(connection, "kept")
    limit = file.stat().st_size + 200_000
    with pytest.raises(OutputError, match="cannot be used"), files_up_to(limit), faults(file):  # noqa: SIM117
        with connection.transaction():
            insert(connection, "lost", 4_000_000)
    assert connection.execute("SELECT made_from FROM spaces").fetchall() == [("kept",)]
    connection.close()
    assert spaces(file) == 1


def test_killed_writer(file: Path) -> None:
    process = get_context("fork").Process(target=_die_in_the_middle, args=(file,))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert spaces(file) == 1


def _die_in_the_middle(file: Path) -> None:
    connection = connect(file, create=False)
    with connection.transaction():
        insert(connection, "whole")
    with connection.transaction():
        insert(connection, "half", 1_000_000)
        os.kill(os.getpid(), signal.SIGKILL)


def test_read_only_archive(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: mode == os.R_OK)
    for log in (False, True):
        if log:
            file.with_name("a.vidsum-wal").touch()
        assert spaces(file) == 0
    connection = connect(file, create=False)
    with pytest.raises(OutputError, match="readonly"), faults(file):
        insert(connection, "no")
    connection.close()


@pytest.mark.parametrize("step", [70, deep(7)])
def test_flipped_bytes(step: int, file: Path, tmp_path: Path) -> None:
    whole = file.read_bytes()
    schema = whole.index(b"CREATE")
    places = [*range(110), *range(schema - 2000, schema + 2000, step)]
    odd, faults = tmp_path / "odd.vidsum", list[str]()
    for place in places:
        content = bytearray(whole)
        content[place] ^= 0xFF
        odd.write_bytes(content)
        try:
            spaces(odd)
        except (InputError, OutputError) as error:
            faults.append(error.message)
    assert faults
    assert [fault for fault in faults if "odd.vidsum: " not in fault or "\n" in fault] == []


@pytest.mark.parametrize("kib", [64, 128, 512, 900, 1290, 1890])
def test_full_disk_leaves_no_empty_archive(
    kib: int, tmp_path: Path, colours: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the file cannot be made, or no video fits into it."""
    video = film(tmp_path / "film.mp4")
    kept = picture.pack_clips  # as large as a long video
    monkeypatch.setattr(picture, "pack_clips", lambda clips: np.repeat(kept(clips), 40_000))
    with small_disk(tmp_path / "small", kib) as disk:
        with Archive(disk / "a.vidsum") as archive, pytest.raises(OutputError, match="cannot be used"):
            archive.add(video)
        assert [*disk.iterdir()] == []


@pytest.fixture
def medium(tmp_path: Path, colours: None) -> Iterator[Path]:
    """A read-only file system with an archive, whose last change is in a log beside it."""
    video = film(tmp_path / "film.mp4")
    with small_disk(tmp_path / "disk", 20_000) as disk:
        with Archive(tmp_path / "a.vidsum") as archive:
            archive.add(video)
            archive.rows("UPDATE files SET gone_s = NULL")
            for path in tmp_path.glob("a.vidsum*"):  # as after a kill
                shutil.copy(path, disk)
        (disk / "a.vidsum-shm").unlink()
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        yield disk


def test_index_on_a_read_only_medium(medium: Path, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"cannot be written \(read-only file system\)") as raised:
        Archive(medium / "a.vidsum")
    assert "archive='FILE'" in str(raised.value.hint)


def test_log_on_a_read_only_medium(medium: Path, tmp_path: Path) -> None:
    """Without its log, an archive lacks its last changes."""
    with pytest.raises(OutputError, match=r"a\.vidsum-wal, which cannot be read") as raised:
        Archive(medium / "a.vidsum", create=False)
    assert "copy both files" in str(raised.value.hint)


@pytest.mark.parametrize("place", ["a.vidsum", "."])
def test_index_where_writing_is_not_allowed(file: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = str(file.parent / place)
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK or str(path) != closed)
    with pytest.raises(OutputError, match="cannot be written") as raised:
        connect(file, create=True)
    assert raised.value.message.startswith(f"{closed}: ")


def test_earlier_archive_is_refused_in_one_line(file: Path) -> None:
    connection = sqlite3.connect(file)
    connection.executescript("DROP TABLE claims; PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(InputError) as raised:
        connect(file, create=False)
    assert raised.value.message == f"{file}: has schema 9, and this vidsum reads {VERSION}"
    assert raised.value.exit_code == 3
    assert raised.value.hint == "remove it, and index the videos again: vidsum index FOLDER"
