"""How far a batch is, and what became of its inputs.

Steps are bars on a terminal, and elsewhere one line on stderr for each that takes long. At the end people see
a table, and `--table` and `--summary-json` write files.
"""

import csv
import io
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from threading import TIMEOUT_MAX, Lock, Timer
from typing import TYPE_CHECKING, Any

from vidsum.commands.result import LOG, Problem, Result, Table, View, printable
from vidsum.errors import OutputError
from vidsum.outputs import as_utf8, atomic_write

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
        self._timers: dict[str, Timer] = {}
        """By the label of an input, what tells of a step that reports nothing more."""
        self._lock = Lock()  # a batch may have a thread for each of several inputs

    def __enter__(self) -> "Display":
        return self

    def __exit__(self, *_: object) -> None:
        for label in [*self._timers]:
            self.end(label)
        if self._bars is not None:
            self._bars.stop()

    def of(self, label: str) -> "Progress | None":
        """Return the function to report the progress of an input to; its steps are named after `label`, if
        any.
        """
        shown = None
        if not self._is_quiet:
            shown = self._line(label) if self._bars is None else self._bar(self._bars, label)
        return _logged(shown, label) if shown or self._is_logged else None

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

        def tell(what: str) -> None:
            if what not in told:
                told.add(what)
                print(printable(_named(label, what)), file=sys.stderr, flush=True)

        def report(what: str, done: float, total: float) -> None:
            now = time.monotonic()
            if what not in begun:
                self.end(label)  # the step before
                timer = self._timers[label] = Timer(min(SLOW_S, TIMEOUT_MAX), tell, (what,))
                timer.daemon = True
                timer.start()
            if now - begun.setdefault(what, now) > SLOW_S:
                tell(what)

        return report


def _named(label: str, what: str) -> str:
    return f"{label}: {what}" if label else what


def _logged(shown: "Progress | None", label: str) -> "Progress":
    """Return the same function, which logs the beginning of each step."""
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


BATCH_SCHEMA = "vidsum.batch/1"
STATES = ("done", "up to date", "skipped", "left", "failed", "not run")
"""Left: to another process, which is at it."""

Facts = Mapping[str, Callable[[Mapping[str, Any]], Any]]
"""What a command tells of each input in a few words or numbers: by name, where the JSON result has it."""


@dataclass(frozen=True)
class Outcome:
    """What became of one input."""

    input: str
    state: str = "not run"
    exit_code: int | None = None
    outputs: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    """None of an input that failed or was skipped."""
    messages: tuple[str, ...] = ()
    errors: tuple[Problem, ...] = ()

    @classmethod
    def of(cls, path: str, result: Result, facts: Facts) -> "Outcome":
        """Return the part of a result that is kept until the batch ends; a whole one may have a long
        curve.
        """
        data = result.data
        state = "failed" if result.exit_code else "skipped" if "skipped" in data else "done"
        state = "up to date" if state == "done" and data.get("up_to_date") else state
        state = "left" if state == "done" and data.get("left") else state
        outputs = data.get("outputs") or ({"output": data["output"]} if data.get("output") else {})
        if exports := data.get("exports"):
            outputs = {**outputs, "exports": exports}
        is_there = state in ("done", "up to date")
        found = {name: fact(data) for name, fact in facts.items()} if is_there else {}
        return cls(path, state, result.exit_code, outputs, found, result.messages, result.errors)


def tally(outcomes: Sequence[Outcome]) -> Table:
    """Return how many inputs came to what, and a row for each that failed."""
    counts = Counter(outcome.state for outcome in outcomes)
    words = ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])
    rows = [
        (
            outcome.input,
            str(outcome.exit_code),
            "; ".join(_of_input(outcome.input, each.message) for each in outcome.errors),
        )
        for outcome in outcomes
        if outcome.state == "failed"
    ]
    columns = ("failed", "exit code", "error") if rows else ()
    return Table(columns, tuple(rows), f"{len(outcomes)} inputs: {words}")


def _of_input(path: str, message: str) -> str:
    """Return a message, where the input is named beside it."""
    return message.removeprefix(f"{path}: ")


@dataclass(frozen=True)
class BatchFile:
    """A file that tells what became of each input, written when a batch ends or is interrupted."""

    option: str
    path: Path
    what: str
    head: str
    """What a file of the kind, which may be replaced, begins with."""
    text: Callable[[], str]

    def check(self, *, overwrite: bool) -> None:
        """See to it that the file may be written: it is not there yet, or is one of the kind.

        Raises OutputError: it is something else, and `overwrite` does not allow to replace it.
        """
        if overwrite or not self.path.is_file():  # what is no regular file is written into, not replaced
            return
        with self.path.open("rb") as file:
            if file.read(len(self.head)) != self.head.encode():
                fault = f"{self.path}: already exists, and is not a {self.what}"
                raise OutputError(fault, hint=f"{self.option} FILE")

    def write(self, *, overwrite: bool) -> None:
        """Write it. Raises OutputError: see `check`, or it cannot be written."""
        self.check(overwrite=overwrite)
        with atomic_write(self.path) as part:
            part.write_bytes(as_utf8(self.text()).encode())


def batch_files(
    command: str, outcomes: Sequence[Outcome], facts: Facts, summary: Path | None, table: Path | None
) -> list[BatchFile]:
    """Return the files of `--summary-json` and `--table`, where these are asked for."""
    files = []
    if summary:
        head, text = f'{{\n "schema": "{BATCH_SCHEMA}"', partial(_summary, command, outcomes)
        files.append(BatchFile("--summary-json", summary, "batch summary", head, text))
    if table:
        head, text = ",".join(_FIRST) + ",", partial(_csv, outcomes, tuple(facts))
        files.append(BatchFile("--table", table, "table of a batch", head, text))
    return files


def _summary(command: str, outcomes: Sequence[Outcome]) -> str:
    """What became of each input as JSON; the schema is in vidsum/schemas."""
    counts = Counter(outcome.state for outcome in outcomes)
    document = {
        "schema": BATCH_SCHEMA,
        "command": command,
        "counts": {state: counts[state] for state in STATES},
        "inputs": [asdict(outcome) for outcome in outcomes],
    }
    return json.dumps(document, indent=1) + "\n"


_FIRST, _LAST = ("input", "state", "exit_code"), ("output", "warnings", "error")


def _csv(outcomes: Sequence[Outcome], facts: Sequence[str]) -> str:
    """Return a row for each input, under the names of the columns."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow((*_FIRST, *facts, *_LAST))
    for one in outcomes:
        output = next((path for path in one.outputs.values() if isinstance(path, str)), None)
        warnings = "; ".join(_of_input(one.input, message) for message in one.messages)
        errors = "; ".join(_of_input(one.input, problem.message) for problem in one.errors)
        found = (one.facts.get(name) for name in facts)
        rows.writerow((one.input, one.state, one.exit_code, *found, output, warnings, errors))
    return text.getvalue()
