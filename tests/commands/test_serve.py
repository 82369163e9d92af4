"""`vidsum serve`."""

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.archive.made import film, use_archive
from tests.program import Run
from vidsum.archive.archive import Archive

SERVE = [sys.executable, "-m", "vidsum", "serve", "--port", "0", "--json", "--archive"]


def _hears_ctrl_c() -> None:
    """Processes in the background of a shell ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def archive(tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of one video."""
    use_archive(monkeypatch)
    with Archive(tmp_path / "a.vidsum") as made:
        made.add(film(tmp_path / "film.mp4"))
    return tmp_path / "a.vidsum"


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_stopped(tmp_path: Path, stop: signal.Signals) -> None:
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


def test_a_port_that_is_taken_is_one_line(run: Run, archive: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = run("serve", "--archive", archive, "--port", port, code=2)
    assert f"error: port {port} of 127.0.0.1 cannot be used (address already in use)" in ran.err
    assert "--port" in ran.err.splitlines()[-1]


def test_open_opens_the_page(run: Run, archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = list[str]()

    def begin(server: object, poll_interval: float = 0.5) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("vidsum.archive.serve.Server.serve_forever", begin)
    ran = run("serve", "--archive", archive, "--port", "0", "--open", "--token", "secret")
    assert opened == [ran.out.splitlines()[0]]
    assert opened[0].endswith("/?token=secret")
