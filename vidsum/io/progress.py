"""Progress of steps: on a terminal each has a bar, elsewhere there is a line on stderr now and then."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from threading import TIMEOUT_MAX, Lock, Timer
from typing import TYPE_CHECKING

from vidsum.errors import printable

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from vidsum.types import Progress

SLOW_S = 5.0  # without a terminal, steps that take longer are printed as a line
_SILENCES = 6  # times that long without a line, and the step of that moment is printed


class Display:
    """Progress bars or lines for one or several inputs, unless quiet. Use it in a `with`."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._is_quiet = quiet
        self._bars: Bars | None = None if quiet or not sys.stderr.isatty() else _make_bars()
        self._tasks: dict[tuple[str, str], TaskID] = {}  # by input and step
        self._begun = set[tuple[str, str]]()
        self._timers: dict[str, Timer] = {}  # by input: prints the current step once it takes long
        self._spoken: dict[
            str, float
        ] = {}  # by input: when its last line was printed, or its first step begun
        self._lock = Lock()  # a batch may have a thread for each of several inputs

    def __enter__(self) -> "Display":
        return self

    def __exit__(self, *_: object) -> None:
        for label in [*self._timers]:
            self.end(label)
        if self._bars is not None:
            self._bars.stop()

    def reporter(self, label: str) -> "Progress | None":
        """Return the function that reports the progress of an input; `label` precedes the names of steps."""
        return None if self._is_quiet else partial(self._report, label)

    def end(self, label: str) -> None:
        """Remove the bars of an input."""
        if timer := self._timers.pop(label, None):
            timer.cancel()
        with self._lock:
            for key in [key for key in self._tasks if key[0] == label]:
                task = self._tasks.pop(key)
                if self._bars is not None:
                    self._bars.remove_task(task)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Hide the bars while something is printed."""
        with self._lock:
            if self._bars is not None:
                self._bars.stop()
            yield

    def _report(self, label: str, step: str, done: float, total: float) -> None:
        name, key = printable(f"{label}: {step}" if label else step), (label, step)
        if self._bars is not None:
            with self._lock:
                if key not in self._tasks:
                    self._tasks[key] = self._bars.add_task(name, total=total or None)
                self._bars.start()
                is_left = not total or done < total  # steps that are done would fill the screen
                self._bars.update(self._tasks[key], completed=done, total=total or None, visible=is_left)
        elif key not in self._begun:
            self._begun.add(key)
            self.end(label)  # the step before
            now = time.monotonic()
            silent_s = now - self._spoken.setdefault(label, now)
            wait_s = max(0.0, min(SLOW_S, _SILENCES * SLOW_S - silent_s, TIMEOUT_MAX))
            timer = self._timers[label] = Timer(wait_s, self._print, (label, name))
            timer.daemon = True
            timer.start()

    def _print(self, label: str, name: str) -> None:
        self._spoken[label] = time.monotonic()
        print(name, file=sys.stderr, flush=True)


def _make_bars() -> "Bars":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    text = TextColumn("{task.description}", markup=False)
    columns = (text, BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)
