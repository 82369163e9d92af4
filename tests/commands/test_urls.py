"""Inputs at web addresses: copied into the cache, one by one, and then read like files."""

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.checkpoints.server import Server, running_server, send
from tests.commands.conftest import Run


@pytest.fixture
def server(film: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("VIDSUM_HOME", str(tmp_path / "home"))
    content = film.read_bytes()
    with running_server() as running:
        running.serve("/a/film.mp4", lambda handler: send(handler, content, "video/mp4"))
        running.serve("/b/text.mp4", lambda handler: send(handler, b"no video", "video/mp4"))
        yield running


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_url_is_an_input_like_a_file(run: Run, server: Server, film: Path, jobs: str) -> None:
    url = f"{server.url}/a/film.mp4"
    assert run("shots", url, "--output-dir", "out").code == 0
    (record,) = Path("out").glob("film_*_shots.json")
    bad = [f"{server.url}/b/text.mp4", f"{server.url}/gone.mp4"]
    ran = run("shots", *bad, url, "--json", "--table", "rows.csv", "-j", jobs)
    assert [(line["input"], line["exit_code"]) for line in ran.json_lines] == [
        (bad[0], 3),
        (bad[1], 3),
        (url, 0),
    ]
    assert "404" in ran.json_lines[1]["errors"][0]["message"]
    assert Path(record.name).is_file()
    with Path("rows.csv").open() as file:
        assert [row["input"] for row in csv.DictReader(file)] == [*bad, url]


def test_an_unchanged_url_is_up_to_date(run: Run, server: Server) -> None:
    url = f"{server.url}/a/film.mp4"
    assert run("shots", url).code == 0
    again = run("shots", url)
    assert (again.code, "unchanged" in again.out) == (0, True)
    asked = len(server.asked)
    assert run("shots", url, "--skip-existing").code == 0
    assert len(server.asked) == asked


def test_bounds_and_other_protocols(run: Run, server: Server) -> None:
    too_large = run("info", f"{server.url}/a/film.mp4", "--max-download", "0.000001")
    assert (too_large.code, "VIDSUM_MAX_DOWNLOAD=GB" in too_large.err) == (3, True)
    stream = run("info", "rtsp://127.0.0.1/live")
    assert (stream.code, "download it first" in stream.err) == (3, True)
    watched = run("index", f"{server.url}/a/film.mp4", "--watch")
    assert (watched.code, "files and folders" in watched.err) == (2, True)
