"""Run a command on a batch of inputs: here, in worker processes or on a Ray cluster.

A bad input is reported, the others are processed, and the exit code says so. At the end a table is printed,
and `--table` writes a file.
"""

import contextlib
import os
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from typer import Exit

from vidsum.commands.outputs import Outputs
from vidsum.commands.result import (
    Columns,
    CommandResult,
    Table,
    View,
    outcome_of,
    print_table,
    render,
    run_alone,
    run_one,
)
from vidsum.errors import InputError, UsageError, redact
from vidsum.io.outputs import check_target
from vidsum.io.paths import named_folders, register_input, reserve_output, url_of
from vidsum.io.progress import Display
from vidsum.io.series import suggest_film
from vidsum.io.text import STDIN
from vidsum.options import ADVANCED, option
from vidsum.outputs.records import has_foreign
from vidsum.outputs.tasks import Files, Progress, Queue, Task, Work
from vidsum.batch.states import Outcome, count_states, require_table, write_table

Sources = Annotated[
    list[str],
    typer.Argument(
        None, metavar="VIDEO|FOLDER|FEATURES", help="Videos, folders of videos, or feature files (.npz, .h5)."
    ),
]
Videos = Annotated[
    list[str], typer.Argument(None, metavar="VIDEO|FOLDER", help="Videos, or folders of videos.")
]


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Inputs from folders and lists, and the processing of a batch."""

    PANEL = ADVANCED

    recursive: bool = option("Include videos in subfolders.", False, flags=("--recursive", "-r"))
    from_file: str | None = option(
        "File with one input per line, or separated by NUL (find -print0); - for stdin.", None, metavar="FILE"
    )
    jobs: int = option("Number of videos processed at the same time.", 1, flags=("--jobs", "-j"), min=1)
    ray: str | None = option(
        "Run on the Ray cluster at ADDRESS; local starts one here (requires vidsum[ray]).",
        None,
        metavar="ADDRESS|local",
        flag_on=("extract", "index"),
    )
    max_download: float = option(
        "Largest download of one URL, in gigabytes.",
        8.0,
        above=0,
        metavar="GB",
        default_text="8",
        flag_on=("extract",),
    )
    table: Path | None = option(
        "Save a CSV table with a row per input: status, length, results, warnings.",
        None,
        metavar="FILE",
        writes=True,
    )

    def __post_init__(self) -> None:
        if self.ray and self.jobs > 1:
            raise UsageError("--ray and --jobs exclude each other", hint="Ray runs a task per core")

    def inputs(self, paths: Sequence[str]) -> list[str]:
        """Return the named inputs, then those of `--from-file`, with folders replaced by their videos.

        URLs are replaced by the paths of their copies in the cache, which `run_verb` downloads.

        Raises:
            UsageError: there is none, or one is stdin.
            InputError: the list cannot be read.
        """
        no_input = UsageError("no input given", hint="a video or a folder; --help lists the options")
        if STDIN in paths:
            hint = "save it to a file; /dev/stdin works if stdin is redirected from a file"
            raise UsageError("video on stdin is not supported", hint=hint)
        if not paths and not self.from_file:
            raise no_input
        from vidsum.pipelines.sources import copy_of, expand, is_folder, read_list  # with NumPy and PyAV

        listed = read_list(self.from_file) if self.from_file else []
        if not paths and not listed:
            raise no_input
        named = [*map(copy_of, (*paths, *listed))]
        named_folders().update(filter(is_folder, named))
        return expand(named, recursive=self.recursive)


@dataclass(frozen=True)
class Verb:
    """The work of a command on one input, and what its batch reports."""

    name: str
    work: Work[CommandResult]
    """A module-level function, or a `partial` of one, where worker processes have to unpickle it."""
    device: str = "cpu"  # the device that it computes on, for a cluster
    columns: Columns = field(default_factory=dict)  # columns of `--table`
    rank: Callable[[Sequence[CommandResult]], Table | None] | None = None  # makes a last table of all results
    collect: Callable[[Sequence[CommandResult]], CommandResult] | None = None
    """Writes one file of all results."""
    isolated: bool = False
    """Whether a single input too has a worker process, as all inputs of a batch have."""
    retry: Callable[[Sequence[str]], Sequence[str]] | None = None
    """Chooses, of the inputs that were left to other processes, those to try again at the end."""


def run_verb(
    verb: Verb,
    inputs: Sequence[str],
    view: View,
    batch: Batch | None = None,
    outputs: Outputs = Outputs(),
    targets: Mapping[str, Files] | None = None,
) -> None:
    """Run a verb on each input, print each result as it comes, and leave with the exit code.

    `inputs` are paths of videos, if there is a `batch`; else names of any kind. `targets` are the outputs of
    each, and `outputs` has whether a bad input ends the batch.

    Raises:
        Exit: an input failed; with its own code if it is the only one, else with 1.
    """
    files = targets or {}
    tasks = [
        Task(number, path, files.get(path, Files({})), url_of(path)) for number, path in enumerate(inputs)
    ]
    outcomes = [Outcome(redact(task.name)) for task in tasks]
    is_batch, results = len(tasks) > 1, list[CommandResult]()
    with (
        _write_at_end(verb, batch, outcomes, overwrite=outputs.overwrite),
        Display(quiet=view.quiet) as display,
    ):

        def label(task: Task) -> str:
            return f"{task.number + 1}/{len(tasks)} {Path(task.path).name}" if is_batch else ""

        def finish(task: Task, result: CommandResult) -> None:
            display.end(label(task))
            outcomes[task.number] = outcome_of(outcomes[task.number].input, result, verb.columns)
            if result.fatal:
                raise result.fatal

        queue = Queue(
            _GuardedWork(verb.name, verb.work, view, batch, outputs),
            tasks,
            lambda task: display.reporter(label(task)),
            finish,
            lambda task, error: CommandResult.failed(verb.name, task.name, error, view),
        )
        with contextlib.closing(_iter_results(queue, verb, batch)) as finished:
            for result in finished:
                with display.paused():
                    render(result, view, in_batch=is_batch)
                if not (verb.rank or verb.collect):
                    results.clear()  # they may be large
                results.append(result)
                if result.exit_code and outputs.fail_fast:
                    break
    if is_batch:
        is_taken = outputs.to_stdout or results[-1].document is not None
        _print_end(verb, outcomes, results, view, to_stderr=is_taken, has_counts=batch is not None)
    if verb.collect and any(not result.exit_code for result in results):
        run_alone(verb.name, view, partial(verb.collect, results))
    if any(outcome.exit_code for outcome in outcomes):
        raise Exit(1 if is_batch else results[-1].exit_code)


@dataclass(frozen=True)
class _GuardedWork:
    """Work on an input after the checks that all commands share; an exception becomes a failed result."""

    command: str
    work: Work[CommandResult]
    view: View
    batch: Batch | None
    outputs: Outputs

    def __call__(self, task: Task, progress: Progress | None) -> CommandResult:
        return run_one(self.command, task.name, self.view, partial(self._check_and_run, task, progress))

    def _check_and_run(self, task: Task, progress: Progress | None) -> CommandResult:
        files = task.files
        if files.fault:
            raise files.fault
        if files.named:
            register_input(task.path)  # a worker process knows none
        # clips are not considered: their number depends on the result
        is_there = bool(files.named) and all(path.exists() for path in (*files.all, *files.derived.values()))
        if self.outputs.skip_existing and (is_there or has_foreign(files)):
            files = replace(files, named={kind: path for kind, path in files.named.items() if path.exists()})
            line = f"{', '.join(map(str, files.all))}: exists, skipped"
            return CommandResult(data={"skipped": True, **files.facts()}, lines=(line,))
        if self.batch:
            self._prepare(task, self.batch, progress)
        return self.work(task, progress)

    def _prepare(self, task: Task, batch: Batch, progress: Progress | None) -> None:
        """Download a URL. Raises InputError: that fails, or the input is a folder."""
        from vidsum.pipelines.sources import is_folder

        if task.url:
            from vidsum.pipelines.download import update_copy

            update_copy(task.url, Path(task.path), batch.max_download, progress)
        elif is_folder(task.path):
            if not os.access(task.path, os.R_OK | os.X_OK):
                raise InputError(f"{task.path}: permission denied")
            hints = [] if batch.recursive else ["--recursive includes subfolders"]
            if command := suggest_film(Path(task.path)):
                hints = [command]
            hints += ["name audio files one by one"] if self.command == "transcribe" else []
            raise InputError(f"{task.path}: is a folder without a video", hint="; ".join(hints) or None)


def _iter_results(
    queue: Queue[CommandResult], verb: Verb, batch: Batch | None
) -> Generator[CommandResult, None, None]:
    """Yield the results in the order of the inputs; those left to other processes come last."""
    left: dict[str, tuple[Task, CommandResult]] = {}
    with contextlib.closing(_start(queue, verb, batch)) as results:
        for task, result in zip(queue.tasks, results, strict=False):
            if verb.retry and result.data.get("left"):
                left[task.path] = task, result
            else:
                yield result
    free = verb.retry([*left]) if verb.retry and left else ()
    yield from (result for path, (_, result) in left.items() if path not in free)
    if free:
        again = replace(queue, tasks=[left[path][0] for path in free])
        with contextlib.closing(_start(again, verb, batch)) as results:
            yield from results


def _start(
    queue: Queue[CommandResult], verb: Verb, batch: Batch | None
) -> Generator[CommandResult, None, None]:
    if batch and batch.ray:
        from vidsum.batch.cluster import on_cluster

        return on_cluster(queue, batch.ray, verb.device)
    if batch and _needs_workers(queue.tasks, verb, batch):
        from vidsum.batch.workers import in_workers  # multiprocessing is slow to load

        return in_workers(queue, min(batch.jobs, len(queue.tasks)))
    return _run_here(queue)


def _needs_workers(tasks: Sequence[Task], verb: Verb, batch: Batch) -> bool:
    """Return whether an input that ends the process that reads it would end others too."""
    return len(tasks) > 1 or verb.isolated


def _run_here(queue: Queue[CommandResult]) -> Generator[CommandResult, None, None]:
    for task in queue.tasks:
        result = queue.work(task, queue.progress_of(task))
        queue.finish(task, result)
        yield result


def _print_end(
    verb: Verb,
    outcomes: Sequence[Outcome],
    results: Sequence[CommandResult],
    view: View,
    *,
    to_stderr: bool,
    has_counts: bool,
) -> None:
    """Print the counts of a batch, the inputs that failed, and the last table of the verb."""
    failed = [outcome for outcome in outcomes if outcome.state == "failed"]
    rows = tuple((outcome.input, str(outcome.exit_code), outcome.error) for outcome in failed)
    title = count_states(outcomes)
    counts = Table(("failed", "exit code", "error") if rows else (), rows, title)
    ranking = verb.rank and verb.rank(results)
    for table in filter(None, [counts if has_counts else None, ranking]):
        if not (view.json or view.quiet):
            print_table(table, sys.stderr if to_stderr else sys.stdout)


@contextlib.contextmanager
def _write_at_end(
    verb: Verb, batch: Batch | None, outcomes: Sequence[Outcome], *, overwrite: bool
) -> Iterator[None]:
    """Write `--table` when the batch ends or is interrupted.

    Raises UsageError: it is an input or another output. OutputError: it cannot be written, or would replace a
    file of another kind; checked before any work, and again at the end.
    """
    if not batch or not batch.table:
        yield
        return
    for outcome in outcomes:
        register_input(outcome.input)
    reserve_output(batch.table, "--table")
    check_target(batch.table)
    require_table(batch.table, overwrite=overwrite)
    try:
        yield
    finally:
        write_table(batch.table, outcomes, tuple(verb.columns), overwrite=overwrite)
