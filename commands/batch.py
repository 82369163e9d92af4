"""Run a command on a batch of inputs: here, in worker processes or on a Ray cluster.

A bad input is reported, the others are processed, and the exit code says so.
"""

import contextlib
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from typer import Exit

from vidsum.commands.jobs import Queue, Task, Work
from vidsum.commands.log import LOG
from vidsum.commands.outputs import Files, Outputs
from vidsum.commands.paths import copy_of, register_input, reserve_output, url_of
from vidsum.commands.progress import BatchFile, Columns, Display, Outcome, batch_files, tally
from vidsum.commands.result import CommandResult, Table, View, print_table, printable, render, run_one
from vidsum.commands.saving import existing
from vidsum.errors import InputError, UsageError, redact
from vidsum.io.outputs import check_target
from vidsum.io.text import STDIN
from vidsum.options import ADVANCED, option
from vidsum.times import parse_time

if TYPE_CHECKING:
    from vidsum.types import Progress


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Inputs from folders and lists, and the processing of a batch."""

    PANEL = "Inputs"

    recursive: bool = option(
        "Include videos in subfolders.", False, flags=("--recursive", "-r"), panel=ADVANCED
    )
    from_file: str | None = option(
        "File with one input per line, or separated by NUL (find -print0); - for stdin.",
        None,
        metavar="FILE",
        shared=False,
        panel=ADVANCED,
    )
    jobs: int = option(
        "Number of videos processed at the same time.", 1, flags=("--jobs", "-j"), min=1, panel=ADVANCED
    )
    ray: str | None = option(
        "Run on the Ray cluster at ADDRESS; local starts one here (requires vidsum[ray]).",
        None,
        metavar="ADDRESS|local",
        panel=ADVANCED,
        flag_on=("extract", "index"),
    )
    max_download: float = option(
        "Largest download of one URL, in gigabytes.",
        8.0,
        above=0,
        metavar="GB",
        default_text="8",
        panel=ADVANCED,
        flag_on=("extract",),
    )
    max_download_time: float = option(
        "Longest time to download one URL, e.g. 30:00.",
        7200.0,
        above=0,
        metavar="TIME",
        default_text="2:00:00",
        parse=parse_time,
        panel=ADVANCED,
        flag_on=(),
    )
    summary_json: Path | None = option(
        "Save the status of each input as JSON.",
        None,
        metavar="FILE",
        shared=False,
        writes=True,
        panel=ADVANCED,
        flag_on=("extract",),
    )
    table: Path | None = option(
        "Save a CSV table with a row per input: status, length, results, warnings.",
        None,
        metavar="FILE",
        shared=False,
        writes=True,
        panel=ADVANCED,
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
        from vidsum.pipelines.sources import expand, read_list

        if STDIN in paths:
            hint = "save it to a file; /dev/stdin works if stdin is redirected from a file"
            raise UsageError("video on stdin is not supported", hint=hint)
        listed = read_list(self.from_file) if self.from_file else []
        if not paths and not listed:
            raise UsageError("no input given", hint="a video or a folder; --help lists the options")
        named = [copy_of(name) for name in (*paths, *listed)]
        return expand(named, recursive=self.recursive)


@dataclass(frozen=True)
class Verb:
    """The work of a command on one input, and what its batch reports."""

    name: str
    work: Work
    """A module-level function, or a `partial` of one, where worker processes have to unpickle it."""
    device: str = "cpu"
    """The device that it computes on, for a cluster."""
    columns: Columns = field(default_factory=dict)
    """Columns of `--table`."""
    rank: Callable[[Sequence[CommandResult]], Table | None] | None = None
    """Makes a last table of all results."""
    collect: Callable[[Sequence[CommandResult]], CommandResult] | None = None
    """Writes one file of all results."""
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

    Args:
        verb: the work.
        inputs: paths of videos, if there is a `batch`; else names of any kind.
        view: what is printed.
        batch: the options of commands that read videos.
        outputs: whether a bad input ends the batch, and whether existing outputs are skipped.
        targets: the outputs of each input.

    Raises:
        Exit: an input failed; with its own code if it is the only one, else with 1.
    """
    files = targets or {}
    tasks = [
        Task(number, path, files.get(path, Files({})), url_of(path)) for number, path in enumerate(inputs)
    ]
    outcomes = [Outcome(redact(task.url or task.path)) for task in tasks]
    status = batch_files(verb.name, outcomes, verb.columns, batch.summary_json, batch.table) if batch else []
    results: list[CommandResult] = []
    with _write_at_end(status, outcomes, overwrite=outputs.overwrite), Display(view) as display:
        work = _GuardedWork(verb.name, verb.work, view, batch, outputs)
        monitor = _Monitor(display, outcomes, verb.columns)
        queue = Queue(verb.name, work, tasks, monitor.progress_of, monitor.finish)
        with contextlib.closing(_iter_results(queue, verb, batch)) as finished:
            for result in finished:
                with display.paused():
                    render(result, view, in_batch=len(tasks) > 1)
                if not (verb.rank or verb.collect):
                    results.clear()  # they may be large
                results.append(result)
                if result.exit_code and outputs.fail_fast:
                    break
    if len(tasks) > 1:
        is_taken = outputs.to_stdout or results[-1].document is not None
        stream = sys.stderr if is_taken else sys.stdout
        _print_end(verb, tally(outcomes), results, view, stream, has_counts=batch is not None)
    if verb.collect:
        _collect(verb, results, view)
    if any(outcome.exit_code for outcome in outcomes):
        raise Exit(1 if len(tasks) > 1 else results[-1].exit_code)


@dataclass(frozen=True)
class _GuardedWork:
    """Work on an input after the checks that all commands share; an exception becomes a failed result."""

    command: str
    work: Work
    view: View
    batch: Batch | None
    outputs: Outputs

    def __call__(self, task: Task, progress: "Progress | None") -> CommandResult:
        return run_one(
            self.command, task.url or task.path, self.view, partial(self._check_and_run, task, progress)
        )

    def _check_and_run(self, task: Task, progress: "Progress | None") -> CommandResult:
        if task.files.fault:
            raise task.files.fault
        if task.files.named:
            register_input(task.path)  # a worker process knows none
        if self.outputs.skip_existing and task.files.named and (skipped := existing(task.files)):
            return skipped
        if self.batch:
            self._prepare(task, self.batch, progress)
        return self.work(task, progress)

    def _prepare(self, task: Task, batch: Batch, progress: "Progress | None") -> None:
        """Download a URL. Raises InputError: that fails, or the input is a folder."""
        from vidsum.pipelines.sources import is_folder

        if task.url:
            from vidsum.pipelines.download import DownloadLimits, update_copy

            limits = DownloadLimits(batch.max_download, batch.max_download_time)
            update_copy(task.url, Path(task.path), limits, progress)
        elif is_folder(task.path):
            hints = [] if batch.recursive else ["--recursive includes subfolders"]
            hints += ["name audio files one by one"] if self.command == "transcribe" else []
            raise InputError(f"{task.path}: is a folder without a video", hint="; ".join(hints) or None)


@dataclass(frozen=True)
class _Monitor:
    """The display and the status of the inputs; the steps of an input are named `3/200 film.mp4`."""

    display: Display
    outcomes: list[Outcome]
    columns: Columns

    def progress_of(self, task: Task) -> "Progress | None":
        return self.display.reporter(self._label(task))

    def finish(self, task: Task, result: CommandResult) -> None:
        """Raises the error of a result that ends the batch."""
        self.display.end(self._label(task))
        outcome = self.outcomes[task.number]
        self.outcomes[task.number] = Outcome.from_result(outcome.input, result, self.columns)
        if result.fatal:
            raise result.fatal

    def _label(self, task: Task) -> str:
        count = len(self.outcomes)
        return f"{task.number + 1}/{count} {Path(task.path).name}" if count > 1 else ""


def _iter_results(queue: Queue, verb: Verb, batch: Batch | None) -> Generator[CommandResult, None, None]:
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
        with contextlib.closing(
            _start(replace(queue, tasks=[left[path][0] for path in free]), verb, batch)
        ) as results:
            yield from results


def _start(queue: Queue, verb: Verb, batch: Batch | None) -> Generator[CommandResult, None, None]:
    """Run the tasks where the options say."""
    jobs = min(batch.jobs, len(queue.tasks)) if batch else 1
    if batch and batch.ray:
        from vidsum.commands.cluster import on_cluster

        return on_cluster(queue, batch.ray, verb.device)
    if jobs > 1:
        from vidsum.commands.workers import in_workers  # multiprocessing is slow to load

        return in_workers(queue, jobs)
    return _run_here(queue)


def _run_here(queue: Queue) -> Generator[CommandResult, None, None]:
    for task in queue.tasks:
        result = queue.work(task, queue.progress_of(task))
        queue.finish(task, result)
        yield result


def _print_end(
    verb: Verb,
    counts: Table,
    results: Sequence[CommandResult],
    view: View,
    stream: TextIO,
    *,
    has_counts: bool,
) -> None:
    """Log the counts of a batch; print them, and the last table of the verb."""
    LOG.info(printable(f"{verb.name}: {counts.title}"))
    ranking = verb.rank and verb.rank(results)
    for table in filter(None, [counts if has_counts else None, ranking]):
        if not (view.json or view.quiet):
            print_table(table, stream)


def _collect(verb: Verb, results: Sequence[CommandResult], view: View) -> None:
    """Write the file of all results, if any input has one. Raises Exit where it fails."""
    if verb.collect and any(not result.exit_code for result in results):
        collected = run_one(verb.name, None, view, partial(verb.collect, results))
        render(collected, view)
        if collected.exit_code:
            raise Exit(collected.exit_code)


@contextlib.contextmanager
def _write_at_end(
    files: Sequence[BatchFile], outcomes: Sequence[Outcome], *, overwrite: bool
) -> Iterator[None]:
    """Write the status files when the batch ends or is interrupted.

    Raises:
        UsageError: one is an input or another output.
        OutputError: one cannot be written, or would replace a file of another kind; checked before any work,
            and again at the end.
    """
    for outcome in outcomes if files else ():
        register_input(outcome.input)
    for file in files:
        reserve_output(file.path, file.option)
        check_target(file.path)
        file.check(overwrite=overwrite)
    with contextlib.ExitStack() as at_the_end:
        for file in files:
            at_the_end.callback(file.write, overwrite=overwrite)
        yield
