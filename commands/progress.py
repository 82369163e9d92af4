"""What is under way, on stderr: bars on a terminal, elsewhere one line for each step that takes long."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from vidsum.commands.log import LOG
from vidsum.commands.options import View
from vidsum.commands.result import printable

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from vidsum.types import Progress

SLOW_S = 5.0
"""A step that takes longer gets its line where there is no terminal."""


class Display:
    """Shows the steps of one or several inputs; nothing with `--quiet`. Use it in a `with`."""

    def __init__(self, view: View) -> None:
        self._is_quiet, self._is_logged = view.quiet, view.log_file is not None
        self._bars: Bars | None = None if view.quiet or not sys.stderr.isatty() else _bars(view)
        self._tasks: dict[tuple[str, str], TaskID] = {}
        self._lock = Lock()  # a batch may have a thread for each of several inputs

    def __enter__(self) -> "Display":
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.stop()

    def of(self, label: str) -> "Progress | None":
        """The function to report the progress of an input to; its steps are named after `label`, if any."""
        if self._is_quiet:
            return _logged(None, label) if self._is_logged else None
        shown = self._line(label) if self._bars is None else self._bar(self._bars, label)
        return _logged(shown, label) if self._is_logged else shown

    def end(self, label: str) -> None:
        """Remove the bars of an input."""
        with self._lock:
            for key in [key for key in self._tasks if key[0] == label]:
                task = self._tasks.pop(key)
                if self._bars is not None:
                    self._bars.remove_task(task)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Take the bars away while something is printed."""
        with self._lock:
            if self._bars is not None:
                self._bars.stop()
            yield

    def _bar(self, bars: "Bars", label: str) -> "Progress":
        def report(what: str, done: float, total: float) -> None:
            key = (label, what)
            with self._lock:
                if key not in self._tasks:
                    self._tasks[key] = bars.add_task(printable(_named(label, what)), total=total or None)
                bars.start()
                bars.update(self._tasks[key], completed=done, total=total or None)

        return report

    def _line(self, label: str) -> "Progress":
        begun: dict[str, float] = {}
        told = set[str]()

        def report(what: str, done: float, total: float) -> None:
            now = time.monotonic()
            if now - begun.setdefault(what, now) > SLOW_S and what not in told:
                told.add(what)
                print(printable(_named(label, what)), file=sys.stderr, flush=True)

        return report


def _named(label: str, what: str) -> str:
    return f"{label}: {what}" if label else what


def _logged(shown: "Progress | None", label: str) -> "Progress":
    """The same function, which logs the beginning of each step."""
    begun = set[str]()

    def report(what: str, done: float, total: float) -> None:
        if what not in begun:
            begun.add(what)
            LOG.info(printable(_named(label, what)))
        if shown is not None:
            shown(what, done, total)

    return report


def _bars(view: View) -> "Bars":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    text = TextColumn("{task.description}", markup=False)
    columns = (text, BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True, no_color=view.no_color or None), transient=True)
