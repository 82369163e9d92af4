"""The status of each input of a batch, as JSON (`--summary-json`), as CSV (`--table`), and in a table."""

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from vidsum.errors import OutputError, Problem
from vidsum.io.outputs import as_utf8, atomic_write

BATCH_SCHEMA = "vidsum.batch/1"
STATES = ("done", "up to date", "skipped", "left", "failed", "not run")
"""`left`: another process is working on the input."""

_FIRST_COLUMNS, _LAST_COLUMNS = ("input", "state", "exit_code"), ("output", "warnings", "error")


@dataclass(frozen=True)
class Outcome:
    input: str
    state: str = "not run"
    exit_code: int | None = None
    outputs: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Empty for an input that failed or was skipped."""
    messages: tuple[str, ...] = ()
    errors: tuple[Problem, ...] = ()

    @property
    def warning(self) -> str:
        """All warnings, without the name of the input."""
        return "; ".join(message.removeprefix(f"{self.input}: ") for message in self.messages)

    @property
    def error(self) -> str:
        """All errors, without the name of the input."""
        return "; ".join(problem.message.removeprefix(f"{self.input}: ") for problem in self.errors)


def count_states(outcomes: Sequence[Outcome]) -> str:
    """Count the inputs by state, in words."""
    counts = Counter(outcome.state for outcome in outcomes)
    words = ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])
    return f"{len(outcomes)} inputs: {words}"


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


def _to_csv(outcomes: Sequence[Outcome], facts: Sequence[str]) -> str:
    """Return the rows of all inputs, with a header; `facts` are columns of their own."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow((*_FIRST_COLUMNS, *facts, *_LAST_COLUMNS))
    for outcome in outcomes:
        output = next((path for path in outcome.outputs.values() if isinstance(path, str)), None)
        values = (outcome.facts.get(name) for name in facts)
        first = (outcome.input, outcome.state, outcome.exit_code)
        rows.writerow((*first, *values, output, outcome.warning, outcome.error))
    return text.getvalue()


@dataclass(frozen=True)
class BatchFile:
    """A file with the status of each input, written when a batch ends or is interrupted."""

    option: str
    path: Path
    kind: str
    head: str
    """First bytes of such a file; only files that begin with it are replaced."""
    text: Callable[[], str]

    @classmethod
    def of_json(cls, path: Path, command: str, outcomes: Sequence[Outcome]) -> "BatchFile":
        """Return the file of `--summary-json`."""
        head = f'{{\n "schema": "{BATCH_SCHEMA}"'
        return cls("--summary-json", path, "batch summary", head, partial(_to_json, command, outcomes))

    @classmethod
    def of_table(cls, path: Path, facts: Sequence[str], outcomes: Sequence[Outcome]) -> "BatchFile":
        """Return the file of `--table`."""
        head = ",".join(_FIRST_COLUMNS) + ","
        return cls("--table", path, "table of a batch", head, partial(_to_csv, outcomes, facts))

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
