"""The reading thread, and frames for several consumers."""

import gc
import threading
from collections.abc import Generator, Iterator
from itertools import islice

import numpy as np
import pytest

from tests.conftest import deep
from tests.video.conftest import reading_threads
from vidsum.errors import InputError
from vidsum.video.frames import Frame
from vidsum.video.threads import ReadAhead, fan_out

pytestmark = pytest.mark.usefixtures("no_thread_is_left")


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


def test_read_ahead_gives_every_item_once_in_order() -> None:
    items = ReadAhead(Source(50).numbers(), capacity=3)
    assert list(items) == list(range(50))
    assert list(items) == []


def test_read_ahead_raises_the_error_behind_the_items_before_it() -> None:
    items = ReadAhead(Source(2, error=InputError("clip.mp4: gone")).numbers(), capacity=9)
    assert list(islice(items, 2)) == [0, 1]
    with pytest.raises(InputError, match="gone"):
        next(items)


def test_read_ahead_reads_no_further_than_its_capacity() -> None:
    source = Source()
    items = ReadAhead(source.numbers(), capacity=3)
    for wanted in range(20):
        assert next(items) == wanted
        assert source.made <= wanted + 1 + 3 + 1  # given, waiting, and one in the thread's hand
    items.close()


def test_closed_read_ahead_has_neither_thread_nor_items() -> None:
    items = ReadAhead(Source().numbers(), capacity=2)
    next(items)
    items.close()
    assert not reading_threads()
    assert list(items) == []


@pytest.mark.parametrize("closes", [True, False], ids=["closed", "forgotten"])
def test_source_is_closed_in_the_reading_thread(closes: bool) -> None:
    source = Source()
    items = ReadAhead(source.numbers(), capacity=2)
    next(items)
    if closes:
        items.close()
    del items
    gc.collect()
    for thread in reading_threads():
        thread.join(timeout=10)
    assert source.closed_in == "vidsum reader"


BLACK = np.zeros((2, 2, 3), np.uint8)


def numbered(count: int, consumers: int) -> Iterator[tuple[int, Frame]]:
    """`count` frames for each consumer, by turns."""
    for index in range(count):
        for number in range(consumers):
            yield number, Frame(index, index / 2, index / 2, BLACK)


def indices(frames: Iterator[Frame]) -> list[int]:
    return [frame.index for frame in frames]


@pytest.mark.parametrize("consumers", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 50, deep(500)])
def test_every_consumer_gets_its_frames_in_order(consumers: int, count: int) -> None:
    assert fan_out(numbered(count, consumers), [indices] * consumers) == [list(range(count))] * consumers


def test_consumers_may_get_different_numbers_of_frames() -> None:
    frames = ((int(index >= 300), Frame(index, index, index, BLACK)) for index in range(400))
    assert [len(got) for got in fan_out(frames, [indices, indices])] == [300, 100]


def test_error_of_a_consumer_stops_the_reader() -> None:
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
def test_error_of_the_reader_reaches_the_caller_of_fan_out(consumers: int) -> None:
    def broken() -> Iterator[tuple[int, Frame]]:
        yield from numbered(3, consumers)
        raise InputError("cut short")

    with pytest.raises(InputError, match="cut short"):
        fan_out(broken(), [indices] * consumers)
