"""What became of the inputs of a batch: a table for people, and files (`--table`, `--summary-json`)."""

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from vidsum.commands.result import Problem, Result, Table
from vidsum.errors import InputError, OutputError
from vidsum.outputs import as_utf8, atomic_write
from vidsum.text_files import read_json

SCHEMA = "vidsum.batch/1"
STATES = ("done", "up to date", "skipped", "failed", "not run")

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
        """The part of a result that is kept until the batch ends; a whole one may have a long curve."""
        data = result.data
        state = "failed" if result.exit_code else "skipped" if "skipped" in data else "done"
        state = "up to date" if state == "done" and data.get("up_to_date") else state
        outputs = data.get("outputs") or ({"output": data["output"]} if data.get("output") else {})
        if exports := data.get("exports"):
            outputs = {**outputs, "exports": exports}
        is_there = state in ("done", "up to date")
        found = {name: fact(data) for name, fact in facts.items()} if is_there else {}
        return cls(path, state, result.exit_code, outputs, found, result.messages, result.errors)


def tally(outcomes: Sequence[Outcome]) -> Table:
    """How many inputs came to what, and a row for each that failed."""
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
    """A message, where the input is named beside it."""
    return message.removeprefix(f"{path}: ")


@dataclass(frozen=True)
class BatchFile:
    """A file that tells what became of each input, written when a batch ends or is interrupted."""

    option: str
    path: Path
    what: str
    is_one: Callable[[Path], bool]
    """Whether a file is one of the kind, which may be replaced."""
    text: Callable[[], str]

    def check(self, *, overwrite: bool) -> None:
        """See to it that the file may be written: it is not there yet, or is one of the kind.

        Raises OutputError: it is something else, and `overwrite` does not allow to replace it.
        """
        if overwrite or not self.path.is_file():  # what is no regular file is written into, not replaced
            return
        if not self.is_one(self.path):
            fault = f"{self.path}: already exists, and is not a {self.what}"
            raise OutputError(fault, hint=f"{self.option} FILE")

    def write(self) -> None:
        """Write it. Raises OutputError: it cannot be written."""
        with atomic_write(self.path) as part:
            part.write_bytes(as_utf8(self.text()).encode())


def batch_files(
    command: str, outcomes: Sequence[Outcome], facts: Facts, summary: Path | None, table: Path | None
) -> list[BatchFile]:
    """The files of `--summary-json` and `--table`, where these are asked for."""
    files = []
    if summary:
        text = partial(_summary, command, outcomes)
        files.append(BatchFile("--summary-json", summary, "batch summary", _is_summary, text))
    if table:
        text = partial(_csv, outcomes, tuple(facts))
        files.append(BatchFile("--table", table, "table of a batch", _is_csv, text))
    return files


def _summary(command: str, outcomes: Sequence[Outcome]) -> str:
    """What became of each input as JSON; the schema is in vidsum/schemas."""
    counts = Counter(outcome.state for outcome in outcomes)
    document = {
        "schema": SCHEMA,
        "command": command,
        "counts": {state: counts[state] for state in STATES},
        "inputs": [asdict(outcome) for outcome in outcomes],
    }
    return json.dumps(document, indent=1) + "\n"


def _is_summary(path: Path) -> bool:
    try:
        document = read_json(path)
    except InputError:
        return False
    return isinstance(document, dict) and document.get("schema") == SCHEMA


_FIRST, _LAST = ("input", "state", "exit_code"), ("output", "warnings", "error")


def _csv(outcomes: Sequence[Outcome], facts: Sequence[str]) -> str:
    """A row for each input, under the names of the columns."""
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


def _is_csv(path: Path) -> bool:
    head = ",".join(_FIRST) + ","
    with path.open("rb") as file:
        return file.read(len(head)) == head.encode()
