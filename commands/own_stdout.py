"""Stdout for results alone, while a library prints what it likes: from Python, from threads and from C++."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO


class OwnStdout:
    """In place of `sys.stdout`: a stream to the main thread while that has opened it, else stderr."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_open = False

    @contextmanager
    def open(self) -> Iterator[None]:
        """Within, the main thread prints to stdout."""
        self._is_open = True
        try:
            yield
        finally:
            self._is_open = False

    def _here(self) -> TextIO:
        is_ours = self._is_open and threading.current_thread() is threading.main_thread()
        return self._stream if is_ours else sys.stderr

    def write(self, text: str) -> int:
        """Write where it belongs."""
        return self._here().write(text)

    def flush(self) -> None:
        """Flush what `write` writes to."""
        self._here().flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def own_stdout() -> Iterator[OwnStdout]:
    """While it lasts, all goes to stderr that does not come from the main thread within `OwnStdout.open`.

    That holds for what C++ writes into the file descriptor too, and for processes that are started.
    """
    stream, (out, err) = sys.stdout, map(_descriptor, (sys.stdout, sys.stderr))
    if out is None or err is None:  # what a test or a notebook has in place of a file
        own = OwnStdout(stream)
        sys.stdout = own
        try:
            yield own
        finally:
            sys.stdout = stream
        return
    stream.flush()
    saved = os.fdopen(os.dup(out), "w", encoding=stream.encoding, errors=stream.errors)
    own = OwnStdout(saved)
    os.dup2(err, out)
    sys.stdout = own
    try:
        yield own
    finally:
        sys.stdout = stream
        os.dup2(saved.fileno(), out)
        with suppress(OSError):  # whoever printed has met it already
            saved.close()


def _descriptor(stream: TextIO) -> int | None:
    try:
        return stream.fileno()
    except (OSError, ValueError):
        return None
