"""Giving memory back while a long video is processed.

PyTorch makes and drops arrays of many megabytes in several threads. The GNU C library keeps what is dropped
in pieces between what is in use, in an arena of each thread, more of them by the minute: with two networks
at once 970 MiB became 1,280 in the first six minutes of a video. docs/benchmarks.md has the figures.
"""

import ctypes
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")

_EVERY_S = 5.0
"""It takes some hundredths of a second, and as long again until the pages are back that are still of use."""
_M_ARENA_MAX = -8
"""Of malloc.h."""


def use_one_arena() -> None:
    """Let all threads of this process share one arena; for programs, before they start threads."""
    if (mallopt := _of_libc("mallopt")) is not None:
        mallopt(_M_ARENA_MAX, 1)


def trimming(items: Iterable[T]) -> Iterator[T]:
    """The items; every few seconds and at the end, memory that nothing uses is given back."""
    trim = _of_libc("malloc_trim")
    if trim is None:
        yield from items
        return
    last_s = time.monotonic()
    for item in items:
        if time.monotonic() - last_s > _EVERY_S:
            trim(0)
            last_s = time.monotonic()
        yield item
    trim(0)


def _of_libc(name: str) -> Any:
    """A function of the GNU C library; None where there is another one."""
    if sys.platform == "linux":
        with suppress(AttributeError, OSError):
            return getattr(ctypes.CDLL(None), name)
    return None
