"""What became of the inputs of a batch: a table for people, and a file for scripts (`--summary-json`)."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from vidsum.commands.result import Problem, Result, Table
from vidsum.errors import InputError, OutputError
from vidsum.outputs import atomic_write
from vidsum.text_files import read_json

SCHEMA = "vidsum.batch/1"
STATES = ("done", "up to date", "skipped", "failed", "not run")


@dataclass(frozen=True)
class Outcome:
    """What became of one input."""

    input: str
    state: str = "not run"
    exit_code: int | None = None
    outputs: Mapping[str, Any] = field(default_factory=dict)
    messages: tuple[str, ...] = ()
    errors: tuple[Problem, ...] = ()

    @classmethod
    def of(cls, path: str, result: Result) -> "Outcome":
        """The part of a result that is kept until the batch ends; a whole one may have a long curve."""
        data = result.data
        state = "failed" if result.exit_code else "skipped" if "skipped" in data else "done"
        state = "up to date" if state == "done" and data.get("up_to_date") else state
        outputs = data.get("outputs") or ({"output": data["output"]} if data.get("output") else {})
        if exports := data.get("exports"):
            outputs = {**outputs, "exports": exports}
        return cls(path, state, result.exit_code, outputs, result.messages, result.errors)


def tally(outcomes: Sequence[Outcome]) -> Table:
    """How many inputs came to what, and a row for each that failed."""
    counts = Counter(outcome.state for outcome in outcomes)
    words = ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])
    rows = [
        (
            outcome.input,
            str(outcome.exit_code),
            "; ".join(_fault(outcome.input, each) for each in outcome.errors),
        )
        for outcome in outcomes
        if outcome.state == "failed"
    ]
    columns = ("failed", "exit code", "error") if rows else ()
    return Table(columns, tuple(rows), f"{len(outcomes)} inputs: {words}")


def _fault(path: str, problem: Problem) -> str:
    return problem.message.removeprefix(f"{path}: ")


def require_summary(path: Path, *, overwrite: bool) -> None:
    """See to it that a file may be written with a summary: it is one, or is not there yet.

    Raises:
        OutputError: it is something else, and `overwrite` does not allow to replace it.
    """
    if overwrite or not path.is_file():  # what is no regular file is written into, not replaced
        return
    try:
        document = read_json(path)
    except InputError:
        document = None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise OutputError(f"{path}: already exists, and is not a batch summary", hint="--summary-json FILE")


def write_summary(command: str, outcomes: Sequence[Outcome], path: Path) -> None:
    """Write what became of each input as JSON; the schema is in vidsum/schemas.

    Raises:
        OutputError: the file cannot be written.
    """
    counts = Counter(outcome.state for outcome in outcomes)
    document = {
        "schema": SCHEMA,
        "command": command,
        "counts": {state: counts[state] for state in STATES},
        "inputs": [asdict(outcome) for outcome in outcomes],
    }
    with atomic_write(path) as part:
        part.write_text(json.dumps(document, indent=1) + "\n", encoding="ascii")
