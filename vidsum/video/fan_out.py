"""Giving the frames of one decode pass to several consumers at once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import Full, Queue
from typing import TypeVar

from vidsum.video.frames import Frame

T = TypeVar("T")
Consumer = Callable[[Iterator[Frame]], T]

_DEPTH = 64
"""Frames that may wait for a consumer: enough to keep all busy, few enough to hold in memory."""


def fan_out(numbered: Iterable[tuple[int, Frame]], consumers: Sequence[Consumer[T]]) -> list[T]:
    """Let consumer i go through the frames numbered i, all in one pass; return their results in order.

    `numbered` are (i, frame) pairs in time order, from `read_frames`. A consumer goes through an iterator of
    frames to its end. Several run in threads, so that none has to wait for another to finish.
    """
    if len(consumers) == 1:
        return [consumers[0](frame for _, frame in numbered)]
    queues: list[Queue[Frame | None]] = [Queue(_DEPTH) for _ in consumers]
    with ThreadPoolExecutor(len(consumers)) as pool:
        futures = [
            pool.submit(consumer, _until_none(queue))
            for consumer, queue in zip(consumers, queues, strict=True)
        ]
        try:
            for number, frame in numbered:
                if not _offer(queues[number], frame, futures[number]):
                    break  # that consumer has failed: its error comes out below
        finally:
            for queue, future in zip(queues, futures, strict=True):
                _offer(queue, None, future)
        return [future.result() for future in futures]


def _until_none(queue: "Queue[Frame | None]") -> Iterator[Frame]:
    while (frame := queue.get()) is not None:
        yield frame


def _offer(queue: "Queue[Frame | None]", frame: Frame | None, consumer: "Future[T]") -> bool:
    """Put a frame into a consumer's queue, waiting for room; False if the consumer has ended."""
    while not consumer.done():
        with suppress(Full):
            queue.put(frame, timeout=0.1)
            return True
    return False
