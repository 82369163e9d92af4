"""Giving memory back while a long video is processed.

PyTorch makes and drops arrays of many megabytes in several threads. The GNU C library keeps what is dropped
in pieces between what is in use, more of them by the minute: a video of two hours took twice the memory of
one of two minutes. Asked to, it gives the pieces back.
"""

import ctypes
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

_EVERY_S = 5.0
"""It takes some hundredths of a second, and as long again until the pages are back that are still of use."""


def trimming(items: Iterable[T]) -> Iterator[T]:
    """The items; every few seconds, memory that nothing uses is given back before the next one."""
    trim = _malloc_trim()
    last_s = time.monotonic()
    for item in items:
        if trim is not None and time.monotonic() - last_s > _EVERY_S:
            trim(0)
            last_s = time.monotonic()
        yield item


def _malloc_trim() -> "ctypes._NamedFuncPointer | None":
    """The function of the GNU C library; None where there is another one."""
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
