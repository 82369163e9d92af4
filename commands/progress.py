"""Progress of a batch, and the status of its inputs.

On a terminal each step has a bar; elsewhere a step that takes long gets a line on stderr. At the end a table
is printed, and `--table` and `--summary-json` write files.
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

from vidsum.commands.log import LOG
from vidsum.commands.result import CommandResult, Problem, Table, View, printable
from vidsum.errors import OutputError
from vidsum.io.outputs import as_utf8, atomic_write

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from vidsum.types import Progress

SLOW_S = 5.0
"""Without a terminal, steps that take longer are printed as a line."""


class Display:
    """Progress bars or lines for one or several inputs; nothing with `--quiet`. Use it in a `with`."""

    def __init__(self, view: View) -> None:
        self._is_quiet, self._is_logged = view.quiet, view.log_file is not None
        self._bars: Bars | None = None if view.quiet or not sys.stderr.isatty() else _make_bars(view)
        self._tasks: dict[tuple[str, str], TaskID] = {}
        self._started: dict[str, float] = {}
        """When each step began, by its name with its input."""
        self._timers: dict[str, Timer] = {}
        """By label of the input: prints the current step if it reports nothing more."""
        self._printed = set[str]()
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
        return None if self._is_quiet and not self._is_logged else partial(self._report, label)

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
        name, now = printable(f"{label}: {step}" if label else step), time.monotonic()
        is_new, started = name not in self._started, self._started.setdefault(name, now)
        if is_new:
            LOG.info(name)
        if self._bars is not None:
            with self._lock:
                if (key := (label, step)) not in self._tasks:
                    self._tasks[key] = self._bars.add_task(name, total=total or None)
                self._bars.start()
                self._bars.update(self._tasks[key], completed=done, total=total or None)
        elif not self._is_quiet:
            if is_new:
                self.end(label)  # the step before
                timer = self._timers[label] = Timer(min(SLOW_S, TIMEOUT_MAX), self._print, (name,))
                timer.daemon = True
                timer.start()
            if now - started > SLOW_S:
                self._print(name)

    def _print(self, name: str) -> None:
        if name not in self._printed:
            self._printed.add(name)
            print(name, file=sys.stderr, flush=True)


def _make_bars(view: View) -> "Bars":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    text = TextColumn("{task.description}", markup=False)
    columns = (text, BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


BATCH_SCHEMA = "vidsum.batch/1"
STATES = ("done", "up to date", "skipped", "left", "failed", "not run")
"""`left`: another process is working on the input."""

Columns = Mapping[str, Callable[[Mapping[str, Any]], Any]]
"""Columns that describe an input in `--table`: name to a function of the data of its result."""


@dataclass(frozen=True)
class Outcome:
    """The status of one input."""

    input: str
    state: str = "not run"
    exit_code: int | None = None
    outputs: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Empty for an input that failed or was skipped."""
    messages: tuple[str, ...] = ()
    errors: tuple[Problem, ...] = ()

    @classmethod
    def from_result(cls, path: str, result: CommandResult, columns: Columns) -> "Outcome":
        """Reduce a result, which may hold long curves, to what a batch reports at its end."""
        data = result.data
        state = "failed" if result.exit_code else "skipped" if "skipped" in data else "done"
        state = "up to date" if state == "done" and data.get("up_to_date") else state
        state = "left" if state == "done" and data.get("left") else state
        outputs = data.get("outputs") or ({"output": data["output"]} if data.get("output") else {})
        if exports := data.get("exports"):
            outputs = {**outputs, "exports": exports}
        is_there = state in ("done", "up to date")
        values = {name: column(data) for name, column in columns.items()} if is_there else {}
        return cls(path, state, result.exit_code, outputs, values, result.messages, result.errors)

    @property
    def warning(self) -> str:
        """All warnings, without the name of the input."""
        return "; ".join(message.removeprefix(f"{self.input}: ") for message in self.messages)

    @property
    def error(self) -> str:
        """All errors, without the name of the input."""
        return "; ".join(problem.message.removeprefix(f"{self.input}: ") for problem in self.errors)


def tally(outcomes: Sequence[Outcome]) -> Table:
    """Count the inputs by state, with a row for each that failed."""
    counts = Counter(outcome.state for outcome in outcomes)
    words = ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])
    failed = [outcome for outcome in outcomes if outcome.state == "failed"]
    rows = [(outcome.input, str(outcome.exit_code), outcome.error) for outcome in failed]
    columns = ("failed", "exit code", "error") if rows else ()
    return Table(columns, tuple(rows), f"{len(outcomes)} inputs: {words}")


@dataclass(frozen=True)
class BatchFile:
    """A file with the status of each input, written when a batch ends or is interrupted."""

    option: str
    path: Path
    kind: str
    head: str
    """First bytes of such a file; only files that begin with it are replaced."""
    text: Callable[[], str]

    def check(self, *, overwrite: bool) -> None:
        """Raise OutputError if another kind of file exists and `overwrite` is off."""
        if overwrite or not self.path.is_file():  # devices and pipes are written into, not replaced
            return
        with self.path.open("rb") as file:
            if file.read(len(self.head)) != self.head.encode():
                fault = f"{self.path}: already exists, and is not a {self.kind}"
                raise OutputError(fault, hint=f"{self.option} FILE")

    def write(self, *, overwrite: bool) -> None:
        """Write the file. Raises OutputError: see `check`, or it cannot be written."""
        self.check(overwrite=overwrite)
        with atomic_write(self.path) as part:
            part.write_bytes(as_utf8(self.text()).encode())


def batch_files(
    command: str, outcomes: Sequence[Outcome], columns: Columns, summary: Path | None, table: Path | None
) -> list[BatchFile]:
    """Return the files of `--summary-json` and `--table`, as requested."""
    files = []
    if summary:
        head, text = f'{{\n "schema": "{BATCH_SCHEMA}"', partial(_to_json, command, outcomes)
        files.append(BatchFile("--summary-json", summary, "batch summary", head, text))
    if table:
        head, text = ",".join(_FIRST_COLUMNS) + ",", partial(_to_csv, outcomes, tuple(columns))
        files.append(BatchFile("--table", table, "table of a batch", head, text))
    return files


def _to_json(command: str, outcomes: Sequence[Outcome]) -> str:
    """Return the status of each input as JSON; the schema is in vidsum/schemas."""
    counts = Counter(outcome.state for outcome in outcomes)
    document = {
        "schema": BATCH_SCHEMA,
        "command": command,
        "counts": {state: counts[state] for state in STATES},
        "inputs": [asdict(outcome) for outcome in outcomes],
    }
    return json.dumps(document, indent=1) + "\n"


_FIRST_COLUMNS, _LAST_COLUMNS = ("input", "state", "exit_code"), ("output", "warnings", "error")


def _to_csv(outcomes: Sequence[Outcome], facts: Sequence[str]) -> str:
    """Return the rows of all inputs, with a header."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow((*_FIRST_COLUMNS, *facts, *_LAST_COLUMNS))
    for outcome in outcomes:
        output = next((path for path in outcome.outputs.values() if isinstance(path, str)), None)
        values = (outcome.facts.get(name) for name in facts)
        first = (outcome.input, outcome.state, outcome.exit_code)
        rows.writerow((*first, *values, output, outcome.warning, outcome.error))
    return text.getvalue()
