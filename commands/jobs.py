"""A batch in several worker processes (`--jobs`), which share the cores, the weights and the cache.

A worker calls the command's function with the settings of the process that started it, and without inputs: it
reads no command line, configuration or list of inputs, and looks into no folder. So it makes the same plan.
Only at its batch it differs: there it takes inputs as they are handed out, and returns the results.

A worker process takes pickled tasks on stdin and returns pickled results on stdout. It ends when its stdin
does, in the middle of a task too, and leaves nothing half written then. So it does not outlive the process
that started it.
"""

import _thread
import io
import os
import pickle
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Lock, Thread, local
from typing import IO, TYPE_CHECKING, Any, TypeVar

from vidsum.commands.result import Result
from vidsum.device import n_threads, use_one_arena
from vidsum.errors import VidsumError

if TYPE_CHECKING:
    from vidsum.commands.outputs import Files
    from vidsum.io.urls import Url
    from vidsum.types import Progress


T = TypeVar("T")


@dataclass(frozen=True)
class Call:
    """What another process needs to run this one's command, beside environment and current folder."""

    command: str
    arguments: Mapping[str, Any]
    """Of its function: settings, and empty lists in place of the inputs."""
    found: Any = None
    """See `find_once`."""

    @classmethod
    def here(cls, command: str) -> "Call":
        """Return that of this process."""
        return cls(command, dict(_arguments), _found[0] if _found else None)

    def run(self) -> None:
        """Call the function."""
        function = getattr(import_module(f"vidsum.commands.{self.command}"), self.command)
        function(**self.arguments)


@dataclass(frozen=True)
class Task:
    """One input of a batch."""

    path: str
    files: "Files | None" = None
    """Its outputs, if the command writes any; their names may depend on the other inputs."""
    url: "Url | None" = None
    """The address that the input is a copy of."""


Work = Callable[[Task, "Progress | None"], "Result"]
"""What a command does with one input; never raises an Exception."""


@dataclass(frozen=True)
class Queue:
    """The tasks of a batch, for the processes that share them."""

    call: Call
    tasks: Sequence[Task]
    progress_of: Callable[[int], "Progress | None"]
    """Gives the function to report the progress of an input to, by its place."""
    done: Callable[[int, Result], None]
    """Is called with a result when it is there, which may be before its turn."""


@dataclass(frozen=True)
class Assignment:
    """What a worker does in place of its batch."""

    serve: Callable[[Work], None]
    """Does the work for the inputs that are handed out, until there are no more."""
    found: Any = None
    """See `find_once`."""


current: list[Assignment] = []
"""The assignment of this process; empty unless it is a worker."""
_arguments: dict[str, Any] = {}
_found: list[Any] = []


def begin(arguments: Mapping[str, Any]) -> None:
    """Note the arguments, without inputs, of the command that runs in this process from now on."""
    _found.clear()
    _arguments.clear()
    _arguments.update(arguments)


def find_once(find: Callable[[], T]) -> T:
    """What a command finds out before its batch; workers of the batch are told it."""
    _found[:] = [current[0].found if current else find()]
    told: T = _found[0]
    return told


_PROGRAM = "import sys; sys.path[:] = {path}; from vidsum.commands.jobs import main; main()"
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
        """Return the result of an input; a failed one if the process ends."""
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


def in_workers(queue: Queue, jobs: int) -> Generator[Result, None, None]:
    """Yield the result of each task, in their order; each worker has its part of this process's threads."""
    environment = {"OMP_NUM_THREADS": str(max(1, n_threads() // jobs))}
    own, workers, lock, is_over = local(), list[Worker](), Lock(), Event()

    def of_this_thread() -> Worker:
        """Return its worker; a new one where the last was lost."""
        with lock:
            if is_over.is_set():
                raise RuntimeError("the workers have been stopped")
            if not hasattr(own, "worker") or own.worker.is_over:
                own.worker = Worker(queue.call, environment)
                workers.append(own.worker)
            worker: Worker = own.worker
            return worker

    def run(number: int) -> Result:
        result = of_this_thread().run(queue.tasks[number], queue.progress_of(number))
        if is_over.is_set() and result.errors:  # it did not fail: it was stopped
            raise RuntimeError("the workers have been stopped")
        queue.done(number, result)
        return result

    pool = ThreadPoolExecutor(jobs, initializer=_keep_interruptions_away)
    try:
        for future in [pool.submit(run, number) for number in range(len(queue.tasks))]:
            yield future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        with lock:
            is_over.set()
        for worker in workers:
            worker.close()
        for worker in workers:
            worker.stop()
        pool.shutdown()  # what has been done meanwhile is told


def _keep_interruptions_away() -> None:
    """Let Ctrl-C reach this process only: workers inherit what the thread that starts them blocks."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


_EVERY_S = 0.2
"""Progress of a step is sent at most this often."""


def main() -> None:
    """Serve until stdin ends, and leave."""
    code = 0
    try:
        _serve()
    except SystemExit as stopped:
        code = int(stopped.code or 0)
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stderr.flush()
    os._exit(code)  # not sys.exit: the thread that reads stdin holds its lock, and Python would abort


def _serve() -> None:
    signal.signal(signal.SIGTERM, _stop)
    use_one_arena()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print must not get between the answers
    tasks = sys.stdin.buffer
    sys.stdin = io.StringIO()
    call: Call = pickle.load(tasks)
    desk = _Desk(tasks, answers)
    current.append(Assignment(desk.serve, call.found))
    try:
        call.run()
    except Exception as error:  # what failed here before the batch fails for each input
        fault = error
        desk.serve(lambda task, _: Result.failed(call.command, task.path, fault))


class _Desk:
    """Where tasks come in and answers go out."""

    def __init__(self, tasks: IO[bytes], answers: IO[bytes]) -> None:
        self._answers = answers
        self._lock = Lock()  # several threads of one task report progress
        self._tasks: SimpleQueue[tuple[Task, bool] | None] = SimpleQueue()
        Thread(target=self._listen, args=(tasks,), daemon=True).start()

    def _listen(self, tasks: IO[bytes]) -> None:
        try:
            while True:
                self._tasks.put(pickle.load(tasks))
        except (EOFError, OSError, pickle.UnpicklingError):  # who started us is through with us, or gone
            _thread.interrupt_main(signal.SIGTERM)
            self._tasks.put(None)

    def serve(self, work: Work) -> None:
        """Do the work for each task."""
        while (handed_out := self._tasks.get()) is not None:
            task, reports = handed_out
            self._send(work(task, self._reporter() if reports else None))

    def _reporter(self) -> "Progress":
        last: dict[str, float] = {}

        def report(what: str, done: float, total: float) -> None:
            now = time.monotonic()
            if now - last.get(what, -_EVERY_S) >= _EVERY_S:
                last[what] = now
                self._send((what, done, total))

        return report

    def _send(self, answer: Any) -> None:
        with self._lock:
            pickle.dump(answer, self._answers)
            self._answers.flush()


def _stop(signum: int, frame: object) -> None:
    """Leave as on an error, so that temporary files are removed; once."""
    signal.signal(signum, signal.SIG_IGN)
    sys.exit(128 + signum)
