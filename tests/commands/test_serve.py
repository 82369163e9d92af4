"""`vidsum serve` and `vidsum watch`."""

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.archive.made import film, use_archive, use_live
from tests.program import Run
from vidsum.archive.archive import Archive

SERVE = [sys.executable, "-m", "vidsum", "serve", "--port", "0", "--json", "--archive"]


def _hears_ctrl_c() -> None:
    """Processes in the background of a shell ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def archive(tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use_archive(monkeypatch)
    with Archive(tmp_path / "a.vidsum") as made:
        made.add(film(tmp_path / "film.mp4"))
    return tmp_path / "a.vidsum"


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_serve_until_stopped(tmp_path: Path, stop: signal.Signals) -> None:
    with Archive(tmp_path / "empty.vidsum") as archive:
        assert archive.videos() == []
    server = subprocess.Popen(
        [*SERVE, tmp_path / "empty.vidsum"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_hears_ctrl_c,
    )
    assert server.stdout
    data = json.loads(server.stdout.readline())["data"]
    assert data["url"].startswith("http://127.0.0.1:")
    with urlopen(f"{data['url']}api/archive") as answer:
        assert json.load(answer)["videos"] == 0
    server.send_signal(stop)
    out, err = server.communicate(timeout=20)
    assert server.returncode == (0 if stop == signal.SIGINT else 128 + stop)
    assert "Traceback" not in out + err
    assert [path.name for path in tmp_path.glob("empty*")] == ["empty.vidsum"]


def test_serve_port_in_use(run: Run, archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = run("serve", "--archive", archive, "--port", port, code=2)
    assert f"error: port {port} of 127.0.0.1 cannot be used (address already in use)" in ran.err
    assert "--port" in ran.err.splitlines()[-1]
    opened = list[str]()

    def begin(server: object, poll_interval: float = 0.5) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("vidsum.archive.serve.Server.serve_forever", begin)
    ran = run("serve", "--archive", archive, "--port", "0", "--open", "--token", "secret")
    assert opened == [ran.out.splitlines()[0]]
    assert opened[0].endswith("/?token=secret")


@pytest.fixture
def colours(tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two seconds each of red, green and blue, then yellow."""
    use_live(monkeypatch)
    return film(tmp_path / "film.mp4")


def test_a_line_of_json_per_second(run: Run, colours: Path) -> None:
    queries = ("--query", "green", "--query", "red")
    ran = run("watch", colours, *queries, "--min-present", "0.3", "--json")
    lines = [line["data"] for line in ran.json_lines]
    seconds = [line for line in lines if "time_s" in line]
    assert ran.code == 0
    assert [second["time_s"] for second in seconds] == list(range(10))
    assert set(seconds[0]["present"]) == {"green", "red"}
    assert seconds[0]["present"]["red"] > 0.3 > seconds[0]["present"]["green"]
    assert [line["alert"]["query"] for line in lines if "alert" in line] == ["red", "green", "red", "green"]
    assert lines[-1]["ended"]["seconds"] == 10
    ran = run("watch", colours, "--query", "green", "--min-present", "0.3", "--clips-dir", "alerts")
    began, ended, summary = ran.out.splitlines()
    assert began.startswith("0:02.00  green (0.")
    assert ended.startswith("0:02.00-0:04.00  green: over")
    assert ended.endswith("alerts/green_0h00m02s.mp4")
    assert summary == "10 s watched, 1 alert"
    assert Path("alerts/green_0h00m02s.mp4").is_file()
