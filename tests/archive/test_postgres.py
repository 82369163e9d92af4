"""An archive on a server answers as one in a file."""

import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.archive.made import count, film, make_with, spoken
from tests.archive.serving import new_database, serving
from tests.conftest import deep
from tests.server.serving import ask
from vidsum.archive import index, postgres
from vidsum.archive.archive import Archive
from vidsum.archive.matches import Match
from vidsum.archive.postgres import public_name
from vidsum.archive.stored_evidence import NewEvidence
from vidsum.errors import DamagedArchiveError, InputError, OutputError, UsageError

pytestmark = pytest.mark.usefixtures("colours")
SEARCHES: list[dict[str, Any]] = [
    {"text": "red"},
    {"text": "blue", "duplicates": True},
    {"text": "blue", "evidence": "picture", "per_video": 1},
    {"text": "green", "then": ["blue"]},
    {"text": "yellow", "without": ["red"], "also": ["green"]},
    {"text": "blue", "evidence": "speech"},
    {"text": "green", "path": ["gr*.mp4"], "min_present": 0.1},
    {"text": "green", "after": "1971-01-01"},
]


@pytest.fixture
def url(postgres: str) -> str:
    return new_database(postgres)


@pytest.fixture
def videos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "videos"
    film(folder / "film.mp4")
    film(folder / "grass.mp4", ("green", "green", "green", "yellow"), seed=1)
    film(folder / "sea.mp4", ("blue", "blue", "green"), seed=2)
    shutil.copy(folder / "sea.mp4", folder / "copy.mp4")
    os.utime(folder / "grass.mp4", (86400, 86400))
    texts = {"film.mp4": ("the sky is blue today.", "nothing else."), "sea.mp4": ("unrelated talk.",)}

    def hear(video: str, is_wanted: bool) -> NewEvidence | None:
        return spoken(*texts.get(Path(video).name, ("silence.",))) if is_wanted else None

    make_with(monkeypatch, speech=hear)
    return folder


def rounded(matches: list[Match]) -> list[Match]:
    values = ((item, round(item.score, 5), item.present and round(item.present, 5)) for item in matches)
    return [replace(item, score=score, present=present, archive="") for item, score, present in values]


@pytest.mark.parametrize(
    ("options", "is_local"),
    [
        ({}, True),
        ({"host": "localhost"}, True),
        ({"host": "/run/postgresql"}, True),
        ({"host": "db.example"}, False),
        ({"host": "localhost,db.example"}, False),
        ({"host": "localhost", "hostaddr": "192.0.2.7"}, False),
        ({"service": "films"}, False),
    ],
)
def test_host_of_a_connection_is_local_by_its_options(options: dict[str, str], is_local: bool) -> None:
    assert postgres._is_local(options) == is_local


@pytest.mark.parametrize("name", ["PGHOST", "PGHOSTADDR", "PGSERVICE"])
def test_host_of_a_connection_may_be_in_a_variable(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "192.0.2.7")
    assert not postgres._is_local({})


def test_server_answers_as_a_file(url: str, videos: Path, tmp_path: Path) -> None:
    with Archive(tmp_path / "a.vidsum") as file, Archive(url) as server:
        for archive in (file, server):
            assert [item.state for item in archive.add(videos, transcribe=True)] == ["added"] * 4
            assert [item.state for item in archive.add(videos)] == ["unchanged"] * 4
        assert file.videos() == server.videos()
        for options in SEARCHES:
            expected = file.search(**options)
            assert rounded(server.search(**options)) == rounded(expected), options
            assert [*map(server.picture, expected)] == [*map(file.picture, expected)]
        assert any(file.search(**options) for options in SEARCHES)


def test_server_changes(url: str, videos: Path) -> None:
    with Archive(url) as archive:
        archive.add(videos, transcribe=True)
        (videos / "film.mp4").rename(videos / "new.mp4")
        film(videos / "grass.mp4", ("blue",), seed=7)
        (videos / "copy.mp4").unlink()
        states = {Path(item.video).name: item.state for item in archive.add(videos, fast=True)}
        assert states == {"new.mp4": "moved", "grass.mp4": "changed", "sea.mp4": "unchanged"}
        assert archive.mark_gone(videos) == [str(videos / "copy.mp4")]
        assert len(archive.videos()) == 3
        archive.add(videos)
        assert count(archive, "videos WHERE fast = 1") == 0
        assert archive.remove(*videos.iterdir(), videos / "copy.mp4") == 4
        tables = ("videos", "files", "shots", "passages", "evidence")
        assert all(count(archive, table) == 0 for table in tables)


def test_videos_that_many_processes_add_are_all_there(url: str, videos: Path) -> None:
    def work(_: int) -> int:
        with Archive(url) as values:
            return len(values.add(videos))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [4] * 4
    with Archive(url) as archive:
        assert (count(archive, "videos"), count(archive, "files")) == (3, 4)


def test_server_interrupted(url: str, videos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*arguments: object) -> None:
        raise KeyboardInterrupt

    with Archive(url) as archive:
        with monkeypatch.context() as context:
            context.setattr(index, "drop_orphans", stop)
            with pytest.raises(KeyboardInterrupt):
                archive.add(videos)
        assert [count(archive, table) for table in ("videos", "files", "shots")] == [0, 0, 0]
        assert archive.add(videos)


def test_server_without_archive_or_of_newer_version(url: str) -> None:
    with pytest.raises(InputError, match="no such archive") as raised:
        Archive(url, create=False)
    assert "vidsum index FOLDER --archive postgresql:///test" in str(raised.value.hint)
    with pytest.raises(OutputError, match="cannot be used"):
        Archive(url.replace("/test", "/none"))
    with Archive(url) as archive:
        archive._connection.execute("UPDATE schema SET version = 99")
    with pytest.raises(InputError, match="has schema 99"):
        Archive(url)


def test_archive_that_is_written_to_is_locked(
    url: str, videos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Archive(url) as item, item._connection.transaction():
        monkeypatch.setattr(postgres, "_WAIT_S", 1)
        with Archive(url) as other, pytest.raises(OutputError, match="another process"):
            other.add(videos)


def test_server_closes_connection(url: str, videos: Path) -> None:
    with Archive(url) as archive:
        archive.add(videos)
        with Archive(url) as other:
            query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid != pg_backend_pid()"
            other._connection.execute(f"{query} AND datname = current_database()")
        with pytest.raises(OutputError, match="cannot be used") as raised:
            archive.search("red")
        assert raised.value.ends_batch


def test_public_name() -> None:
    assert public_name("postgresql://me:secret@host:5433/db?password=x") == "postgresql://host:5433/db"
    assert public_name("postgresql:///db?host=/run") == "postgresql:///db"
    pytest.importorskip("psycopg")
    with pytest.raises(UsageError, match="no address") as raised:
        Archive("postgresql://me:secret@host:port/db?nonsense=1")
    assert "secret" not in str(raised.value)


def test_missing_psycopg_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(UsageError, match="needs psycopg") as raised:
        Archive("postgresql://host/db")
    assert "vidsum[postgres]" in str(raised.value.hint)


def test_its_page_is_that_of_a_file(url: str, videos: Path, tmp_path: Path) -> None:
    pages = []
    for where in (url, tmp_path / "a.vidsum"):
        with Archive(where) as archive:
            archive.add(videos, transcribe=True, device="cpu")
        with serving(where) as served:
            requests = ("/api/archive", "/api/video/1", "/thumb/1.jpg", "/video/2", "/api/search?q=blue&k=3")
            answers = [ask(served, path) for path in requests]
            assert [answer.status for answer in answers] == [200] * 5
            like = ask(served, "/api/search?like=1&k=1").json["moments"]
            about = answers[0].json | {"archive": "", "index": ""}
            result = [(item["id"], item["shot"], item["start_s"]) for item in answers[4].json["moments"]]
            pages.append((about, answers[1].json, answers[2].body, answers[3].body, result, like[0]["id"]))
    assert pages[0] == pages[1]


def test_hosts_of_others_are_refused_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psycopg")
    monkeypatch.setenv("VIDSUM_OFFLINE", "1")
    far = ("//192.0.2.1/x", "//db.example.org/x", "//127.0.0.1,192.0.2.1/x", "///x?service=far")
    for address in (*far, "//localhost/x?hostaddr=192.0.2.1"):
        with pytest.raises(InputError, match="VIDSUM_OFFLINE"):
            Archive(f"postgresql:{address}", create=False)
    for address in ("//127.0.0.1:9/x", "///x?host=/nowhere"):
        with pytest.raises(OutputError, match="cannot be used"):
            Archive(f"postgresql:{address}", create=False)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE videos SET duration_s = 'NaN'",
        deep("UPDATE videos SET duration_s = 'Infinity'"),
        deep("UPDATE videos SET duration_s = -1"),
        deep("UPDATE videos SET start_offset_s = 1e300"),
        deep("UPDATE videos SET sha256 = repeat('x', 64)"),
        "UPDATE videos SET scan = 'abc'",
        deep("UPDATE videos SET edges = ''"),
        deep("UPDATE files SET mtime_ns = -9223372036854775808"),
        deep("UPDATE files SET gone_s = 'NaN'"),
        deep("UPDATE shots SET start_s = 9"),
        deep("UPDATE passages SET certain = 'NaN'"),
        deep("UPDATE passages SET end_s = '-Infinity'"),
        "DELETE FROM passages",
        deep("ALTER TABLE videos DROP COLUMN added_s"),
        "ALTER TABLE files ALTER COLUMN mtime_ns TYPE TEXT",
        "DROP TABLE shots",
        deep("DROP TABLE claims"),
        deep("ALTER TABLE passages DROP COLUMN words"),
    ],
)
def test_hostile_rows_of_a_server_are_refused(url: str, videos: Path, statement: str) -> None:
    with Archive(url) as archive:
        archive.add([videos / "film.mp4"], transcribe=True)
        assert archive.search("blue")
        archive._connection.execute(statement)
        with pytest.raises(DamagedArchiveError, match="damaged") as raised:
            archive.search("blue")
    assert "index the videos again" in str(raised.value.hint)
