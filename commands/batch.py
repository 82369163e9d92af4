"""Run a command on a batch of inputs, and print its answers.

At the end a table is printed, and `--table` writes a file.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Exit

from vidsum.batch.inputs import BatchInput
from vidsum.batch.reply import Reply
from vidsum.batch.runner import Work, run_inputs
from vidsum.batch.settings import EXPORTING, PRINTING, READING, WRITING, CommonOptions
from vidsum.batch.states import Columns, count_states, row_of, write_table
from vidsum.batch.targets import check_table
from vidsum.commands.options import Only
from vidsum.commands.result import print_table, render, run_alone
from vidsum.errors import InputError, VidsumError, redact
from vidsum.features.settings import Extraction
from vidsum.io.paths import reads_of
from vidsum.io.progress import Display

Sources = Annotated[
    list[str],
    typer.Argument(
        None, metavar="VIDEO|FOLDER|FEATURES", help="Videos, folders of videos, or feature files (.npz, .h5)."
    ),
]
Videos = Annotated[
    list[str], typer.Argument(None, metavar="VIDEO|FOLDER", help="Videos, or folders of videos.")
]
Printing = Annotated[CommonOptions, Only(PRINTING)]
Reading = Annotated[CommonOptions, Only((*READING, *PRINTING))]
Writing = Annotated[CommonOptions, Only((*READING, *WRITING, *PRINTING))]
Exporting = Annotated[CommonOptions, Only((*READING, *WRITING, *EXPORTING, *PRINTING))]
Clipping = Annotated[CommonOptions, Only((*READING, *WRITING, "clips_dir", *EXPORTING, *PRINTING))]


def keep_subtitles(
    inputs: Sequence[BatchInput], extraction: Extraction, common: CommonOptions, *, saves: bool = False
) -> CommonOptions:
    """Return options of a run that reads subtitles, which it writes nothing over; `saves` some of its own.

    Raises UsageError: a file of subtitles for several inputs.
    """
    extraction.require_subtitles_of(len(inputs))
    if not (saves or {"srt", "vtt"} & {*common.export}):
        return common
    from vidsum.pipelines.subtitles import find_subtitles

    reads = dict(common.reads)
    for item in inputs:
        with contextlib.suppress(InputError):  # the work names the fault
            subtitles = find_subtitles(item.path, extraction)
            if subtitles and subtitles.path:
                reads |= reads_of([str(subtitles.path)], option="subtitles")
    return replace(common, reads=reads)


def run_verb(
    command: str,
    work: Work,
    inputs: Sequence[BatchInput],
    common: CommonOptions,
    *,
    device: str = "cpu",
    columns: Mapping[str, Any] = {},
    rank: Callable[[Sequence[Reply]], Reply | None] | None = None,
    collect: Callable[[Sequence[Reply]], Reply] | None = None,
    is_isolated: bool = False,
    retry: Callable[[Sequence[str]], Sequence[str]] | None = None,
    are_videos: bool = True,
) -> None:
    """Run a command on each input, print each answer as it comes, and leave with the exit code.

    `columns` are the columns of `--table`; `rank` returns a last table of all answers, and `collect` writes
    one file of them all. For the other arguments, see `run_inputs`.

    Raises:
        Exit: an input failed; with its own code if it is the only one or ends the batch, else with 1.
    """
    rows = [row_of(redact(item.name)) for item in inputs]
    is_batch, answers, label = len(inputs) > 1, list[Reply](), partial(_label, count=len(inputs))
    n_named = 0 if any(item.is_joint for item in inputs) else len(inputs)
    ended = list[Reply]()
    with (
        _write_at_end(inputs, columns, rows, common),
        _report_early_end(ended, rows if is_batch and are_videos else (), common, n_named),
        Display(quiet=common.quiet) as display,
    ):

        def finish(item: BatchInput, answer: Reply) -> None:
            display.end(label(item))
            rows[item.number] = row_of(rows[item.number]["input"], answer, columns)
            if answer.fatal:
                ended.append(answer)
                raise answer.fatal

        answering = run_inputs(
            command,
            work,
            inputs,
            common,
            progress_of=lambda item: display.reporter(label(item)),
            finish=finish,
            device=device,
            is_isolated=is_isolated,
            retry=retry,
            are_videos=are_videos,
        )
        with contextlib.closing(answering) as finished:
            for answer in finished:
                with display.paused():
                    render(answer, common, n_inputs=n_named)
                if not (rank or collect):
                    answers.clear()  # they may be large
                answers.append(answer)
                if answer.exit_code and common.fail_fast:
                    break
    if is_batch and not common.quiet:
        ranking = rank(answers) if rank and not common.json else None
        _print_end(rows if are_videos else (), ranking, common, answers[-1])
    if collect and any(not answer.exit_code for answer in answers):
        run_alone(command, common, partial(collect, answers))
    if any(row.get("exit_code") for row in rows):
        raise Exit(1 if is_batch else answers[-1].exit_code)


def _label(item: BatchInput, count: int) -> str:
    """Return the name of an input in the display of progress; empty where it is the only one."""
    return f"{item.number + 1}/{count} {Path(item.path).name}" if count > 1 else ""


def _print_end(
    rows: Sequence[dict[str, Any]], ranking: Reply | None, common: CommonOptions, last: Reply
) -> None:
    """Print the counts of a batch, the inputs that failed unless their JSON says so, and a ranking.

    On stderr where answers, of which `last` is one, are documents on stdout.
    """
    is_taken = common.to_stdout or common.json or last.document is not None
    stream = sys.stderr if is_taken else sys.stdout
    failed = [row for row in rows if row["state"] == "failed" and not common.json]
    failures = [(row["input"], str(row["exit_code"]), row["error"]) for row in failed]
    if rows:
        table = (("failed", "exit code", "error"), *failures) if failures else ()
        print_table(table, count_states(rows), stream)
    if ranking:
        print_table(ranking.table, ranking.title, stream)


@contextlib.contextmanager
def _report_early_end(
    ended: Sequence[Reply], rows: Sequence[dict[str, Any]], common: CommonOptions, n_named: int
) -> Iterator[None]:
    """Print the answer whose fault ended the batch, if one did, and the counts of the rows.

    Raises Exit: with the code of that answer.
    """
    try:
        yield
    except VidsumError:
        if not ended:
            raise
        render(ended[0], common, n_inputs=n_named)
        if rows and not common.quiet:
            print(count_states(rows), file=sys.stderr)
        raise Exit(ended[0].exit_code) from None


@contextlib.contextmanager
def _write_at_end(
    inputs: Sequence[BatchInput], columns: Columns, rows: Sequence[dict[str, Any]], common: CommonOptions
) -> Iterator[None]:
    """Write `--table` when the batch ends or is interrupted.

    Raises errors of `check_table`, before any work, and of `write_table` at the end.
    """
    if not common.table:
        yield
        return
    check_table(inputs, common)
    try:
        yield
    finally:
        write_table(common.table, rows, columns, overwrite=common.overwrite)
