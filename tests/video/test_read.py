"""The reading thread: errors surface, it ends promptly, memory stays bounded. What losses are called."""

import gc
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from tests.media import MadeVideo, make_video
from vidsum.errors import InputError, UsageError
from vidsum.types import VideoInfo
from vidsum.video import read as read_module
from vidsum.video.damage import DecodeLog, describe_damage, pictures_end_s
from vidsum.video.frames import Exact, Frame, Sampling
from vidsum.video.probe import probe
from vidsum.video.read import read_frames
from vidsum.video.threads import ReadAhead, fan_out

Made = Callable[[str], MadeVideo]

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


def test_strict_holds_where_pyav_steps_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[bool] = []
    real = read_module._read_samples

    def read_samples(*given: Any, strict: bool = False, **how: Any) -> Any:
        asked.append(strict)
        return real(*given, strict=strict, **how)

    monkeypatch.setattr(read_module, "_read_samples", read_samples)
    film = make_video(tmp_path / "a%b.mp4")  # OpenCV would take it for a series of pictures
    for strict in (True, False):
        with read_frames(probe(film.path), [Sampling(2.0)], reader="opencv", strict=strict) as frames:
            list(frames)
    assert asked == [True, False]


# --- the thread ---


class Source:
    """A generator of numbers that tells how many it made and whether it was closed."""

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


def test_the_end_can_be_asked_for_again() -> None:
    items = ReadAhead(Source(50).numbers(), capacity=3)
    assert list(items) == list(range(50))
    assert list(items) == []


def test_an_error_surfaces_after_the_items_before_it() -> None:
    items = ReadAhead(Source(2, error=InputError("clip.mp4: gone")).numbers(), capacity=9)
    assert list(islice(items, 2)) == [0, 1]
    with pytest.raises(InputError, match="gone"):
        next(items)


def test_no_more_is_made_ahead_than_fits() -> None:
    source = Source()
    items = ReadAhead(source.numbers(), capacity=3)
    for wanted in range(20):
        assert next(items) == wanted
        assert source.made <= wanted + 1 + 3 + 1  # given, waiting, and one in the thread's hand
    items.close()


def test_closing_ends_the_thread_and_closes_the_source_in_it() -> None:
    source = Source()
    items = ReadAhead(source.numbers(), capacity=2)
    next(items)
    items.close()
    assert source.closed_in == "vidsum reader"
    assert not reading_threads()
    assert list(items) == []


def test_dropping_it_ends_the_thread() -> None:
    source = Source()
    items = ReadAhead(source.numbers(), capacity=2)
    next(items)
    del items
    gc.collect()
    for thread in reading_threads():
        thread.join(timeout=10)
    assert source.closed_in == "vidsum reader"


def test_a_consumer_that_raises_leaves_no_thread(made: Made) -> None:
    def consume() -> None:
        for _ in read_frames(probe(made("plain").path), [Sampling(None)]):
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        consume()


@needs_proc
def test_stopping_early_and_reading_to_the_end_close_the_file(made: Made) -> None:
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


def test_memory_does_not_grow_with_length(tmp_path: Path) -> None:
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


def test_few_large_or_many_small_pictures_wait(made: Made) -> None:
    info = probe(made("plain").path)
    assert read_module._queue_length(info, [Sampling(2.0, Exact(48, 27))]) == 64
    assert (
        read_module._queue_length(info, [Sampling(2.0, Exact(48, 27)), Sampling(2.0, Exact(1920, 1080))]) == 5
    )
    assert read_module._queue_length(info, [Sampling(2.0, Exact(7680, 4320))]) == 2


# --- arguments ---


def test_an_unknown_reader_is_refused(made: Made) -> None:
    with pytest.raises(UsageError, match="unknown reader 'vlc'") as caught:
        read_frames(probe(made("plain").path), [Sampling(2.0)], reader="vlc")
    assert "pyav" in str(caught.value.hint)


def test_no_sampling_is_refused(made: Made) -> None:
    with pytest.raises(UsageError, match="no sampling"):
        read_frames(probe(made("plain").path), [])


def test_decord_that_is_not_installed_is_refused(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "decord", None)
    monkeypatch.delitem(sys.modules, "vidsum.video.decord_reader", raising=False)
    with pytest.raises(UsageError, match="decord is not installed") as caught:
        read_frames(probe(made("plain").path), [Sampling(2.0)], reader="decord")
    assert "--reader pyav" in str(caught.value.hint)


def test_a_file_that_vanishes_is_reported(made: Made, tmp_path: Path) -> None:
    info = replace(probe(made("plain").path), path=str(tmp_path / "gone.mp4"))
    with pytest.raises(InputError, match="no such file"):
        next(read_frames(info, [Sampling(2.0)]))


# --- losses in words ---


@pytest.fixture
def info(made: Made) -> VideoInfo:
    """720 frames at 24 fps."""
    return replace(
        probe(made("plain").path), path="clip.mp4", duration_s=30.0, fps=24.0, n_frames=720, is_vfr=False
    )


def test_a_whole_video_has_no_loss(info: VideoInfo) -> None:
    log = DecodeLog(packets=720, frames=720, end_s=30.0, longest_gap_s=1 / 24)
    assert describe_damage(info, log) is None
    assert pictures_end_s(info, log) == 30.0


def test_a_cut_video_is_put_in_frames_per_cent_and_seconds(info: VideoInfo) -> None:
    log = DecodeLog(packets=331, frames=331, end_s=331 / 24, longest_gap_s=1 / 24)
    assert describe_damage(info, log) == (
        "clip.mp4: 331 of 720 frames decoded (46 %); the rest, 16.21 s, is damaged or missing"
    )
    assert pictures_end_s(info, log) == 331 / 24


def test_one_lost_frame_is_not_rounded_away(info: VideoInfo) -> None:
    log = DecodeLog(packets=720, frames=719, end_s=30.0, errors=1)
    assert "719 of 720 frames decoded (99.8 %)" in str(describe_damage(info, log))
    assert pictures_end_s(info, log) == 30.0


def test_damaged_frames_are_named(info: VideoInfo) -> None:
    log = DecodeLog(packets=720, frames=720, end_s=30.0, damaged=189)
    assert describe_damage(info, log) == "clip.mp4: 189 of 720 frames (26 %, 7.88 s) are damaged"
    log.damaged = 1
    assert describe_damage(info, log) == "clip.mp4: 1 of 720 frames (0.1 %, 0.04 s) is damaged"
    log = DecodeLog(packets=720, frames=719, end_s=30.0, damaged=189, errors=1)
    assert "(99.8 %), 189 of them damaged; the rest, 0.04 s" in str(describe_damage(info, log))


def test_a_hole_in_a_steady_video_is_a_loss_without_an_error(info: VideoInfo) -> None:
    log = DecodeLog(frames=700, end_s=30.0, longest_gap_s=21 / 24)
    assert "700 of 720" in str(describe_damage(info, log))
    assert describe_damage(replace(info, is_vfr=True), log) is None


def test_packets_without_a_picture_of_their_own_are_no_loss(info: VideoInfo) -> None:
    fields = DecodeLog(packets=1440, frames=720, end_s=30.0, longest_gap_s=1 / 24)
    assert describe_damage(info, fields) is None


# --- several consumers of one pass ---


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
def test_each_consumer_gets_all_its_frames_in_order(consumers: int, count: int) -> None:
    assert fan_out(numbered(count, consumers), [indices] * consumers) == [list(range(count))] * consumers


def test_a_consumer_that_needs_many_frames_at_once_does_not_block_the_other() -> None:
    def first_one_then_the_other() -> Iterator[tuple[int, Frame]]:
        for index in range(400):
            yield (0 if index < 300 else 1), Frame(index, index, index, BLACK)

    assert [len(got) for got in fan_out(first_one_then_the_other(), [indices, indices])] == [300, 100]


@pytest.mark.parametrize("consumers", [1, 2])
def test_the_readers_error_comes_out(consumers: int) -> None:
    def broken() -> Iterator[tuple[int, Frame]]:
        yield from numbered(3, consumers)
        raise InputError("cut short")

    with pytest.raises(InputError, match="cut short"):
        fan_out(broken(), [indices] * consumers)


def test_a_consumers_error_comes_out_and_ends_the_pass() -> None:
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
