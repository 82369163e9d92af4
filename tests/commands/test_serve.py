"""`vidsum serve` and `vidsum mcp`."""

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
from tests.archive.made import film, use_archive
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
def test_server_answers_until_a_signal_stops_it(tmp_path: Path, stop: signal.Signals) -> None:
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


def test_port_that_is_taken_is_refused_with_the_option(run: Run, archive: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = run("serve", "--archive", archive, "--port", port, code=2)
    assert f"error: port {port} of 127.0.0.1 cannot be used (address already in use)" in ran.err
    assert "--port" in ran.err.splitlines()[-1]


def test_browser_opens_the_printed_address_with_its_token(
    run: Run, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = list[str]()

    def begin(server: object, poll_interval: float = 0.5) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("vidsum.archive.serve.Server.serve_forever", begin)
    ran = run("serve", "--archive", archive, "--port", "0", "--open", "--token", "secret")
    assert opened == [ran.out.splitlines()[0]]
    assert opened[0].endswith("/?token=secret")


HOME = home()


def test_package_that_mcp_lacks_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXTRAS, "mcp", ("no_such_module",))  # type: ignore[arg-type]
    run("mcp", ".", code=1, error=("vidsum mcp needs no_such_module", "vidsum[mcp]"))


def test_mcp_needs_the_folders_that_a_model_may_read(run: Run) -> None:
    run("mcp", code=2, error=("the folders that the model may read", "try: vidsum mcp ~/Videos"))


def test_folder_of_mcp_that_is_missing_is_refused(run: Run) -> None:
    pytest.importorskip("mcp", reason="needs vidsum[mcp]")
    run("mcp", ".", "none", code=3, error="none: no such folder")


def test_mcp_makes_no_folder_until_a_clip_is_written(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
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
