"""Values that vidsum does not write, in each column of the schema: an answer is right, or "damaged"."""

import math
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.archive.made import film, spoken, use_archive, written
from tests.grounding.colours import use_names_of_sounds
from vidsum.archive import answers
from vidsum.archive.archive import Archive
from vidsum.archive.packed import pack_rows
from vidsum.archive.rows import COLUMNS
from vidsum.archive.schema import TEXT_TABLES
from vidsum.archive.serve import Server
from vidsum.archive.store import connect
from vidsum.archive.texts import Evidence, pack_sounds, store_evidence
from vidsum.archive.tools import Folders, Tools
from vidsum.errors import DamagedArchiveError, VidsumError
from vidsum.grounding.speech import Passage

Command = Callable[[Archive, Path], Any]

VALUES = (
    *(None, "text", "inf", "", b"", b"\0" * 5, b"\xff" * 1000, 0, -1, 10**12, 2**62, -(2**63)),
    *(math.inf, -math.inf, 1e300, -0.5, 0.5),
)
FEW = (None, "text", b"\0" * 5, -1, math.inf, 10**12)
NUMBERS = tuple(value for value in VALUES if isinstance(value, float | int))
_TEXTS = ("text", "inf")
_SPAN = (0, 0.5, -1, -0.5)
VALID: dict[tuple[str, str], tuple[object, ...]] = {
    ("spaces", "made_from"): (*_TEXTS, *NUMBERS),  # SQLite makes texts of numbers there
    ("videos", "bytes"): (0, 10**12, 2**62),
    ("videos", "duration_s"): (0, 0.5),
    ("videos", "start_offset_s"): _SPAN,
    ("videos", "fast"): (0,),
    ("videos", "added_s"): (0, 0.5),
    **{("videos", name): (None, b"") for name in ("spoken", "written", "sounds", "described")},
    ("videos", "described_by"): (None,),
    ("videos", "described_with"): (None, "", *_TEXTS, *NUMBERS),
    ("files", "path"): (b"\xff" * 1000,),
    ("files", "bytes"): (0, 10**12, 2**62),
    ("files", "mtime_ns"): (0, -1, 10**12, 2**62),
    ("files", "gone_s"): (None, 0, 0.5),
    ("shots", "start_s"): (0, 0.5),
    ("shots", "end_s"): (0, 0.5),
    ("claims", "path"): (b"\xff" * 1000,),
    ("claims", "owner"): (*_TEXTS, *NUMBERS),
    ("claims", "until_s"): (0, 0.5),
    **{(table, "text"): ("", *_TEXTS) for table in TEXT_TABLES},
    **{(table, "certain"): (0, 0.5) for table in TEXT_TABLES},
    **{(table, name): _SPAN for table in TEXT_TABLES for name in ("start_s", "end_s")},
}
"""Values that vidsum may write: answers may differ. Any other is damage to whoever reads it."""


def find(query: str | None = "blue", **options: Any) -> Command:
    return lambda archive, _: archive.search(query, **options)


def serve(archive: Archive, folder: Path) -> Any:
    """What the page shows before and after a search."""
    Server(archive.path, "127.0.0.1", 0).server_close()
    videos = [answers.video(archive, number) for number in (1, 2)]
    pictures = [answers.read_picture(archive, shot["id"]) for video in videos for shot in video["shots"]]
    return answers.describe_archive(archive), answers.search(archive, {"q": ["blue"]}), videos, pictures


COMMANDS: dict[str, Command] = {
    "auto": find(),
    "picture": find(evidence="picture", duplicates=True),
    "speech": find(evidence="speech"),
    "text": find(evidence="text"),
    "sound": find("busy signal", evidence="sound"),
    "described": find(evidence="described"),
    "chain": find(then=["green"], without=["red"]),
    "like": lambda archive, folder: archive.search(None, like=[f"{folder / 'film.mp4'}@0:02-0:04"]),
    "serve": serve,
    "mcp": lambda archive, folder: Tools(Folders([str(folder)]), str(archive.path)).search("blue"),
    "index": lambda archive, folder: sorted(video.video for video in archive.add(folder)),
}
QUICK = ("auto", "sound", "serve")
"""Commands that together read every value of this archive."""
_NO_SHOT = ("first_shot", 10**12)
_OF_ALL = ("spaces", "videos", "files", "claims")
"""Tables whose values every command reads; of the others, it reads the rows that its answer needs."""


def columns() -> list[tuple[str, str]]:
    """The columns of a new archive, as its own schema has them."""
    with closing(sqlite3.connect(_new_archive())) as connection:
        names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        shadows = tuple(f"{table}_" for table in TEXT_TABLES)
        tables = [name for (name,) in names if not name.startswith(shadows)]
        return [
            (table, row[1]) for table in tables for row in connection.execute(f"PRAGMA table_info({table})")
        ]


def _new_archive() -> Path:
    import tempfile

    path = Path(tempfile.mkdtemp()) / "a.vidsum"
    connect(path, create=True).close()
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, Any]]]:
    """An archive with all kinds of evidence, and what the commands answer from it."""
    folder = tmp_path_factory.mktemp("hostile")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIDSUM_HOME", str(folder / "home"))
        use_archive(patch)
        use_names_of_sounds(patch)
        make_archive(folder)
        yield folder, {name: outcome(name, copy(folder)) for name in COMMANDS}


def make_archive(folder: Path) -> None:
    with Archive(folder / "a.vidsum") as archive:
        archive.add(film(folder / "videos" / "film.mp4"))
        archive.add(film(folder / "videos" / "sea.mp4", ("blue", "blue", "green"), seed=2))
        connection = archive._connection
        scores = np.zeros((10, 521), np.float32)
        scores[2:5], scores[7, 7] = 0.9, 0.6
        described = pack_rows(np.eye(3, dtype=np.float32)[:1]).tobytes()
        sentences = [Passage(1.0, 3.0, "A blue sea.")]
        with connection.transaction():
            store_evidence(connection, 1, spoken("The sea is blue.", "Grass is green."))
            store_evidence(connection, 1, written("EXIT blue"))
            store_evidence(connection, 1, Evidence("sound", pack_sounds(scores).tobytes()))
            store_evidence(connection, 1, Evidence("described", described, sentences, "0" * 64, "a model"))
            connection.execute("INSERT INTO claims VALUES (?, ?, ?)", (b"/claimed.mp4", "another", 9.0))
        connection.execute("PRAGMA journal_mode = DELETE")


def copy(folder: Path) -> Path:
    return Path(shutil.copy(folder / "a.vidsum", folder / "b.vidsum"))


def outcome(name: str, path: Path) -> Any:
    """The answer of a command, or the kind of an error that vidsum raises."""
    try:
        with Archive(path, create=False) as archive:
            return COMMANDS[name](archive, path.parent / "videos")
    except DamagedArchiveError as error:
        assert error.exit_code == 3
        assert "damaged (" in error.message
        assert "index the videos again" in str(error.hint)
        return "damaged"
    except VidsumError as error:
        return type(error).__name__


def tamper(path: Path, statement: str, value: object) -> bool:
    """Change rows, although the schema refuses NULL; False where SQLite cannot hold the value."""
    loosen = "UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '') WHERE type = 'table'"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        tables = connection.execute("SELECT sql, name FROM sqlite_schema WHERE type = 'table'").fetchall()
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(loosen)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        try:
            connection.execute(statement, (value,))
        except sqlite3.IntegrityError:
            return False
        connection.executemany("UPDATE sqlite_schema SET sql = ? WHERE name = ?", tables)
    return True


@pytest.fixture
def archive_of(made: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> Any:
    folder, _ = made
    monkeypatch.setenv("VIDSUM_HOME", str(folder / "home"))
    use_archive(monkeypatch)
    use_names_of_sounds(monkeypatch)
    return made


def check(
    made: tuple[Path, dict[str, Any]], table: str, column: str, value: object, commands: Sequence[str]
) -> None:
    """Require of each command that it notices a value, or answers as if it were not there."""
    folder, expected = made
    path = copy(folder)
    key = {"files": "path", "claims": "path"}.get(table, "rowid")
    first = f"(SELECT min({key}) FROM {table})"
    if not tamper(path, f"UPDATE {table} SET {column} = ? WHERE {key} = {first}", value):
        return
    found = {name: outcome(name, path) for name in commands}
    if any(value == valid and type(value) is type(valid) for valid in VALID.get((table, column), ())):
        return
    noticed = {name for name in commands if found[name] == "damaged"}
    differing = {name for name in commands if name not in noticed and found[name] != expected[name]}
    assert differing == set(), value
    # whoever reads records and shots sees what they are; all else of these tables is always seen
    is_for_all = table in _OF_ALL and not isinstance(value, bytes) and (column, value) != _NO_SHOT
    assert noticed == {*commands} if is_for_all else noticed, value


def test_each_column_has_its_values() -> None:
    assert {(table, name) for table, names in COLUMNS.items() for name in names} == {*columns()}


def test_commands_answer_from_a_whole_archive(archive_of: Any) -> None:
    _, expected = archive_of
    assert [name for name, answer in expected.items() if not answer or isinstance(answer, str)] == []


@pytest.mark.parametrize(("table", "column"), columns())
def test_hostile_values(table: str, column: str, archive_of: Any) -> None:
    for value in FEW:
        check(archive_of, table, column, value, QUICK)


@pytest.mark.deep
@pytest.mark.parametrize(("table", "column"), columns())
def test_more_hostile_values(table: str, column: str, archive_of: Any) -> None:
    for value in VALUES:
        check(archive_of, table, column, value, [*COMMANDS])
