"""The status of each input of a batch, as CSV (`--table`) and in words."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vidsum.errors import OutputError, Problem
from vidsum.io.outputs import as_utf8, write_text
from vidsum.io.text import csv_text

STATES = ("done", "up to date", "skipped", "left", "failed", "not run")
"""`left`: another process is working on the input."""

_FIRST_COLUMNS, _LAST_COLUMNS = ("input", "state", "exit_code"), ("output", "warnings", "error")


@dataclass(frozen=True)
class Outcome:
    input: str
    state: str = "not run"
    exit_code: int | None = None
    outputs: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)  # empty for an input that failed or was skipped
    messages: tuple[str, ...] = ()
    errors: tuple[Problem, ...] = ()

    @property
    def error(self) -> str:
        """All errors, without the name of the input."""
        return "; ".join(problem.message.removeprefix(f"{self.input}: ") for problem in self.errors)


def count_states(outcomes: Sequence[Outcome]) -> str:
    """Count the inputs by state, in words."""
    counts = Counter(outcome.state for outcome in outcomes)
    words = ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])
    return f"{len(outcomes)} inputs: {words}"


def _to_csv(outcomes: Sequence[Outcome], facts: Sequence[str]) -> str:
    """Return the rows of all inputs, with a header; `facts` are columns of their own."""
    rows: list[tuple[Any, ...]] = [(*_FIRST_COLUMNS, *facts, *_LAST_COLUMNS)]
    for outcome in outcomes:
        output = next((path for path in outcome.outputs.values() if isinstance(path, str)), None)
        values = (outcome.facts.get(name) for name in facts)
        first = (outcome.input, outcome.state, outcome.exit_code)
        warnings = "; ".join(message.removeprefix(f"{outcome.input}: ") for message in outcome.messages)
        rows.append((*first, *values, output, warnings, outcome.error))
    return csv_text(rows)


def require_table(path: Path, *, overwrite: bool) -> None:
    """Raise OutputError if a file that is no such table exists and `overwrite` is off."""
    if overwrite or not path.is_file():  # devices and pipes are written into, not replaced
        return
    head = ",".join(_FIRST_COLUMNS) + ","
    with path.open("rb") as file:
        if file.read(len(head)) != head.encode():
            raise OutputError(f"{path}: already exists, and is not a table of a batch", hint="--table FILE")


def write_table(path: Path, outcomes: Sequence[Outcome], facts: Sequence[str], *, overwrite: bool) -> None:
    """Write a row per input. Raises OutputError: see `require_table`, or it cannot be written."""
    require_table(path, overwrite=overwrite)
    write_text(path, as_utf8(_to_csv(outcomes, facts)))
