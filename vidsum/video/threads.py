"""Running an iterator ahead of its consumer, in a thread, with a bounded number of items in between."""

from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Generic, TypeVar

T = TypeVar("T")

_LOOK_UP_S = 0.1
"""How often a thread that waits for room checks whether it must stop."""


@dataclass(frozen=True)
class _End:
    error: BaseException | None


class ReadAhead(Generic[T]):
    """The items of a generator, made in a thread at most `capacity` ahead.

    An error of the generator is raised where its next item would have been. `close`, or dropping the object,
    ends the thread and closes the generator, in that thread.
    """

    def __init__(self, source: Generator[T, None, None], capacity: int) -> None:
        self._items: Queue[T | _End] = Queue(capacity)
        self._stop = Event()
        self._end: _End | None = None
        # the thread must not know `self`: else nobody could drop the object while the thread runs
        self._thread = Thread(
            target=_fill, args=(source, self._items, self._stop), name="vidsum reader", daemon=True
        )
        self._thread.start()

    def __iter__(self) -> "ReadAhead[T]":
        return self

    def __next__(self) -> T:
        if self._stop.is_set():
            raise StopIteration
        item = self._items.get()
        if not isinstance(item, _End):
            return item
        self.close()
        if item.error is not None:
            raise item.error
        raise StopIteration

    def close(self) -> None:
        """End the thread, and wait until it has let go of its files."""
        self._stop.set()
        while self._thread.is_alive():
            _empty(self._items)
            self._thread.join(timeout=_LOOK_UP_S)

    def __del__(self) -> None:
        self._stop.set()
        _empty(self._items)


def _fill(source: Generator[T, None, None], items: "Queue[T | _End]", stop: Event) -> None:
    end = _End(None)
    try:
        for item in source:
            if not _put(items, item, stop):
                break
    except BaseException as error:  # whatever it is, it belongs to the consumer
        end = _End(error)
    source.close()
    _put(items, end, stop)


def _put(items: "Queue[T | _End]", item: T | _End, stop: Event) -> bool:
    """Put an item, waiting for room; False if the consumer is gone."""
    while not stop.is_set():
        try:
            items.put(item, timeout=_LOOK_UP_S)
            return True
        except Full:  # noqa: PERF203 (this wait is the point)
            continue
    return False


def _empty(items: "Queue[T | _End]") -> None:
    with suppress(Empty):
        while True:
            items.get_nowait()
