"""Values that vidsum does not write, in each column of the schema: an answer is right, or "damaged"."""

import math
import resource
import shutil
import sqlite3
import struct
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.archive.made import film, spoken, use_archive, written
from tests.conftest import deep_but, fewer_examples
from tests.grounding.colours import use_names_of_sounds
from vidsum.archive import answers
from vidsum.archive.archive import Archive
from vidsum.archive.rows import COLUMNS
from vidsum.archive.schema import PASSAGES
from vidsum.archive.serve import Server
from vidsum.archive.store import connect
from vidsum.archive.stored_evidence import NewEvidence, store_evidence
from vidsum.archive.tools import Folders, Tools
from vidsum.errors import DamagedArchiveError, VidsumError
from vidsum.evidence.audible import Audible, SoundScores
from vidsum.evidence.described import DescribedParts
from vidsum.evidence.passages import encode_passages
from vidsum.evidence.protocol import Passage

Command = Callable[[Archive, Path], Any]

VALUES = (
    *(None, "text", "inf", "", b"", b"\0" * 5, b"\xff" * 1000, 0, -1, 10**12, 2**62, -(2**63)),
    *(math.inf, -math.inf, 1e300, -0.5, 0.5),
)
FEW = (None, b"\xff" * 1000, math.inf)
"""Values of the default tests, of which each column has one; the deep tests have all."""
NUMBERS = tuple(value for value in VALUES if isinstance(value, float | int))
_TEXTS = ("text", "inf")
_SPAN = (0, 0.5, -1, -0.5)
VALID: dict[tuple[str, str], tuple[object, ...]] = {
    ("videos", "bytes"): (0, 10**12, 2**62),
    ("videos", "duration_s"): (0, 0.5),
    ("videos", "start_offset_s"): _SPAN,
    ("videos", "fast"): (0,),
    ("videos", "added_s"): (0, 0.5),
    ("evidence", "kind"): ("text",),
    ("evidence", "records"): (b"",),
    ("evidence", "made_from"): (None,),
    ("evidence", "made_with"): (None, "", *_TEXTS, *NUMBERS),
    ("videos", "usual_mean"): _SPAN,
    ("videos", "usual_deviation"): (0.5,),
    ("videos", "usual_best"): _SPAN,
    ("files", "path"): (b"\xff" * 1000,),
    ("files", "bytes"): (0, 10**12, 2**62),
    ("files", "mtime_ns"): (0, -1, 10**12, 2**62),
    ("files", "gone_s"): (None, 0, 0.5),
    ("shots", "start_s"): (0, 0.5),
    ("shots", "end_s"): (0, 0.5),
    ("shots", "actions"): (None,),
    ("claims", "path"): (b"\xff" * 1000,),
    ("claims", "owner"): (*_TEXTS, *NUMBERS),
    ("claims", "until_s"): (0, 0.5),
    (PASSAGES, "text"): ("", *_TEXTS),
    (PASSAGES, "kind"): ("text",),
    (PASSAGES, "certain"): (0, 0.5),
    (PASSAGES, "start_s"): _SPAN,
    (PASSAGES, "end_s"): _SPAN,
}
"""Values that vidsum may write: answers may differ. Any other is damage to whoever reads it."""


def find(query: str | None = "blue", **options: Any) -> Command:
    return lambda archive, _: archive.search(query, **options)


def serve(archive: Archive, folder: Path) -> Any:
    """Return the content of the page before and after a search."""
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
_OF_ALL = ("spaces", "videos", "files", "evidence", "claims")
"""Tables whose values every command reads; of the others, it reads the rows that its answer needs."""


def columns() -> list[tuple[str, str]]:
    """The columns of a new archive, as its own schema has them."""
    with tempfile.TemporaryDirectory() as folder:
        connect(Path(folder, "a.vidsum"), create=True).close()
        with closing(sqlite3.connect(Path(folder, "a.vidsum"))) as connection:
            rows = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
            tables = [name for (name,) in rows if not name.startswith(f"{PASSAGES}_")]
            facts = {table: connection.execute(f"PRAGMA table_info({table})").fetchall() for table in tables}
    return [(table, row[1]) for table, rows in facts.items() for row in rows]


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
        sounds = Audible.of(SoundScores(scores, 10.0)).pack()
        described = DescribedParts(encode_passages([Passage(1.0, 3.0, "A blue sea.")]), "a model").pack()
        with connection.transaction():
            store_evidence(connection, 1, spoken("The sea is blue.", "Grass is green."))
            store_evidence(connection, 1, written("EXIT blue"))
            store_evidence(connection, 1, NewEvidence("sound", sounds))
            store_evidence(connection, 1, NewEvidence("described", described, "0" * 64))
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
        return "damaged" if error.exit_code == 3 and error.hint else repr(error)
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


@pytest.mark.parametrize(
    ("table", "column", "value"), [(*place, FEW[n % len(FEW)]) for n, place in enumerate(columns())]
)
def test_hostile_values(table: str, column: str, value: object, archive_of: Any) -> None:
    check(archive_of, table, column, value, QUICK)


BLOBS = [
    *(("spaces", "axes"), ("videos", "edges"), ("videos", "scan"), ("shots", "clips")),
    ("evidence", "records"),
]
_CONTENT = st.one_of(st.binary(min_size=1, max_size=200), st.floats().map(struct.Struct("<d").pack))


@fewer_examples(5)
@pytest.mark.parametrize(("table", "column"), BLOBS)
@given(content=_CONTENT)
def test_records_of_any_size_and_content(table: str, column: str, content: bytes, archive_of: Any) -> None:
    """No other error than damage, and no answer beyond the video."""
    path = copy(archive_of[0])
    assert tamper(path, f"UPDATE {table} SET {column} = ? WHERE rowid = 1", content)
    for name in ("auto", "sound"):
        found = outcome(name, path)
        assert found == "damaged" or isinstance(found, list)
        for match in found if isinstance(found, list) else ():
            assert 0 <= match.start_s <= match.end_s <= 10
            assert match.present is None or 0 <= match.present <= 1


_SQL_OF_SHOTS = "UPDATE sqlite_schema SET sql = replace(sql, {!r}, {!r}) WHERE name = 'shots'"


@pytest.mark.parametrize(
    "statements",
    [
        ["DROP TABLE claims"],
        ["ALTER TABLE videos DROP COLUMN added_s"],
        ["ALTER TABLE videos RENAME COLUMN scan TO other"],
        ["ALTER TABLE videos ADD COLUMN more TEXT"],
        ["ALTER TABLE videos ADD COLUMN more AS (hex(zeroblob(900000000)))"],
        ["ALTER TABLE files RENAME TO old", "CREATE VIEW files AS SELECT * FROM old"],
        ["CREATE TRIGGER grow AFTER UPDATE ON files BEGIN DELETE FROM videos; END"],
        ["CREATE VIEW more AS SELECT 1"],
        ["CREATE INDEX more ON shots(hex(jpeg))"],
        ["DROP INDEX shots_of_video"],
        ["DROP TABLE passages", "CREATE TABLE passages(text, video, kind, start_s, end_s, certain)"],
        ["PRAGMA defensive = OFF", "DROP TABLE passages_config"],
        [_SQL_OF_SHOTS.format("-- a record", "DEFAULT '--', more AS (1) --")],
        [_SQL_OF_SHOTS.format("REAL NOT NULL", "REAL NOT NULL CHECK (1)")],
        ["UPDATE sqlite_schema SET sql = 5 WHERE name = 'shots'"],
        ["UPDATE sqlite_schema SET rootpage = 99999 WHERE name = 'videos'"],
    ],
)
def test_altered_schema(statements: list[str], archive_of: Any) -> None:
    path = copy(archive_of[0])
    tamper_schema(path, *statements)
    assert [outcome(name, path) for name in QUICK] == ["damaged"] * len(QUICK)


def tamper_schema(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        for statement in statements:
            connection.execute(statement)


def test_statistics_of_analyze_are_allowed(archive_of: Any) -> None:
    folder, expected = archive_of
    path = copy(folder)
    tamper_schema(path, "ANALYZE")
    assert outcome("auto", path) == expected["auto"]


@pytest.mark.parametrize(
    "place", deep_but(["shots.clips"], ["videos.sha256", "videos.scan", "shots.jpeg", "shots.clips"])
)
def test_a_value_of_a_hundred_megabytes(place: str, archive_of: Any) -> None:
    """It is refused before it is in memory."""
    path = copy(archive_of[0])
    table, column = place.split(".")
    assert tamper(path, f"UPDATE {table} SET {column} = zeroblob(?) WHERE id = 1", 100 << 20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "damaged" in [outcome(name, path) for name in QUICK]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # KiB
    path.unlink()


def test_damage_names_the_row_and_the_way_out(archive_of: Any) -> None:
    path = copy(archive_of[0])
    tamper(path, "UPDATE videos SET duration_s = ? WHERE id = 2", math.inf)
    with Archive(path) as archive, pytest.raises(DamagedArchiveError) as raised:
        archive.search("blue")
    assert raised.value.message == "the archive is damaged (videos.id 2: videos.duration_s is inf)"
    assert raised.value.exit_code == 3
    assert "index the videos again" in str(raised.value.hint)


@pytest.mark.deep
@pytest.mark.parametrize(("table", "column"), columns())
def test_more_hostile_values(table: str, column: str, archive_of: Any) -> None:
    """Each value meets the quick commands and a third of the others."""
    others = [name for name in COMMANDS if name not in QUICK]
    for number, value in enumerate(VALUES):
        check(archive_of, table, column, value, [*QUICK, *others[number % 3 :: 3]])
