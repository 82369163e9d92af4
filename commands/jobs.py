"""A batch in several worker processes (`--jobs`), which share the cores, the weights and the cache."""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock
from typing import IO, TYPE_CHECKING

from vidsum.commands.assignment import Call, Task
from vidsum.commands.result import Result
from vidsum.device import n_threads
from vidsum.errors import VidsumError

if TYPE_CHECKING:
    from vidsum.types import Progress

_PROGRAM = "import sys; sys.path[:] = {path}; from vidsum.commands.worker import main; main()"
_STOP_S = 20.0
"""A worker that has not ended this long after it was told to is killed."""


class Worker:
    """A process that runs a command on inputs of its batch, one after the other."""

    def __init__(self, call: Call, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM.format(path=[path or str(Path.cwd()) for path in sys.path])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **environment},
        )
        self._command = call.command
        self._tasks, self._answers = _pipes(self._process)
        with suppress(BrokenPipeError):  # it ended at once: the first task tells how
            self._send(call)

    def run(self, task: Task, progress: "Progress | None") -> Result:
        """The result of an input; a failed one if the process ends."""
        try:
            self._send((task, progress is not None))
            while not isinstance(answer := pickle.load(self._answers), Result):
                if progress is not None:
                    progress(*answer)
            return answer
        except (EOFError, OSError, pickle.UnpicklingError):
            self.stop()
            path, code = task.path, self._process.returncode
            how = (
                f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
            )
            hint = "fewer --jobs, if memory was short" if code == -signal.SIGKILL else None
            fault = VidsumError(f"{path}: its worker process {how}", hint=hint)
            return Result.failed(self._command, path, fault)

    @property
    def is_over(self) -> bool:
        """Whether it has been stopped, or has ended."""
        return self._tasks.closed

    def close(self) -> None:
        """Tell it to end, in the middle of an input too: it leaves no partial files."""
        with suppress(BrokenPipeError):
            self._tasks.close()

    def stop(self) -> None:
        """End it, and wait until it has."""
        self.close()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._answers.close()

    def _send(self, message: object) -> None:
        pickle.dump(message, self._tasks)
        self._tasks.flush()


def _pipes(process: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout


class Workers:
    """Workers that are started when they are needed, and again where one was lost."""

    def __init__(self, call: Call, environment: dict[str, str]) -> None:
        self._call, self._environment = call, environment
        self._idle: list[Worker] = []
        self._all: list[Worker] = []
        self._lock = Lock()
        self._is_over = Event()

    def run(self, task: Task, progress: "Progress | None") -> Result:
        """The result of an input, of a worker that has nothing to do or of a new one."""
        with self._lock:
            if self._is_over.is_set():
                raise RuntimeError("the workers have been stopped")
            worker = self._idle.pop() if self._idle else Worker(self._call, self._environment)
            if worker not in self._all:
                self._all.append(worker)
        result = worker.run(task, progress)
        if self._is_over.is_set() and result.errors:  # it did not fail: it was stopped
            raise RuntimeError("the workers have been stopped")
        if not worker.is_over:
            self._idle.append(worker)
        return result

    def stop(self) -> None:
        """End all, in the middle of an input too."""
        with self._lock:
            self._is_over.set()
        for worker in self._all:
            worker.close()
        for worker in self._all:
            worker.stop()


def in_workers(
    call: Call,
    tasks: Sequence[Task],
    jobs: int,
    progress_of: Callable[[int], "Progress | None"],
    done: Callable[[int, Result], None],
) -> Generator[Result, None, None]:
    """The result of each task, in their order.

    Args:
        call: of the command of this process.
        tasks: what it is to be run on.
        jobs: number of workers. Each has its part of the threads that this process would have used.
        progress_of: gives the function to report the progress of an input to, by its place.
        done: is called with a result when it is there, which may be before its turn.
    """
    workers = Workers(call, {"OMP_NUM_THREADS": str(max(1, n_threads() // jobs))})

    def run(number: int) -> Result:
        result = workers.run(tasks[number], progress_of(number))
        done(number, result)
        return result

    pool = ThreadPoolExecutor(jobs, initializer=_keep_interruptions_away)
    try:
        for future in [pool.submit(run, number) for number in range(len(tasks))]:
            yield future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        workers.stop()
        pool.shutdown()  # what has been done meanwhile is told


def _keep_interruptions_away() -> None:
    """Let Ctrl-C reach this process only: workers inherit what the thread that starts them blocks."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
