"""Giving memory back while a long video is processed; networks that are kept, until they are unloaded.

PyTorch makes and drops arrays of many megabytes in several threads. The GNU C library keeps what is dropped
in pieces between what is in use, in an arena of each thread, more of them by the minute: with two networks
at once 970 MiB became 1,280 in the first six minutes of a video.
"""

import ctypes
import gc
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

T = TypeVar("T")
P = ParamSpec("P")

_loaders: "list[_lru_cache_wrapper[Any]]" = []

_EVERY_S = 5.0
"""It takes some hundredths of a second, and as long again until the pages are back that are still of use."""
_M_ARENA_MAX, _M_MMAP_THRESHOLD, _M_TRIM_THRESHOLD = -8, -3, -1
"""Parameters of mallopt, from malloc.h."""
_LARGE, _LARGEST = 4 << 20, 32 << 20
"""Bytes. Whisper's decoder makes and drops blocks of a megabyte at each step: returning these costs a quarter
of its time."""


def use_one_arena() -> None:
    """Let all threads of this process share one arena; for programs, before they start threads."""
    if (mallopt := _of_libc("mallopt")) is not None:
        mallopt(_M_ARENA_MAX, 1)


@contextmanager
def returning_blocks() -> Iterator[None]:
    """Give each block of several megabytes back as soon as it is dropped.

    The GNU C library does so until it has seen the first: from then on it keeps blocks of up to 32 MiB, and
    the blocks that a network drops in a step stay in addition to those that it needs next.
    """
    mallopt = _of_libc("mallopt")
    if mallopt is None:
        yield
        return
    mallopt(_M_MMAP_THRESHOLD, _LARGE)
    try:
        yield
    finally:  # as the library itself would have it by now
        mallopt(_M_MMAP_THRESHOLD, _LARGEST)
        mallopt(_M_TRIM_THRESHOLD, 2 * _LARGEST)


def cached_model(maxsize: int) -> Callable[[Callable[P, T]], "_lru_cache_wrapper[T]"]:
    """Decorate a function that loads a network: its last results stay in memory until `unload`."""

    def wrap(load: Callable[P, T]) -> "_lru_cache_wrapper[T]":
        loader = lru_cache(maxsize)(load)
        _loaders.append(loader)
        return loader

    return wrap


def unload() -> None:
    """Free the networks in memory, except those of objects in use."""
    for loader in _loaders:
        loader.cache_clear()
    gc.collect()  # networks are circles of objects, whose memory is free only now
    if (torch := sys.modules.get("torch")) is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    if (trim := _of_libc("malloc_trim")) is not None:
        trim(0)


def trimming(items: Iterable[T], every_s: float = _EVERY_S) -> Iterator[T]:
    """Yield the items; every few seconds and at the end, memory that nothing uses is given back."""
    trim = _of_libc("malloc_trim")
    if trim is None:
        yield from items
        return
    last_s = time.monotonic()
    for item in items:
        if time.monotonic() - last_s >= every_s:
            trim(0)
            last_s = time.monotonic()
        yield item
    trim(0)


def _of_libc(name: str) -> Any:
    """Return a function of the GNU C library; None where there is another one."""
    if sys.platform == "linux":
        with suppress(AttributeError, OSError):
            return getattr(ctypes.CDLL(None), name)
    return None
