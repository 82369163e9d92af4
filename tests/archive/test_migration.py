"""Archives of version 10, as an earlier vidsum wrote them, become those of today."""

import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from tests.archive.made import film, make_with, spoken, use_archive, written
from tests.conftest import deep
from tests.program import Run
from vidsum.archive.archive import Archive
from vidsum.archive.matches import Match
from vidsum.archive.schema import VERSION
from vidsum.errors import DamagedArchiveError, InputError, VidsumError

OLD_COLUMNS = (
    "spoken BLOB", "written BLOB", "sounds BLOB", "described BLOB", "described_by TEXT", "described_with TEXT"
)  # fmt: skip
OLD_TEXTS = {"sentences": "speech", "screen_lines": "text", "descriptions": "described"}
OLD_RECORDS = {"spoken": "speech", "sounds": "sound", "described": "described"}


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_home: Path) -> tuple[Path, list[Match]]:
    """An archive of version 10, and what is found in it as it was before."""
    use_archive(monkeypatch)
    make_with(
        monkeypatch,
        speech=lambda *_: spoken("the sky is blue.", "green grass."),
        text=lambda *_: written("EXIT green", "EXIT blue"),
    )
    path = tmp_path / "a.vidsum"
    with Archive(path) as archive:
        archive.add([film(tmp_path / "film.mp4"), film(tmp_path / "sea.mp4", ("blue", "blue", "green"), 2)])
        found = find(archive)
    make_old(path)
    return path, found


def find(archive: Archive) -> list[Match]:
    return [match for text in ("blue", "exit", "red") for match in archive.search(text, duplicates=True)]


def make_old(path: Path) -> None:
    """Store what version 10 held in its tables."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for column in OLD_COLUMNS:
            connection.execute(f"ALTER TABLE videos ADD COLUMN {column}")
        for column, kind in OLD_RECORDS.items():
            of_video = f"SELECT records FROM evidence WHERE video = videos.id AND kind = '{kind}'"
            connection.execute(f"UPDATE videos SET {column} = ({of_video})")
        connection.execute("UPDATE videos SET written = x'00'")  # of lines alone
        for table, kind in OLD_TEXTS.items():
            columns = "text, video UNINDEXED, start_s UNINDEXED, end_s UNINDEXED, certain UNINDEXED"
            connection.execute(f"CREATE VIRTUAL TABLE {table} USING fts5({columns})")
            columns = "text, video, start_s, end_s, certain"
            of_kind = f"SELECT {columns} FROM passages WHERE kind = '{kind}'"
            connection.execute(f"INSERT INTO {table} ({columns}) {of_kind}")
        for column in ("usual_mean", "usual_deviation", "usual_best"):
            connection.execute(f"ALTER TABLE videos DROP COLUMN {column}")
        connection.execute("ALTER TABLE shots DROP COLUMN actions")
        connection.execute("DROP TABLE evidence")
        connection.execute("DROP TABLE passages")
        connection.execute("PRAGMA user_version = 10")


def test_an_old_archive_answers_as_a_new_one(old: tuple[Path, list[Match]]) -> None:
    path, expected = old
    with Archive(path, create=False) as archive:
        found = find(archive)
        assert archive._connection.version() == VERSION
        assert archive.notes == (f"{path}: was of schema 10, and is now of {VERSION}",)
    assert [(match.video, match.evidence, match.text) for match in found] == [
        (match.video, match.evidence, match.text) for match in expected
    ]
    present = [np.array([match.present for match in matches]) for matches in (found, expected)]
    np.testing.assert_allclose(*present, atol=0.01)


def test_the_tables_are_those_of_a_new_archive(old: tuple[Path, list[Match]], tmp_path: Path) -> None:
    def tables(path: Path) -> set[tuple[str, str]]:
        Archive(path).close()
        with closing(sqlite3.connect(path)) as connection:
            rows = connection.execute("SELECT name, coalesce(sql, '') FROM sqlite_schema").fetchall()
        plain = [(name, re.sub("--[^\n]*", "", sql)) for name, sql in rows]
        return {(name, re.sub(r"\s+", "", sql)) for name, sql in plain}

    new = tmp_path / "new.vidsum"
    with Archive(new) as archive:
        archive.rows("SELECT 1")
    assert tables(old[0]) == tables(new)


def test_videos_are_not_read_again(old: tuple[Path, list[Match]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vidsum.archive.index._embed_video", None)
    with Archive(old[0]) as archive:
        assert {video.state for video in archive.add(old[0].parent)} == {"unchanged"}


def test_a_failed_migration_changes_nothing(
    old: tuple[Path, list[Match]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(space: str) -> None:
        raise VidsumError("no weights")

    with monkeypatch.context() as patch:
        patch.setattr("vidsum.archive.migration.embed_background", fail)
        with pytest.raises(VidsumError, match="no weights"):
            Archive(old[0], create=False)
    with Archive(old[0], create=False) as archive:
        assert find(archive)


def test_a_damaged_old_archive_is_refused(old: tuple[Path, list[Match]]) -> None:
    with closing(sqlite3.connect(old[0], isolation_level=None)) as connection:
        connection.execute("CREATE TRIGGER grow AFTER UPDATE ON files BEGIN DELETE FROM videos; END")
    with pytest.raises(DamagedArchiveError, match="grow"):
        Archive(old[0], create=False)


@pytest.mark.parametrize("closed", ["file", "folder"])
def test_an_old_archive_whose_file_or_folder_cannot_be_written_is_refused(
    closed: str, old: tuple[Path, list[Match]], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = old[0] if closed == "file" else old[0].parent
    monkeypatch.setattr(os, "access", lambda path, mode: mode == os.R_OK or Path(path) != place)
    with pytest.raises(
        InputError, match=r"a\.vidsum: has schema 10, and must be written to become 12"
    ) as raised:
        Archive(old[0], create=False)
    assert "can be written" in str(raised.value.hint)


@pytest.mark.parametrize("verb", ["search", deep("index")])
def test_the_command_line_says_that_an_old_archive_was_changed(
    verb: str,
    old: tuple[Path, list[Match]],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run, path = Run(capsys, monkeypatch), old[0]
    words = "blue" if verb == "search" else path.parent  # which another process reads, without colours
    ran = run(verb, words, "--archive", path, code=None)
    assert f"was of schema 10, and is now of {VERSION}" in ran.err
