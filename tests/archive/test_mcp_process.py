"""The ends of `vidsum mcp`: it is a process like any other, whatever it does when it is told to stop."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import media
from tests.conftest import deep

pytest.importorskip("mcp", reason="needs vidsum[mcp]")

CALLS = {
    "nothing": None,
    "summarize": {"video": "film.mp4", "budget": "5s"},
    "index": {},
    "clip": {"video": "film.mp4", "parts": [{"start_s": 0, "end_s": 60}], "name": "film.mp4"},
}
WAYS = ("SIGTERM", "SIGINT", "stdin", "stdout")
WAIT_S = 60  # of a loaded machine; a server that hangs fails the test


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A film that takes a while."""
    folder = tmp_path_factory.mktemp("videos")
    quick = {"preset": "ultrafast"}  # to make; to write its clip takes as long as ever
    media.make_video(folder / "film.mp4", n_frames=600, width=640, height=360, codec_options=quick)
    return folder


@pytest.fixture
def process(videos: Path, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    options = ["--archive", str(tmp_path / "a.vidsum"), "--write", str(tmp_path / "clips")]
    started = subprocess.Popen(
        [sys.executable, "-m", "vidsum", "mcp", str(videos), *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "VIDSUM_HOME": str(tmp_path / "home")},
    )
    with started:
        yield started
        started.kill()


def send(process: subprocess.Popen[bytes], method: str, number: int | None = None, **values: Any) -> None:
    assert process.stdin
    message = {"jsonrpc": "2.0", "method": method, "params": values}
    process.stdin.write(json.dumps(message | ({"id": number} if number else {})).encode() + b"\n")
    process.stdin.flush()


def begin(process: subprocess.Popen[bytes], tool: str) -> None:
    """Begin a session, and a call; return when it reports progress."""
    assert process.stdout
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    send(process, "initialize", 1, **about)
    assert b"serverInfo" in process.stdout.readline()
    send(process, "notifications/initialized")
    if CALLS[tool] is not None:
        send(process, "tools/call", 2, name=tool, arguments=CALLS[tool], _meta={"progressToken": 1})
        assert b"notifications/progress" in process.stdout.readline()


def end(process: subprocess.Popen[bytes], way: str) -> None:
    assert process.stdin
    assert process.stdout
    if way == "stdin":
        process.stdin.close()
    elif way == "stdout":
        process.stdout.close()
    else:
        process.send_signal(getattr(signal, way))


@pytest.mark.deep
@pytest.mark.parametrize("way", ["SIGTERM", deep("SIGINT"), "stdin", deep("stdout")])
def test_ends_during_a_call(way: str, process: subprocess.Popen[bytes], tmp_path: Path) -> None:
    check_end(process, way, "clip", tmp_path)


@pytest.mark.deep
@pytest.mark.parametrize("tool", ["nothing", "summarize", "index"])
@pytest.mark.parametrize("way", WAYS)
def test_ends(way: str, tool: str, process: subprocess.Popen[bytes], tmp_path: Path) -> None:
    check_end(process, way, tool, tmp_path)


def check_end(process: subprocess.Popen[bytes], way: str, tool: str, tmp_path: Path) -> None:
    begin(process, tool)
    end(process, way)
    assert process.wait(WAIT_S) in (0, 130)
    assert process.stderr
    assert process.stderr.read() == b""
    with pytest.raises(ProcessLookupError):  # nothing that it has started is left
        os.killpg(process.pid, 0)
    if (tmp_path / "clips").exists():
        assert [*(tmp_path / "clips").iterdir()] == []
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.deep
def test_ends_while_it_starts(process: subprocess.Popen[bytes]) -> None:
    assert process.stderr
    assert process.stdin
    process.stdin.close()
    assert process.wait(WAIT_S) == 0
    assert process.stderr.read() == b""


@pytest.mark.deep
def test_a_second_signal_changes_nothing(process: subprocess.Popen[bytes], tmp_path: Path) -> None:
    begin(process, "clip")
    for _ in range(3):
        process.terminate()
    assert process.wait(WAIT_S) == 0
    assert [*(tmp_path / "clips").iterdir()] == []
