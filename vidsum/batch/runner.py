"""Run the work of a command on each input: here, in worker processes, or on a Ray cluster.

A bad input is reported, and the others are processed.
"""

import contextlib
import os
from collections.abc import Callable, Generator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from vidsum.batch.inputs import BatchInput, plain_inputs
from vidsum.batch.reply import Reply, failed, reply_of
from vidsum.batch.settings import CommonOptions
from vidsum.errors import InputError, Mention, OutputError, VidsumError
from vidsum.io.file_names import unreadable_file
from vidsum.io.series import suggest_film

if TYPE_CHECKING:
    from vidsum.pipelines.file_steps import Step

R = TypeVar("R")
Progress = Callable[[str, float, float], None]  # as in `vidsum.types`, which loads NumPy
Work = Callable[[BatchInput, Progress | None], Reply]
"""The work on one input: a module-level function, or a `partial` of one, which worker processes unpickle."""


def run_inputs(
    command: str,
    work: Work,
    inputs: Sequence[BatchInput],
    common: CommonOptions,
    *,
    progress_of: Callable[[BatchInput], Progress | None],
    finish: Callable[[BatchInput, Reply], None],
    device: str = "cpu",
    is_isolated: bool = False,
    retry: Callable[[Sequence[str]], Sequence[str]] | None = None,
    are_videos: bool = True,
) -> Generator[Reply, None, None]:
    """Yield the answers in the order of the inputs; those left to other processes come last.

    Args:
        command: its name.
        work: on each input; an exception becomes a failed answer.
        inputs: videos, if `are_videos`, or names of any kind.
        common: how many processes there are, and what is skipped.
        progress_of: returns the function that reports the progress of an input.
        finish: called when an input is done, which may be before its turn.
        device: that the work computes on, for a cluster.
        is_isolated: whether a single input too has a worker process, as all inputs of a batch have.
        retry: chooses, of the inputs that were left to other processes, those to try again at the end.
        are_videos: whether inputs may be URLs, and worker processes are used.
    """

    def fail(item: BatchInput, error: VidsumError) -> Reply:
        return failed(command, item.name, error, common)

    def start(items: Sequence[BatchInput]) -> Generator[Reply, None, None]:
        guarded = partial(_run_one, command, work, common, are_videos)
        if are_videos and common.ray:
            from vidsum.batch.cluster import on_cluster

            return on_cluster(guarded, items, progress_of, finish, fail, common.ray, device)
        if are_videos and (is_isolated or len(items) > 1):  # an input may end the process that reads it
            from vidsum.batch.workers import in_workers  # multiprocessing is slow to load

            return in_workers(guarded, items, progress_of, finish, fail, min(common.jobs, len(items)))
        return _run_here(guarded, items, progress_of, finish)

    left: dict[str, tuple[BatchInput, Reply]] = {}
    with contextlib.closing(start(inputs)) as answers:
        for item, answer in zip(inputs, answers, strict=False):
            if retry and answer.data.get("left"):
                left[item.path] = item, answer
            else:
                yield answer
    free = retry([*left]) if retry and left else ()
    yield from (answer for path, (_, answer) in left.items() if path not in free)
    if free:
        with contextlib.closing(start([left[path][0] for path in free])) as answers:
            yield from answers


def run_guarded_steps(
    step: "Step[R]", paths: Sequence[str], progress_of: Callable[[int], Progress | None], /
) -> "Generator[R | InputError, None, None]":
    """Run a step on files, in a worker process that a file may kill; see `vidsum.pipelines.file_steps`."""
    from vidsum.batch.workers import in_workers

    def fail(item: BatchInput, error: VidsumError) -> InputError:
        return InputError(error.text, error.hint_text, subject=item.path)

    def finish(item: BatchInput, outcome: "R | InputError") -> None:
        pass

    def start(item: BatchInput) -> Progress | None:
        return progress_of(item.number)

    return in_workers(partial(_attempt, step), plain_inputs(paths), start, finish, fail, 1)


def _attempt(step: "Step[R]", item: BatchInput, progress: Progress | None) -> "R | InputError":
    from vidsum.pipelines.file_steps import attempt_step

    return attempt_step(step, item.path, progress)


def _run_here(
    work: Work,
    inputs: Sequence[BatchInput],
    progress_of: Callable[[BatchInput], Progress | None],
    finish: Callable[[BatchInput, Reply], None],
) -> Generator[Reply, None, None]:
    for item in inputs:
        answer = work(item, progress_of(item))
        finish(item, answer)
        yield answer


def _run_one(
    command: str,
    work: Work,
    common: CommonOptions,
    are_videos: bool,
    item: BatchInput,
    progress: Progress | None,
) -> Reply:
    """Return the answer of the work on an input, after the checks that all commands share."""

    def check_and_run() -> Reply:
        if item.fault:
            raise item.fault
        if common.skip_existing and (skipped := _skipped(item)):
            return skipped
        if are_videos:
            _prepare(command, item, common, progress)
        return work(item, progress)

    return reply_of(command, item.name, common, check_and_run)


def _skipped(item: BatchInput) -> Reply | None:
    """Return the answer for an input that is skipped: its outputs exist, or one may not be replaced."""
    if item.artifacts is None:
        return None
    # clips are not considered: their number depends on the result
    files = {kind: path for kind, path in item.artifacts.files.items() if kind != "clips"}
    if not all(path.exists() for path in files.values()):
        try:
            item.artifacts.require_ours(path for kind, path in files.items() if kind not in item.exports)
            return None
        except OutputError:
            pass
    named = {kind: path for kind, path in files.items() if path.exists() and kind not in item.exports}
    line = f"{', '.join(map(str, named.values()))}: exists, skipped"
    facts: dict[str, Any] = {kind: str(path) for kind, path in named.items()}
    if "clips" in item.artifacts.files:
        facts["clips"] = []
    return Reply(data={"skipped": True, "outputs": facts}, lines=(line,))


def _prepare(command: str, item: BatchInput, common: CommonOptions, progress: Progress | None) -> None:
    """Download a URL. Raises InputError: that fails, or the input is a folder."""
    from vidsum.pipelines.sources import is_folder

    if item.url:
        from vidsum.pipelines.download import update_copy

        update_copy(item.url, Path(item.path), common.max_download, progress)
    elif is_folder(item.path):
        if not os.access(item.path, os.R_OK | os.X_OK):
            raise unreadable_file(item.path)
        hint: tuple[str | Mention, ...] = ()
        if not common.recursive:
            hint = (Mention("recursive"), " includes subfolders")
        if film := suggest_film(Path(item.path)):
            hint = (film,)
        if command == "transcribe":
            hint = (*hint, *(["; "] if hint else []), "name audio files one by one")
        raise InputError("is a folder without a video", hint=hint or None, subject=item.path)
