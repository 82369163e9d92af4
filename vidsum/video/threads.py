"""Read ahead of a consumer in a thread, and share one decode pass among several consumers."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Any, Generic, TypeVar

from vidsum.video.frames import Frame

T = TypeVar("T")
Own = TypeVar("Own", bound="ReadAhead[Any]")
Consumer = Callable[[Iterator[Frame]], T]

_LOOK_UP_S = 0.1  # time after which a thread that waits for room checks whether it must stop
_DEPTH = 64  # frames that may wait for a consumer: enough to keep all busy, few enough to hold in memory


@dataclass(frozen=True)
class _End:
    error: BaseException | None


class ReadAhead(Generic[T]):
    """Iterator over the items of a generator, made in a thread at most `capacity` ahead.

    An error of the generator is raised where its next item would have been. `close`, the end of a `with`, or
    dropping the object ends the thread and closes the generator, in that thread.
    """

    def __init__(self, source: Generator[T, None, None], capacity: int) -> None:
        self._items: Queue[T | _End] = Queue(capacity)
        self._stop = Event()
        # the thread must not refer to `self`: dropping the object ends it
        arguments = (source, self._items, self._stop)
        self._thread = Thread(target=_fill, args=arguments, name="vidsum reader", daemon=True)
        self._thread.start()

    def __iter__(self: Own) -> Own:
        return self

    def __next__(self) -> T:
        if self._stop.is_set():
            raise StopIteration
        item = self._items.get()
        if not isinstance(item, _End):
            return item
        self.close()
        raise item.error or StopIteration

    def close(self) -> None:
        self._drop()
        while self._thread.is_alive():
            self._thread.join(timeout=_LOOK_UP_S)
            self._drop()

    def __enter__(self: Own) -> Own:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _drop(self) -> None:
        self._stop.set()
        with suppress(Empty):
            while True:
                self._items.get_nowait()

    __del__ = _drop


def _fill(source: Generator[T, None, None], items: "Queue[T | _End]", stop: Event) -> None:
    end = _End(None)
    try:
        for item in source:
            if not _put(items, item, stop.is_set):
                break
    except BaseException as error:  # whatever it is, it belongs to the consumer
        end = _End(error)
    source.close()
    _put(items, end, stop.is_set)


def fan_out(numbered: Iterable[tuple[int, Frame]], consumers: Sequence[Consumer[T]]) -> list[T]:
    """Let consumer i go through the frames numbered i, all in one pass; return their results in order.

    `numbered` are (i, frame) pairs in time order, from `read_frames`. Several consumers run in threads.
    """
    if len(consumers) == 1:
        return [consumers[0](frame for _, frame in numbered)]
    queues: list[Queue[Frame | None]] = [Queue(_DEPTH) for _ in consumers]
    with ThreadPoolExecutor(len(consumers)) as pool:
        futures = [
            pool.submit(consumer, iter(queue.get, None))
            for consumer, queue in zip(consumers, queues, strict=True)
        ]
        try:
            for number, frame in numbered:
                if not _put(queues[number], frame, futures[number].done):
                    break  # that consumer has failed: its error comes out below
        finally:
            for queue, future in zip(queues, futures, strict=True):
                _put(queue, None, future.done)
        return [future.result() for future in futures]


def _put(queue: "Queue[Any]", item: object, is_over: Callable[[], bool]) -> bool:
    """Put an item, waiting for room; False if the consumer has ended."""
    while not is_over():
        with suppress(Full):
            queue.put(item, timeout=_LOOK_UP_S)
            return True
    return False
