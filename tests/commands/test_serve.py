"""`vidsum serve`, `vidsum watch` and `vidsum mcp`."""

import json
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from docs.console import ROOT, same
from tests.archive.made import film, use_archive, use_live
from tests.conftest import deep, real_weights
from tests.program import Run, heed_interruptions
from vidsum.archive.archive import Archive
from vidsum.io.packages import EXTRAS
from vidsum.io.paths import home

SERVE = [sys.executable, "-m", "vidsum", "serve", "--port", "0", "--json", "--archive"]


@pytest.fixture
def archive(tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use_archive(monkeypatch)
    with Archive(tmp_path / "a.vidsum") as made:
        made.add(film(tmp_path / "film.mp4"))
    return tmp_path / "a.vidsum"


@pytest.mark.parametrize("stop", [signal.SIGTERM, deep(signal.SIGINT)])
def test_serve_until_stopped(tmp_path: Path, stop: signal.Signals) -> None:
    with Archive(tmp_path / "empty.vidsum") as archive:
        assert archive.videos() == []
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    server = subprocess.Popen([*SERVE, tmp_path / "empty.vidsum"], **pipes, preexec_fn=heed_interruptions)
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


HOME = home()


def test_without_the_package(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXTRAS, "mcp", ("no_such_module",))  # type: ignore[arg-type]
    run("mcp", ".", code=1, error=("vidsum mcp needs no_such_module", "vidsum[mcp]"))
    run("mcp", code=2, error=("the folders that the model may read", "try: vidsum mcp ~/Videos"))


def test_a_folder_that_is_missing(run: Run) -> None:
    pytest.importorskip("mcp", reason="needs vidsum[mcp]")
    run("mcp", ".", "none", code=3, error="none: no such folder")


def test_writes_nothing_until_it_is_asked(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("mcp.server", reason="needs vidsum[mcp]")
    served = list[object]()
    monkeypatch.setattr("vidsum.archive.mcp_process.Process.serve", lambda _, server: served.append(server))
    ran = run("mcp", ".", "--write", tmp_path / "clips")
    assert (len(served), ran.out) == (1, "")
    assert not (tmp_path / "clips").exists()


@pytest.mark.deep
@pytest.mark.weights
def test_the_session_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mcp", reason="needs vidsum[mcp]")
    monkeypatch.setenv("VIDSUM_HOME", str(HOME))
    for name in ("efficientnet_lite0", "minilm"):
        real_weights(name)
    page = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (printed,) = re.findall(r"```\n(\[.*?)```", page, re.DOTALL)
    start = 'command=sys.executable, env=dict(os.environ), args=["-m", "vidsum", '
    program = "import os, sys\n" + program.replace('command="vidsum", args=[', start)
    shutil.copytree(ROOT / "docs" / "sample", "docs/sample")
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert same(ran.stdout, printed)
    assert Path("clips/meadow.mp4").is_file()
