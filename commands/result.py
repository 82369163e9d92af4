"""The result of a command for one input, and the functions that print it."""

import json
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO, TypedDict

from typer import Exit

from vidsum.commands.config import name_settings
from vidsum.errors import Problem, VidsumError, printable, redact
from vidsum.io.packages import explain_import_error
from vidsum.io.urls import Url
from vidsum.options import ADVANCED, option
from vidsum.results.batch import Outcome
from vidsum.times import format_time

if TYPE_CHECKING:
    from vidsum.results.moments import Moment  # with NumPy, which --help can do without
    from vidsum.types import Interval  # with NumPy, which --help can do without

SCHEMA = "vidsum.result/1"
_MAX_TEXT_ROWS = 20


@dataclass(frozen=True, kw_only=True)
class View:
    """Amount and form of the printed output."""

    PANEL = "Output"

    json: bool = option("Print JSON to stdout, one object per line.", False)
    quiet: bool = option("Print errors only.", False, flags=("--quiet", "-q"), panel=ADVANCED)
    verbose: bool = option(
        "Show details, and tracebacks of internal errors.", False, flags=("--verbose", "-v"), panel=ADVANCED
    )
    config: Path | None = option("YAML file with defaults for options.", None, metavar="FILE", panel=ADVANCED)


@dataclass(frozen=True)
class Table:
    """Rows for people to read; the same facts are in the result's data."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""  # a line above the columns


def interval_table(name: str, intervals: "Iterable[Interval]") -> Table:
    """Number intervals of time; `name` heads the first column."""
    rows = [
        (str(number), format_time(start), format_time(end), f"{end - start:.2f}")
        for number, (start, end) in enumerate(intervals, 1)
    ]
    return Table((name, "start", "end", "seconds"), tuple(rows))


def text_table(
    texts: Iterable[tuple[float, float, float | str | None, str]],
    columns: tuple[str, ...] = ("start", "end", "sure", "text"),
) -> Table | None:
    """Return the first texts with their times, and a probability or a word; None where there are none."""
    rows = [
        (format_time(start), format_time(end), f"{fact:.0%}" if isinstance(fact, float) else fact or "", text)
        for start, end, fact, text in texts
    ]
    if (more := len(rows) - _MAX_TEXT_ROWS) > 0:
        rows[_MAX_TEXT_ROWS:] = [("", "", "", f"... and {more} more")]
    return Table(columns, tuple(rows)) if rows else None


MOMENT_COLUMNS = ("rank", "start", "end", "seconds", "score")


def moment_row(rank: int, moment: "Moment") -> tuple[str, ...]:
    """Return a moment, under MOMENT_COLUMNS; more digits of its score would depend on the processor."""
    times = format_time(moment.start_s), format_time(moment.end_s)
    return str(rank), *times, f"{moment.end_s - moment.start_s:.2f}", f"{moment.score:.2f}"


@dataclass(frozen=True)
class CommandResult:
    """The result of a command for one input; the caller sets `command` and `input`."""

    command: str = ""
    input: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)  # JSON-ready facts
    lines: tuple[str, ...] = ()  # facts for people to read
    table: Table | None = None
    document: Mapping[str, Any] | str | None = None
    """Output for stdout (`-o -`): a JSON document, or the text of another file."""
    messages: tuple[str, ...] = ()  # warnings and notes
    errors: tuple[Problem, ...] = ()
    exit_code: int = 0
    fatal: VidsumError | None = None  # the error, where it ends a batch
    details: tuple[str, ...] = ()  # more lines for people, printed with `--verbose`

    @classmethod
    def failed(
        cls, command: str, input: str | None, error: Exception, view: View = View()
    ) -> "CommandResult":
        """Return the result of a command that an exception ended; its traceback is shown with `-v` only."""
        if view.verbose and not isinstance(error, VidsumError):
            hide = input.hide if isinstance(input, Url) else redact
            for line in "".join(traceback.format_exception(error)).splitlines():
                print(printable(hide(line)), file=sys.stderr)
        error = explain_import_error(error) or error
        if isinstance(error, VidsumError):
            name_settings(error, command)
        code = error.exit_code if isinstance(error, VidsumError) else 1
        fatal = error if isinstance(error, VidsumError) and error.ends_batch else None
        return cls(command, input and redact(input), errors=(Problem.of(error),), exit_code=code, fatal=fatal)


Columns = Mapping[str, str | Callable[[Mapping[str, Any]], Any]]
"""Columns that describe an input in `--table`: name to the key of a fact, of which a list counts, or to a
function of the data of its result."""


def outcome_of(path: str, result: CommandResult, columns: Columns) -> Outcome:
    """Reduce a result, which may hold long curves, to what a batch reports at its end."""
    data, state = result.data, "done"
    for key, name in {"left": "left", "up_to_date": "up to date"}.items():
        state = name if data.get(key) else state
    state = "failed" if result.exit_code else "skipped" if "skipped" in data else state
    outputs = data.get("outputs") or ({"output": data["output"]} if data.get("output") else {})
    if exports := data.get("exports"):
        outputs = {**outputs, "exports": exports}
    is_there = state in ("done", "up to date")
    values = {name: _cell(data, column) for name, column in columns.items()} if is_there else {}
    return Outcome(path, state, result.exit_code, outputs, values, result.messages, result.errors)


def _cell(data: Mapping[str, Any], column: str | Callable[[Mapping[str, Any]], Any]) -> Any:
    value = data[column] if isinstance(column, str) else column(data)
    return len(value) if isinstance(value, list) else value


def run_alone(command: str, view: View, step: Callable[[], CommandResult]) -> None:
    """Run a command that has no inputs, print its result and leave with its exit code."""
    result = run_one(command, None, view, step)
    render(result, view)
    if result.exit_code:
        raise Exit(result.exit_code)


def run_one(command: str, path: str | None, view: View, step: Callable[[], CommandResult]) -> CommandResult:
    """Return the result of a step; an exception becomes a failed one, with its traceback if `-v` is on."""
    try:
        result = step()
        messages = tuple(map(redact, result.messages))
        input = redact(result.input or path or "") or None
        return replace(result, command=result.command or command, input=input, messages=messages)
    except Exception as error:
        return CommandResult.failed(command, path, error, view)


_OTHER_FILE = "another file, or a whole copy of this one"
_REMEDIES = {
    "UsageError": "{command} --help",
    **dict.fromkeys(("InputError", "EmptyResultError", "MissingError", "ForeignFileError"), _OTHER_FILE),
    "WeightsError": "vidsum weights list",
    "OutputError": "-o FILE, or --output-dir FOLDER",
}
"""Remedies by the kind of an error, where it names no better one."""


def _with_remedies(result: CommandResult) -> CommandResult:
    command = f"vidsum {result.command}" if result.command != "vidsum" else "vidsum"
    remedies = (_REMEDIES.get(problem.kind, "").format(command=command) for problem in result.errors)
    pairs = zip(result.errors, remedies, strict=True)
    errors = (replace(problem, hint=problem.hint or remedy or None) for problem, remedy in pairs)
    return replace(result, errors=tuple(errors))


def render(result: CommandResult, view: View, *, in_batch: bool = False) -> None:
    """Print a result to stdout, its warnings and errors to stderr.

    In a batch of several inputs, JSON documents take one line, and warnings and errors name the input.
    """
    result = _with_remedies(result)
    if view.json:
        print(json.dumps(_envelope(result)), file=sys.stdout, flush=True)  # ASCII: valid in any encoding
        return
    stream = sys.stdout
    if result.document is not None:  # texts for people go to stderr
        print(_text(result.document, in_a_line=in_batch), end="", file=stream, flush=True)
        stream = sys.stderr
    prefix = f"{result.input}: " if in_batch else ""
    if not view.quiet:
        if result.table is not None:
            print_table(result.table, stream)
        for line in (*result.lines, *(result.details if view.verbose else ())):
            print(printable(line), file=stream)
        for message in result.messages:
            print(f"warning: {printable(_add_prefix(message, prefix))}", file=sys.stderr)
    for problem in result.errors:
        print(f"error: {printable(_add_prefix(problem.message, prefix))}", file=sys.stderr)
        if problem.hint:
            print(f"  try: {printable(problem.hint)}", file=sys.stderr)
    sys.stdout.flush()


def _text(document: Mapping[str, Any] | str, *, in_a_line: bool) -> str:
    if isinstance(document, str):
        return document
    from vidsum.results.result import to_text

    return to_text(document, in_a_line=in_a_line)


def _add_prefix(message: str, prefix: str) -> str:
    return message if message.startswith(prefix) else prefix + message


class Envelope(TypedDict):
    """Result of a command.

    One line of `--json`: what a command did with one input, or why it failed.
    """

    command: str
    input: str | None
    ok: bool
    # the keyword as `vidsum.types.rules` gives it: that module loads NumPy
    exit_code: Annotated[int, (("minimum", 0),)]
    data: Mapping[str, Any]
    messages: Sequence[str]
    errors: Sequence[Problem]


def _envelope(result: CommandResult) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "command": result.command,
        "input": result.input,
        "ok": not result.errors,
        "exit_code": result.exit_code,
        "data": dict(result.data),
        "messages": list(result.messages),
        "errors": [asdict(problem) for problem in result.errors],
    }


def print_table(table: Table, stream: TextIO) -> None:
    """Print a table; numbers are aligned to the right, texts to the left."""
    if table.title:
        print(printable(table.title), file=stream)
    grid = [[printable(cell) for cell in row] for row in (table.columns, *table.rows)]
    columns = [*zip(*grid, strict=True)]
    widths = [max(map(len, cells)) for cells in columns]
    is_numeric = [
        bool(table.rows) and all(cell[:1].isdigit() for cell in cells[1:] if cell) for cells in columns
    ]
    for row in grid if table.columns else ():
        cells = [
            cell.rjust(width) if is_number else cell.ljust(width)
            for cell, width, is_number in zip(row, widths, is_numeric, strict=True)
        ]
        print("  ".join(cells).rstrip(), file=stream)
