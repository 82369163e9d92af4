"""Web addresses as inputs; passwords and tokens in them are never printed or written."""

import os
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

import vidsum
from tests.archive.made import film, use_live
from tests.checkpoints.server import Server, running_server, send
from tests.commands.conftest import csv_rows
from tests.program import Run
from vidsum.errors import InputError


@pytest.fixture
def server(film: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("VIDSUM_HOME", str(tmp_path / "home"))
    content = film.read_bytes()
    with running_server() as running:
        running.serve("/a/film.mp4", lambda handler: send(handler, content, "video/mp4"))
        running.serve("/b/text.mp4", lambda handler: send(handler, b"no video", "video/mp4"))
        yield running


@pytest.mark.deep
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_url_input(run: Run, server: Server, film: Path, jobs: str) -> None:
    url = f"{server.url}/a/film.mp4"
    run("shots", url, "--output-dir", "out")
    (record,) = Path("out").glob("film_*_shots.json")
    bad = [f"{server.url}/b/text.mp4", f"{server.url}/gone.mp4"]
    ran = run("shots", *bad, url, "--json", "--table", "rows.csv", "-j", jobs, code=1)
    codes = [(line["input"], line["exit_code"]) for line in ran.json_lines]
    assert codes == [(bad[0], 3), (bad[1], 3), (url, 0)]
    assert "404" in ran.json_lines[1]["errors"][0]["message"]
    assert Path(record.name).is_file()
    assert [row["input"] for row in csv_rows("rows.csv")] == [*bad, url]


def test_url_up_to_date(run: Run, server: Server) -> None:
    url = f"{server.url}/a/film.mp4"
    run("shots", url)
    again = run("shots", url)
    assert "unchanged" in again.out
    requests = len(server.received)
    run("shots", url, "--skip-existing")
    assert len(server.received) == requests
    too_large = run("info", f"{server.url}/a/film.mp4", "--max-download", "0.000001", code=3)
    assert "VIDSUM_INFO_MAX_DOWNLOAD=GB" in too_large.err


CANARY = "hunter2"
QUERY = ("--query", "red", "--min-present", "0.3")


def test_secrets_in_outputs(
    run: Run, tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_live(monkeypatch)
    content = film(tmp_path / "made" / "film.mp4").read_bytes()
    with running_server() as server:
        user = server.url.replace("//", f"//me:{CANARY}@")
        urls = [f"{user}/{name}?token={CANARY}#{CANARY}" for name in ("get", "a/film.mp4", "gone", "page")]
        for path in ("/get", "/a/film.mp4"):
            full = f"{path}?token={CANARY}"
            server.serve(full, lambda handler: send(handler, content, "video/mp4"))
        server.serve(f"/page?token={CANARY}", f"<html>{CANARY}".encode())
        server.serve(f"/gone?token={CANARY}", lambda handler: handler.send_error(404, f"no {CANARY} here"))
        url, closed = urls[0], f"http://me:{CANARY}@127.0.0.1:9/x"
        camera = f"rtsp://cam:{CANARY}@127.0.0.1:9/x"
        odd = [
            f"ftp://a:{CANARY}@h/x", f"http://me:{CANARY}@[/", f" {url}", f"rtsp://me:{CANARY}/?@h/x", camera,
        ]  # fmt: skip
        Path("list.txt").write_text("\n".join(odd))
        tables = ("--table", "t.csv")
        commands = [
            ("info", *urls, closed, "--from-file", "list.txt", *tables),
            ("info", *urls, *odd, "--json", "-v", "-j", "2"),
            ("index", *urls, "--archive", "a.vidsum"),
            ("search", "red", "--archive", "a.vidsum", "-o", "rows.csv"),
            ("search", "--like", url, "--archive", "a.vidsum"),
            ("watch", camera, *QUERY, "-v"),
            ("watch", urls[2], *QUERY),
            ("watch", url, *QUERY, "--json", "--clips-dir", "alerts", "--idle", "0.5s"),
            ("watch", url, url, *QUERY),
            ("shots", url, "-o", f"{url}.json"),
            ("search", "red", "--archive", f"postgresql://me:{CANARY}@127.0.0.1:9/x?password={CANARY}"),
            *((command, url) for command in ("export", "report", "serve")),
        ]
        for command in commands:
            ran = run(*command, code=None)
            assert CANARY not in ran.out + ran.err, command
        for call in (vidsum.download, vidsum.probe):
            for name in (urls[2], closed, camera):
                with pytest.raises(InputError) as fault:
                    call(name)
                assert CANARY not in "".join(traceback.format_exception(fault.value))
    written = [path for path in tmp_path.rglob("*") if path.name != "list.txt"]
    assert [path for path in written if CANARY in os.fsdecode(path)] == []
    files = [path for path in written if path.is_file()]
    assert {"a.vidsum", "rows.csv", "t.csv"} <= {path.name for path in files}
    assert [path for path in files if CANARY.encode() in path.read_bytes()] == []
    assert len([path for path in own_home.rglob("*.mp4") if path.stem.startswith(("get_", "film_"))]) == 2
