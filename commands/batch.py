"""How a command runs over a batch of inputs.

A bad input is reported, the rest go on, and the exit code says so.
"""

import contextlib
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TextIO

from typer import Exit

from vidsum.commands import jobs
from vidsum.commands.cluster import on_cluster
from vidsum.commands.jobs import Call, Queue, Task, Work, in_workers
from vidsum.commands.outputs import Files, Outputs
from vidsum.commands.paths import copy_of, register_input, reserve_output, urls
from vidsum.commands.progress import BatchFile, Display, Facts, Outcome, batch_files, tally
from vidsum.commands.records import existing
from vidsum.commands.result import LOG, Result, Table, View, print_table, printable, render, run_one
from vidsum.errors import InputError, UsageError, redact
from vidsum.io.text import STDIN
from vidsum.options import ADVANCED, option
from vidsum.outputs import check_target
from vidsum.times import parse_time

if TYPE_CHECKING:
    from vidsum.types import Progress

Step = Callable[[str, "Progress | None"], Result]
Collect = Callable[[Sequence[Result]], Result]
Again = Callable[[Sequence[str]], Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Inputs from folders and lists, and the processing of a batch."""

    PANEL = "Inputs"

    recursive: bool = option("Include videos in subfolders.", False, flags=("--recursive", "-r"))
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
    )
    max_download: float = option(
        "Maximum size of a download, in gigabytes.",
        8.0,
        above=0,
        metavar="GB",
        default_text="8",
        panel=ADVANCED,
    )
    max_download_time: float = option(
        "Maximum time of a download, e.g. 30:00.",
        7200.0,
        above=0,
        metavar="TIME",
        default_text="2:00:00",
        parse=parse_time,
        panel=ADVANCED,
    )
    summary_json: Path | None = option(
        "Save the status of each input as JSON.",
        None,
        metavar="FILE",
        shared=False,
        writes=True,
        panel=ADVANCED,
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

    def inputs(self, paths: Sequence[str], *, allow_playlists: bool = False) -> list[str]:
        """Return the named inputs, then those of `--from-file`, with folders replaced by their videos.

        URLs are replaced by the paths of their copies in the cache, which `run_batch` downloads. Workers
        get no inputs here.

        Raises:
            UsageError: there is none, or one is stdin.
            InputError: the list cannot be read.
        """
        if jobs.current:
            return []
        from vidsum.pipelines.sources import expand, read_list

        if STDIN in paths:
            hint = "save it to a file; /dev/stdin works if stdin is redirected from a file"
            raise UsageError("video on stdin is not supported", hint=hint)
        listed = read_list(self.from_file) if self.from_file else []
        if not paths and not listed:
            raise UsageError("no input given", hint="a video or a folder; --help lists the options")
        named = [copy_of(name) for name in (*paths, *listed)]
        return expand(named, recursive=self.recursive, allow_playlists=allow_playlists)


def run_batch(
    command: str,
    inputs: Sequence[str],
    view: View,
    step: Step,
    *,
    batch: Batch | None = None,
    outputs: Outputs = Outputs(),
    targets: dict[str, Files] | None = None,
    closing: Callable[[Sequence[Result]], Table | None] | None = None,
    collect: Collect | None = None,
    facts: Facts = MappingProxyType({}),
    again: Again | None = None,
) -> None:
    """Run `step` on each input, print each result as it comes, and leave with the exit code.

    After several, people see what became of them, and the table that `closing` makes of the results.

    Args:
        command: its name.
        inputs: what it is to be run on.
        view: how much to print.
        step: does the work for one input.
        batch: the options of commands that read videos; without them, `inputs` are no paths.
        outputs: whether a bad input ends the batch, and whether existing outputs are skipped.
        targets: the outputs of each input, for `step` too; in a worker those of the input at hand.
        closing: makes a last table.
        collect: writes what is made of all results.
        facts: what `--table` and `--summary-json` tell of each input.
        again: of the inputs that were left to other processes, those to try again, when the rest is done.

    Raises:
        Exit: an input failed; with its own code if it is the only one, else with 1.
    """

    files_of = {} if targets is None else targets

    def work(task: Task, progress: "Progress | None") -> Result:
        return run_one(command, task.url or task.path, view, lambda: run(task, progress))

    def run(task: Task, progress: "Progress | None") -> Result:
        if task.files:
            files_of[task.path] = task.files
        return _prepare(command, task, batch, outputs, progress) or step(task.path, progress)

    def done(number: int, result: Result) -> None:
        outcomes[number] = Outcome.from_result(names[number], result, facts)

    if jobs.current:
        jobs.current[0].serve(work)
        return
    tasks = [Task(path, files_of.get(path), urls.get(path)) for path in inputs]
    names = [redact(urls.get(path, path)) for path in inputs]
    outcomes = [Outcome(name) for name in names]
    files = batch_files(command, outcomes, facts, batch.summary_json, batch.table) if batch else []
    results: list[Result] = []
    with (
        _status_files(files, outcomes, overwrite=outputs.overwrite),
        Display(view) as display,
        contextlib.closing(_results(command, tasks, work, batch, display, done, again)) as made,
    ):
        for result in made:
            with display.paused():
                render(result, view, in_batch=len(inputs) > 1)
            results[:] = [*results, result] if closing or collect else [result]
            if result.exit_code and outputs.fail_fast:
                break
    if len(inputs) > 1:
        tables = [tally(outcomes), *filter(None, [closing and closing(results)])]
        LOG.info(printable(f"{command}: {tables[0].title}"))
        is_taken = outputs.to_stdout or results[-1].document is not None
        _print_last(tables if batch else tables[1:], view, sys.stderr if is_taken else sys.stdout)
    _collect(command, collect, results, view)
    codes = [outcome.exit_code for outcome in outcomes if outcome.exit_code]
    if codes:
        raise Exit(codes[0] if len(inputs) == 1 else 1)


def _collect(command: str, collect: Collect | None, results: Sequence[Result], view: View) -> None:
    """Print what is made of all results, if any input gave one. Raises Exit where it fails."""
    if collect and any(not result.exit_code for result in results):
        collected = run_one(command, None, view, lambda: collect(results))
        render(collected, view)
        if collected.exit_code:
            raise Exit(collected.exit_code)


def _print_last(tables: Sequence[Table], view: View, stream: TextIO) -> None:
    """Print the tables that end a batch, if people read the results."""
    for table in () if view.json or view.quiet else tables:
        print_table(table, stream)


def _prepare(
    command: str, task: Task, batch: Batch | None, outputs: Outputs, progress: "Progress | None"
) -> Result | None:
    """Return the result of an input that is skipped; else copy it if it is at a web address.

    Raises InputError: that fails, or the input is a folder. VidsumError: its outputs cannot be written.
    """
    if task.files and task.files.fault:
        raise task.files.fault
    if outputs.skip_existing and task.files and (skipped := existing(task.files)):
        return skipped
    if batch is None:
        return None
    from vidsum.pipelines.sources import is_folder

    if task.url:
        from vidsum.pipelines.download import DownloadLimits, update_copy

        update_copy(
            task.url, Path(task.path), DownloadLimits(batch.max_download, batch.max_download_time), progress
        )
    elif is_folder(task.path):
        hints = [] if batch.recursive else ["--recursive, for those below it"]
        hints += ["name recordings one by one"] if command == "transcribe" else []
        raise InputError(f"{task.path}: is a folder without a video", hint="; ".join(hints) or None)
    return None


def _results(
    command: str,
    tasks: Sequence[Task],
    work: Work,
    batch: Batch | None,
    display: Display,
    on_done: Callable[[int, Result], None],
    again: Again | None,
) -> Generator[Result, None, None]:
    """Yield the result of each input, in this process or in several; its steps are named `3/200 film.mp4`.

    `on_done` is called when an input is done, which may be before its turn. Inputs that are left to another
    process come last.
    """
    names = [f"{number}/{len(tasks)} {Path(task.path).name}" for number, task in enumerate(tasks, 1)]
    labels = names if len(tasks) > 1 else [""] * len(tasks)
    jobs = min(batch.jobs, len(tasks)) if batch else 1

    def done(number: int, result: Result) -> None:
        display.end(labels[number])
        on_done(number, result)
        if result.fatal:
            raise result.fatal

    def run(numbers: Sequence[int]) -> Generator[Result, None, None]:
        queue = Queue(
            Call.here(command),
            [tasks[number] for number in numbers],
            lambda place: display.reporter(labels[numbers[place]]),
            lambda place, result: done(numbers[place], result),
        )
        if batch and batch.ray:
            yield from on_cluster(queue, batch.ray)
        elif jobs > 1:
            yield from in_workers(queue, jobs)
        else:
            for place, task in enumerate(queue.tasks):
                result = work(task, queue.progress_of(place))
                queue.done(place, result)
                yield result

    left: dict[str, tuple[int, Result]] = {}
    with contextlib.closing(run(range(len(tasks)))) as results:
        for number, result in enumerate(results):
            if again and result.data.get("left"):
                left[tasks[number].path] = number, result
            else:
                yield result
    free = again([*left]) if again and left else []
    yield from (result for path, (_, result) in left.items() if path not in free)
    yield from run([left[path][0] for path in free]) if free else ()


@contextlib.contextmanager
def _status_files(
    files: Sequence[BatchFile], outcomes: Sequence[Outcome], *, overwrite: bool
) -> Iterator[None]:
    """Write the files that tell what became of each input, at the end or after an interruption.

    Raises:
        UsageError: one is an input or another output.
        OutputError: one cannot be written, or would replace a file of another kind; said before any work, and
            again if such a file has come meanwhile.
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
