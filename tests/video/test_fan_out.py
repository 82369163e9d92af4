"""Several consumers of one decode pass: each gets its own frames, and no failure hangs the others."""

from collections.abc import Iterator

import numpy as np
import pytest

from vidsum.errors import InputError
from vidsum.video.frames import Frame
from vidsum.video.threads import fan_out

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
