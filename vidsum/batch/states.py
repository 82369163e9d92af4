"""The status of each input of a batch, as CSV (`--table`) and in words."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vidsum.batch.reply import Reply
from vidsum.io.atomic import as_utf8, make_folder
from vidsum.io.text import csv_text

STATES = ("done", "up to date", "skipped", "left", "failed", "not run")
"""`left`: another process is working on the input."""

Columns = Mapping[str, str | Callable[[Mapping[str, Any]], Any]]
"""Columns that describe an input: name to the key of a fact, of which a list counts, or to a function of the
data of its answer."""

_FIRST_COLUMNS, _LAST_COLUMNS = ("input", "state", "exit_code"), ("output", "warnings", "error")


def row_of(name: str, answer: Reply | None = None, columns: Mapping[str, Any] = {}) -> dict[str, Any]:
    """Return the row of an input, by column; without an answer it was not run."""
    if answer is None:
        return {"input": name, "state": "not run"}
    state = _state_of(answer)
    is_there = state in ("done", "up to date")
    outputs = answer.data.get("outputs", {})
    return {
        **{column: _cell(answer.data, fact) for column, fact in columns.items() if is_there},
        "input": name,
        "state": state,
        "exit_code": answer.exit_code,
        "output": next((path for path in outputs.values() if isinstance(path, str)), None),
        "warnings": "; ".join(answer.messages),
        "error": "; ".join(
            problem.text if problem.subject == name else problem.message for problem in answer.errors
        ),
    }


def _state_of(answer: Reply) -> str:
    if answer.exit_code:
        return "failed"
    if "skipped" in answer.data:
        return "skipped"
    if answer.data.get("up_to_date"):
        return "up to date"
    return "left" if answer.data.get("left") else "done"


def _cell(data: Mapping[str, Any], column: str | Callable[[Mapping[str, Any]], Any]) -> Any:
    value = data[column] if isinstance(column, str) else column(data)
    return len(value) if isinstance(value, list) else value


def count_states(rows: Sequence[Mapping[str, Any]]) -> str:
    """Count the inputs by state, in words."""
    counts = Counter(row["state"] for row in rows)
    words = ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state])
    return f"{len(rows)} inputs: {words}"


def write_table(
    path: Path, rows: Sequence[Mapping[str, Any]], columns: Iterable[str], *, overwrite: bool
) -> None:
    """Write a row per input. Raises OutputError: it is foreign, or cannot be written."""
    from vidsum.outputs.alone import save_text

    names = (*_FIRST_COLUMNS, *columns, *_LAST_COLUMNS)
    make_folder(path.parent)
    text = csv_text([names, *([row.get(name) for name in names] for row in rows)])
    save_text(as_utf8(text), path, overwrite=overwrite)
