"""The functions that print the answers of commands."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TextIO, TypedDict

from typer import Exit

from vidsum.batch.reply import Reply, Rows, reply_of
from vidsum.batch.settings import CommonOptions
from vidsum.errors import message_of, printable
from vidsum.io.atomic import make_folder
from vidsum.options import ADVANCED, Option
from vidsum.times import format_time

if TYPE_CHECKING:
    from vidsum.results.moments import Moment  # with NumPy, which --help can do without
    from vidsum.types import Interval  # with NumPy, which --help can do without

SCHEMA = "vidsum.result/1"
PlotFormat = Annotated[Literal["png", "svg"], Option("Format of the plots.", panel=ADVANCED, flag_on=())]
Sheet = Annotated[bool, Option("Save a contact sheet of the results.")]
_MAX_TEXT_ROWS = 20


def interval_table(name: str, intervals: "Iterable[Interval]") -> Rows:
    """Number intervals of time; `name` heads the first column."""
    rows = [
        (str(number), format_time(start), format_time(end), f"{end - start:.2f}")
        for number, (start, end) in enumerate(intervals, 1)
    ]
    return ((name, "start", "end", "seconds"), *rows)


def text_table(
    texts: Iterable[tuple[float, float, float | str | None, str]],
    columns: tuple[str, ...] = ("start", "end", "sure", "text"),
) -> Rows:
    """Return the first texts with their times, and a probability or a word; nothing where there are none."""
    rows = [
        (format_time(start), format_time(end), f"{fact:.0%}" if isinstance(fact, float) else fact or "", text)
        for start, end, fact, text in texts
    ]
    if (more := len(rows) - _MAX_TEXT_ROWS) > 0:
        rows[_MAX_TEXT_ROWS:] = [("", "", "", f"... and {more} more")]
    return (columns, *rows) if rows else ()


MOMENT_COLUMNS = ("rank", "start", "end", "seconds", "score")


def moment_row(rank: int, moment: "Moment") -> tuple[str, ...]:
    """Return a moment, under MOMENT_COLUMNS; more digits of its score would depend on the processor."""
    times = format_time(moment.start_s), format_time(moment.end_s)
    return str(rank), *times, f"{moment.end_s - moment.start_s:.2f}", f"{moment.score:.2f}"


def collect_table(table: Path | None, common: CommonOptions) -> Callable[[Sequence[Reply]], Reply] | None:
    """Return the function that writes one CSV of the answers of a batch, if there is one."""
    return partial(_save_table, table, common) if table else None


def _save_table(table: Path, common: CommonOptions, answers: Sequence[Reply]) -> Reply:
    from vidsum.outputs.exports import save_table
    from vidsum.results.load import result_of

    made = [result_of(answer.data) for answer in answers if not answer.exit_code]
    make_folder(table.parent)
    n_rows, line = save_table(made, table, overwrite=common.overwrite, reads=common.reads)
    return Reply(data={"outputs": {"csv": str(table)}, "rows": n_rows}, lines=(line,))


def run_alone(command: str, common: CommonOptions, step: Callable[[], Reply]) -> None:
    """Run a command that has no batch, print its answer and leave with its exit code."""
    answer = reply_of(command, None, common, step)
    render(answer, common, n_inputs=0 if answer.input is None else 1)
    if answer.exit_code:
        raise Exit(answer.exit_code)


def render(answer: Reply, common: CommonOptions, *, n_inputs: int = 0) -> None:
    """Print a result to stdout, its warnings and errors to stderr.

    Warnings name the input of a command that has inputs. Where it has several, errors name it too, and JSON
    documents take one line.
    """
    if common.json:
        print(json.dumps(_envelope(answer)), file=sys.stdout, flush=True)  # ASCII: valid in any encoding
        return
    stream = sys.stdout
    if answer.document is not None:  # texts for people go to stderr
        print(_text(answer.document, in_a_line=n_inputs > 1), end="", file=stream, flush=True)
        stream = sys.stderr
    name = (answer.input or "") if n_inputs else ""
    if not common.quiet:
        print_table(answer.table, answer.title, stream)
        for line in (*answer.lines, *(answer.details if common.verbose else ())):
            print(printable(line), file=stream)
        for message in answer.messages:
            print(f"warning: {printable(message_of(name, message))}", file=sys.stderr)
    for problem in answer.errors:
        is_named = n_inputs < 2 or problem.subject == name
        message = problem.message if is_named else message_of(name, problem.message)
        print(f"error: {printable(message)}", file=sys.stderr)
        if problem.hint:
            print(f"  try: {printable(problem.hint)}", file=sys.stderr)
    sys.stdout.flush()


def _text(document: Mapping[str, Any] | str, *, in_a_line: bool) -> str:
    if isinstance(document, str):
        return document
    from vidsum.results.result import to_text

    return to_text(document, in_a_line=in_a_line)


class EnvelopeError(TypedDict):
    """An error as data: class name, one line, and what to do about it."""

    kind: str
    message: str
    hint: str | None


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
    errors: Sequence[EnvelopeError]


def _envelope(answer: Reply) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "command": answer.command,
        "input": answer.input,
        "ok": not answer.errors,
        "exit_code": answer.exit_code,
        "data": dict(answer.data),
        "messages": list(answer.messages),
        "errors": [
            {"kind": problem.kind, "message": problem.message, "hint": problem.hint}
            for problem in answer.errors
        ],
    }


def print_table(table: Rows, title: str, stream: TextIO) -> None:
    """Print a table; numbers are aligned to the right, texts to the left."""
    if title:
        print(printable(title), file=stream)
    grid = [[printable(cell) for cell in row] for row in table]
    columns = [*zip(*grid, strict=True)]
    widths = [max(map(len, cells)) for cells in columns]
    is_numeric = [
        len(table) > 1 and all(cell[:1].isdigit() for cell in cells[1:] if cell) for cells in columns
    ]
    for row in grid:
        cells = [
            cell.rjust(width) if is_number else cell.ljust(width)
            for cell, width, is_number in zip(row, widths, is_numeric, strict=True)
        ]
        print("  ".join(cells).rstrip(), file=stream)
