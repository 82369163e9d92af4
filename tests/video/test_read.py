"""The reading thread: errors, its end and memory. Damage in words."""

import gc
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from tests.media import damage, make_video, video_info
from tests.video.conftest import Made
from vidsum.errors import InputError, UsageError
from vidsum.video.damage import DecodeLog, describe_damage, pictures_end_s
from vidsum.video.frames import Frame, Sampling
from vidsum.video.probe import probe
from vidsum.video.read import read_frames
from vidsum.video.threads import ReadAhead, fan_out

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/fd").is_dir(), reason="open files are listed in /proc only"
)


def reading_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "vidsum reader"]


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    yield
    gc.collect()
    for thread in reading_threads():
        thread.join(timeout=10)
    assert not reading_threads()


def test_strict_with_pyav_in_place_of_opencv(tmp_path: Path) -> None:
    film = make_video(tmp_path / "whole.mkv", n_frames=100)
    path = damage(film.path, tmp_path / "a%b.mkv")  # OpenCV would take it for a series of pictures
    with pytest.raises(InputError):
        list(read_frames(probe(path), [Sampling(2.0)], reader="opencv", strict=True))


class Source:
    """A generator of numbers that counts them and records the thread in which it is closed."""

    def __init__(self, end: int = 1_000_000, error: Exception | None = None) -> None:
        self.made, self.closed_in = 0, ""
        self.end, self.error = end, error

    def numbers(self) -> Generator[int, None, None]:
        try:
            for number in range(self.end):
                self.made += 1
                yield number
            if self.error:
                raise self.error
        finally:
            self.closed_in = threading.current_thread().name


def test_read_ahead_end() -> None:
    items = ReadAhead(Source(50).numbers(), capacity=3)
    assert list(items) == list(range(50))
    assert list(items) == []
    items = ReadAhead(Source(2, error=InputError("clip.mp4: gone")).numbers(), capacity=9)
    assert list(islice(items, 2)) == [0, 1]
    with pytest.raises(InputError, match="gone"):
        next(items)
    source = Source()
    items = ReadAhead(source.numbers(), capacity=3)
    for wanted in range(20):
        assert next(items) == wanted
        assert source.made <= wanted + 1 + 3 + 1  # given, waiting, and one in the thread's hand
    items.close()


@pytest.mark.parametrize("closes", [True, False])
def test_read_ahead_ends_its_thread_and_closes_the_source_in_it(closes: bool) -> None:
    source = Source()
    items = ReadAhead(source.numbers(), capacity=2)
    next(items)
    if closes:
        items.close()
        assert not reading_threads()
        assert list(items) == []
    del items
    gc.collect()
    for thread in reading_threads():
        thread.join(timeout=10)
    assert source.closed_in == "vidsum reader"


def test_read_frames_consumer_that_raises(
    made: Made, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def consume() -> None:
        for _ in read_frames(probe(made("plain").path), [Sampling(None)]):
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        consume()
    with pytest.raises(UsageError, match="unknown reader 'vlc'") as caught:
        read_frames(probe(made("plain").path), [Sampling(2.0)], reader="vlc")
    assert "pyav" in str(caught.value.hint)
    with pytest.raises(UsageError, match="no sampling"):
        read_frames(probe(made("plain").path), [])
    monkeypatch.setitem(sys.modules, "decord", None)
    monkeypatch.delitem(sys.modules, "vidsum.video.decord_reader", raising=False)
    with pytest.raises(UsageError, match="decord is not installed") as caught:
        read_frames(probe(made("plain").path), [Sampling(2.0)], reader="decord")
    assert "reader='pyav'" in str(caught.value.hint)
    info = replace(probe(made("plain").path), path=str(tmp_path / "gone.mp4"))
    with pytest.raises(InputError, match="no such file"):
        next(read_frames(info, [Sampling(2.0)]))


@needs_proc
def test_read_frames_closes_the_file(made: Made) -> None:
    path = made("plain").path
    frames = read_frames(probe(path), [Sampling(2.0)])
    assert len(list(frames)) == 5
    assert not is_open(path)
    with read_frames(probe(path), [Sampling(None)]) as frames:
        next(frames)
        assert is_open(path)
    assert not is_open(path)


def is_open(path: Path) -> bool:
    return any(link.exists() and link.resolve() == path.resolve() for link in Path("/proc/self/fd").iterdir())


def test_read_frames_memory(tmp_path: Path) -> None:
    short = make_video(tmp_path / "short.mp4", n_frames=150, width=320, height=240)
    long = make_video(tmp_path / "long.mp4", n_frames=900, width=320, height=240)
    assert peak_megabytes(long.path) < peak_megabytes(short.path) + 40  # all its pictures would take 200 MB


def peak_megabytes(path: Path) -> float:
    """Peak memory of a process that reads every frame of a video, slower than it decodes."""
    program = f"""
        import resource, time
        from vidsum.video.frames import Sampling
        from vidsum.video.probe import probe
        from vidsum.video.read import read_frames
        for number, _ in enumerate(read_frames(probe({str(path)!r}), [Sampling(None)])):
            if number % 100 == 0:
                time.sleep(0.02)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    """
    done = subprocess.run([sys.executable, "-c", dedent(program)], capture_output=True, text=True, check=True)
    return float(done.stdout)


INFO = video_info("clip.mp4", duration_s=30.0, fps=24.0)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({"longest_gap_s": 1 / 24}, None),
        ({"packets": 1440, "longest_gap_s": 1 / 24}, None),  # a packet for each field
        (
            {"packets": 331, "frames": 331, "end_s": 331 / 24, "longest_gap_s": 1 / 24},
            "331 of 720 frames decoded (46 %); the rest, 16.21 s, is damaged or missing",
        ),
        (
            {"frames": 719, "errors": 1},
            "719 of 720 frames decoded (99.8 %); the rest, 0.04 s, is damaged or missing",
        ),
        (
            {"frames": 719, "damaged": 189, "errors": 1},
            "719 of 720 frames decoded (99.8 %), 189 of them damaged; the rest, 0.04 s, is damaged or "
            "missing",
        ),
        (
            {"packets": 0, "frames": 700, "longest_gap_s": 21 / 24},
            "700 of 720 frames decoded (97 %); the rest, 0.83 s, is damaged or missing",
        ),
        ({"damaged": 189}, "189 of 720 frames (26 %, 7.88 s) are damaged"),
        ({"packets": 900, "frames": 900, "damaged": 9}, "9 of 900 frames (1 %, 0.38 s) are damaged"),
        ({"damaged": 1}, "1 of 720 frames (0.1 %, 0.04 s) is damaged"),
    ],
)
def test_describe_damage(counts: dict[str, float], message: str | None) -> None:
    log = DecodeLog(**{"packets": 720, "frames": 720, "end_s": 30.0, **counts})
    assert describe_damage(INFO, log) == (message and f"clip.mp4: {message}")
    assert pictures_end_s(INFO, log) == log.end_s
    log = DecodeLog(frames=700, end_s=30.0, longest_gap_s=21 / 24)
    assert describe_damage(replace(INFO, is_vfr=True), log) is None


BLACK = np.zeros((2, 2, 3), np.uint8)


def numbered(count: int, consumers: int) -> Iterator[tuple[int, Frame]]:
    """`count` frames for each consumer, by turns."""
    for index in range(count):
        for number in range(consumers):
            yield number, Frame(index, index / 2, index / 2, BLACK)


def indices(frames: Iterator[Frame]) -> list[int]:
    return [frame.index for frame in frames]


@pytest.mark.parametrize("consumers", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 500])
def test_fan_out(consumers: int, count: int) -> None:
    assert fan_out(numbered(count, consumers), [indices] * consumers) == [list(range(count))] * consumers


def test_fan_out_uneven() -> None:
    frames = ((int(index >= 300), Frame(index, index, index, BLACK)) for index in range(400))
    assert [len(got) for got in fan_out(frames, [indices, indices])] == [300, 100]
    read = []

    def watched() -> Iterator[tuple[int, Frame]]:
        for pair in numbered(100_000, 2):
            read.append(pair)
            yield pair

    def fails(frames: Iterator[Frame]) -> list[int]:
        next(frames)
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        fan_out(watched(), [indices, fails])
    assert len(read) < 200_000


@pytest.mark.parametrize("consumers", [1, 2])
def test_fan_out_error_of_the_reader(consumers: int) -> None:
    def broken() -> Iterator[tuple[int, Frame]]:
        yield from numbered(3, consumers)
        raise InputError("cut short")

    with pytest.raises(InputError, match="cut short"):
        fan_out(broken(), [indices] * consumers)
