"""Sources that arrive while they are read."""

import itertools
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.checkpoints.server import running_server, send
from tests.hostile import redirect
from tests.media import MadeVideo, make_video, read_number
from vidsum.errors import InputError
from vidsum.video import live, streams
from vidsum.video.frames import Sampling
from vidsum.video.live import IDLE_S, LiveFrame, parse_source, read_live
from vidsum.video.probe import probe
from vidsum.video.read import read_frames

SAMPLING = Sampling(2.0)


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "LOOK_S", 0.01)
    monkeypatch.setattr(streams, "_BACK_OFF_S", (0.05,))


def numbers(frames: Iterator[LiveFrame]) -> list[tuple[float, int]]:
    return [(frame.time_s, read_number(frame.image)) for frame in frames]


def in_batch(path: Path, sampling: Sampling = SAMPLING) -> list[tuple[float, int]]:
    with read_frames(probe(path), [sampling]) as frames:
        return [(frame.time_s, read_number(frame.image)) for _, frame in frames]


def test_file_is_read_once_unless_it_is_followed(tmp_path: Path) -> None:
    (tmp_path / "film.mp4").touch()
    once, followed = (parse_source(str(tmp_path / "film.mp4"), follow=follow) for follow in (False, True))
    assert (once.kind, once.idle_s) == ("file", None)
    assert (followed.kind, followed.idle_s) == ("growing file", IDLE_S)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("rtsp://192.0.2.1/a", "stream"), ("-", "pipe"), ("camera", "camera"), ("camera:2", "camera")],
)
def test_kind_of_a_source_is_that_of_its_name(name: str, kind: str) -> None:
    assert parse_source(name).kind == kind


@pytest.mark.parametrize("name", ["rtsp://192.0.2.1/a", "-", "camera"])
def test_live_source_ends_after_the_silence_that_is_chosen(name: str) -> None:
    assert parse_source(name, idle_s=3.0).idle_s == 3.0


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".ts"])
@pytest.mark.parametrize("fps", [2.0, 3.0])
def test_live_samples_are_those_of_a_file(tmp_path: Path, suffix: str, fps: float) -> None:
    path = make_video(tmp_path / f"film{suffix}", n_frames=47, fps=25, start_s=0.5, b_frames=2).path
    sampling, warnings = Sampling(fps), list[str]()
    assert numbers(read_live(parse_source(str(path)), [sampling], warnings.append)) == in_batch(
        path, sampling
    )
    assert warnings == []


def test_growing_file_is_read_to_its_end(live_film: MadeVideo, tmp_path: Path) -> None:
    target, data = tmp_path / "grows.ts", live_film.path.read_bytes()
    target.write_bytes(data[: len(data) // 3])

    def write_on() -> None:
        with target.open("ab") as file:
            for start in range(len(data) // 3, len(data), 20_000):
                time.sleep(0.02)
                file.write(data[start : start + 20_000])
                file.flush()

    writer = threading.Thread(target=write_on)
    writer.start()
    live_numbers = numbers(read_live(parse_source(str(target), follow=True, idle_s=0.5), [SAMPLING], print))
    writer.join()
    assert live_numbers == in_batch(live_film.path)


def test_files_of_a_folder_are_read_one_behind_the_other(live_film: MadeVideo, tmp_path: Path) -> None:
    shutil.copy(live_film.path, tmp_path / "1.ts")

    def add() -> None:
        (tmp_path / "2.ts").touch()
        time.sleep(1.2)  # longer than a segment with pictures may stay as it is
        shutil.copy(live_film.path, tmp_path / "2.ts")

    threading.Thread(target=add).start()
    live_numbers = numbers(read_live(parse_source(str(tmp_path), idle_s=2.0), [SAMPLING], print))
    once = in_batch(live_film.path)
    assert live_numbers == once + [(time_s + 7.0, number) for time_s, number in once]


def test_broken_file_of_a_folder_warns_and_is_left_out(live_film: MadeVideo, tmp_path: Path) -> None:
    (tmp_path / "00 notes.txt").write_text("not a video")
    (tmp_path / "01 broken.mp4").write_bytes(b"\0\0\0\x18ftypisom" + bytes(100))
    shutil.copy(live_film.path, tmp_path / "1.ts")
    warnings: list[str] = []
    source = parse_source(str(tmp_path), idle_s=0.3)
    assert numbers(read_live(source, [SAMPLING], warnings.append)) == in_batch(live_film.path)
    assert len(warnings) == 1
    assert "01 broken.mp4" in warnings[0]


@pytest.fixture
def served(live_film: MadeVideo) -> Iterator[str]:
    """The address of a stream that breaks off once, and is gone after its second time."""
    bodies = [live_film.path.read_bytes()] * 2

    def answer(handler: BaseHTTPRequestHandler) -> None:
        if bodies:
            handler.send_response(200)
            handler.send_header("Content-Type", "video/mp2t")
            handler.end_headers()
            handler.wfile.write(bodies.pop())
        else:
            handler.send_error(503)

    with running_server() as server:
        yield server.serve("/live.ts", answer)


def test_stream_that_breaks_off_goes_on_after_a_warning(served: str, live_film: MadeVideo) -> None:
    warnings: list[str] = []
    live_numbers = numbers(read_live(parse_source(served, idle_s=0.3), [SAMPLING], warnings.append))
    once = in_batch(live_film.path)
    assert live_numbers[: len(once)] == once
    assert [number for _, number in live_numbers[len(once) :]] == [number for _, number in once]
    times = [time_s for time_s, _ in live_numbers]
    assert times == sorted(set(times))
    assert "connecting again in 0.05 s" in warnings


def test_samples_of_all_rates_leave_out_the_time_that_a_broken_stream_lost(
    served: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier_s = itertools.chain([60.0], itertools.repeat(0.0))  # the stream began a minute ago
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() - next(earlier_s))
    monkeypatch.setattr(live, "time", clock)
    source = parse_source(served, idle_s=0.3)
    frames = [*read_live(source, [SAMPLING, Sampling(5.0)], lambda _: None)]
    for number in (0, 1):
        times_s = [frame.time_s for frame in frames if frame.sampling == number]
        assert max(after - before for before, after in itertools.pairwise(times_s)) > 20


@pytest.mark.parametrize("name", ["none.mp4", "nowhere/"])
def test_missing_source_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="no such file") as caught:
        parse_source(name)
    assert "camera" in str(caught.value.hint)


@pytest.mark.parametrize("name", ["rtsp://192.0.2.1/a", "-", "camera", "camera:2"])
def test_live_source_never_ends_by_itself(name: str) -> None:
    assert parse_source(name).idle_s is None


@pytest.mark.parametrize(
    ("name", "follow", "kind", "idle_s"),
    [
        ("a.ts", False, "file", None),
        ("a.ts", True, "growing file", live.IDLE_S),
        (".", False, "folder", live.IDLE_S),
    ],
)
def test_kind_of_a_path_and_when_it_ends(
    name: str, follow: bool, kind: str, idle_s: float | None, tmp_path: Path
) -> None:
    (tmp_path / "a.ts").touch()
    source = parse_source(str(tmp_path / name), follow=follow)
    assert (source.kind, source.idle_s) == (kind, idle_s)


@pytest.mark.parametrize(("name", "is_local"), [
    ("rtsp://192.0.2.1/a", False), ("http://127.0.0.1:80/a.ts", True), ("http://user@localhost/a", True),
    ("rtsp://localhost/a", False), ("http://[::1]/a", True), ("http://localhost@example.org/", False),
    ("http://127.example.org/", False), ("http://[/", False), ("udp://@:1234", True), ("camera", True),
    ("-", True),
])  # fmt: skip
def test_only_sources_of_this_machine_work_offline(name: str, is_local: bool) -> None:
    assert parse_source(name).works_offline == is_local


def test_mp4_from_a_pipe_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its index is at the end, where a pipe cannot go."""
    film = make_video(tmp_path / "film.mp4", n_frames=400, fps=25, sound=True)
    prints = "import pathlib, sys; sys.stdout.buffer.write(pathlib.Path(sys.argv[1]).read_bytes())"
    command = [sys.executable, "-c", prints, str(film.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as cat:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=cat.stdout))
        with pytest.raises(InputError) as caught:
            list(read_live(parse_source("-"), [SAMPLING], list[str]().append))
    assert "-f mpegts" in str(caught.value.hint)


def test_growing_file_that_is_no_video_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.ts").write_bytes(bytes(1000))
    with pytest.raises(InputError, match="not a video"):
        list(read_live(parse_source(str(tmp_path / "a.ts"), follow=True, idle_s=0.05), [SAMPLING], print))


def test_growing_file_that_names_other_files_is_refused(
    tmp_path: Path, live_film: MadeVideo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(live_film.path, "film.ts")
    Path("list.ts").write_text("ffconcat version 1.0\nfile film.ts\n")
    with pytest.raises(InputError, match="not a video"):
        list(read_live(parse_source("list.ts", follow=True, idle_s=0.05), [SAMPLING], print))


def test_stream_that_cannot_be_reached_is_refused() -> None:
    frames = read_live(parse_source("http://127.0.0.1:9/none.ts"), [SAMPLING], print)
    with pytest.raises(InputError, match="cannot connect"):
        next(frames)


# --- with VIDSUM_OFFLINE=1, no answer leads to another machine or to a name server ---


ROOT = Path(__file__).parents[2]
AWAY = "http://192.0.2.1/film.ts"
PROGRAM = """
import sys
from vidsum.errors import InputError
from vidsum.video.frames import LongSide, Sampling
from vidsum.video.live import parse_source, read_live
for url in sys.argv[1:]:
    source = parse_source(url, idle_s=0.1)
    try:
        if source.works_offline:
            list(read_live(source, [Sampling(2.0, LongSide(32))], print))
        print("read" if source.works_offline else "refused")
    except InputError as error:
        print(error.message)
"""


def test_offline_connects_to_no_other_machine(tmp_path: Path) -> None:
    # notes what a program asks the network for
    trace = ["strace", "-f", "-qq", "-e", "trace=network", "-o", str(tmp_path / "calls")]
    if not shutil.which("strace") or subprocess.run([*trace, "true"], check=False).returncode:
        pytest.skip("strace is not installed, or may not trace")
    film = make_video(tmp_path / "film.ts", n_frames=20).path.read_bytes()
    hls = f"#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\n{AWAY}\n#EXT-X-ENDLIST\n".encode()
    dash = f'<MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><BaseURL>{AWAY}</BaseURL></MPD>'.encode()
    with running_server() as server:
        server.serve("/film.ts", lambda handler: send(handler, film, "video/mp2t"))
        server.serve("/away", redirect(AWAY))
        server.serve("/name", redirect("http://vidsum.invalid/film.ts"))
        server.serve("/live.m3u8", lambda handler: send(handler, hls, "application/vnd.apple.mpegurl"))
        server.serve("/live.mpd", lambda handler: send(handler, dash, "application/dash+xml"))
        port = server.url.rpartition(":")[2]
        led = [f"{server.url}/{name}" for name in ("away", "name", "live.m3u8", "live.mpd")]
        hosts = ("192.0.2.1", "[2001:db8::1]", "vidsum.invalid", os.uname().nodename, "127.1", "0x7f000001")
        further = [f"http://{host}:{port}/film.ts" for host in hosts]
        further += [
            f"rtsp://127.0.0.1:{port}/x",
            f"rtmp://localhost:{port}/x",
            f"http://localhost@192.0.2.1:{port}/",
        ]
        local = [f"{server.url}/film.ts", f"http://localhost:{port}/film.ts"]
        environment = os.environ | {"VIDSUM_OFFLINE": "1", "PYTHONPATH": str(ROOT), "http_proxy": AWAY}
        ran = subprocess.run(
            [*trace, sys.executable, "-c", PROGRAM, *led, *further, *local],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
    lines = [line for line in ran.stdout.splitlines() if "connecting again" not in line]
    answers = [line for line in lines if "cannot connect" not in line]
    assert answers == ["refused"] * len(further) + ["read"] * 2
    calls = (tmp_path / "calls").read_text()
    assert set(re.findall(r'inet_addr\("([^"]+)"\)', calls)) == {"127.0.0.1"}
    assert set(re.findall(r"htons\((\d+)\)", calls)) <= {port, "0"}
