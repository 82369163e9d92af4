"""Run a batch in worker processes (`--jobs`), which share the cores, the weights and the cache.

Each worker is a process pool of one process, so that a process that is killed costs one input. A pipe carries
the progress of its input. When the parent asks for it through the pipe, or is gone, a worker ends, in the
middle of an input too, and leaves no partial file.
"""

import _thread
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Generator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from contextvars import ContextVar
from multiprocessing.context import SpawnContext, SpawnProcess
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from vidsum.device import n_threads, use_one_arena
from vidsum.errors import VidsumError
from vidsum.pipelines.tasks import Queue, Task, Work

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from vidsum.types import Progress

R = TypeVar("R")


def in_workers(queue: Queue[R], jobs: int) -> Generator[R, None, None]:
    """Yield the result of each task, in order."""
    crew, threads = _Crew(queue, jobs), ThreadPoolExecutor(jobs, initializer=_block_interrupts)
    try:
        for future in [threads.submit(crew.run, task) for task in queue.tasks]:
            yield future.result()
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        crew.stop()
        threads.shutdown()  # finished tasks are reported


def _block_interrupts() -> None:
    """Let Ctrl-C reach the parent only: workers inherit the signal mask of the thread that starts them."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


class _Crew(Generic[R]):
    """A worker for each thread of the parent."""

    def __init__(self, queue: Queue[R], jobs: int) -> None:
        self._queue, self._n_threads = queue, max(1, n_threads() // jobs)
        self._current = threading.local()
        self._workers: list[Worker] = []
        self._lock = threading.Lock()
        self._is_stopped = False

    def run(self, task: Task) -> R:
        """Run a task in the worker of this thread."""
        try:
            result = self._worker().run(self._queue.work, task, self._queue.progress_of(task))
        except VidsumError as error:
            if self._is_stopped:  # it did not fail: it was stopped
                raise RuntimeError("the workers have been stopped") from error
            result = self._queue.fail(task, error)
        self._queue.finish(task, result)
        return result

    def stop(self) -> None:
        """End all workers, and wait until they have ended."""
        with self._lock:
            self._is_stopped = True
        for worker in self._workers:
            worker.close()
        for worker in self._workers:
            worker.stop()

    def _worker(self) -> "Worker":
        """Return the worker of this thread; a new one if the last was lost."""
        worker: Worker | None = getattr(self._current, "worker", None)
        if worker is None or worker.is_lost:
            with self._lock:
                if self._is_stopped:
                    raise RuntimeError("the workers have been stopped")
                worker = self._current.worker = Worker(self._n_threads)
                self._workers.append(worker)
        return worker


_STOP_S = 20.0
"""A worker that has not ended this long after it was told to is killed."""
_PROGRESS_S = 0.2
"""Seconds between two reports of the progress of a step."""


class _WorkerProcess(SpawnProcess):
    """A process that does not run the parent's `__main__`, which may be a script without a guard."""

    _lock = threading.Lock()

    def start(self) -> None:
        """Start the process while `__main__` is an empty module."""
        with self._lock:
            main = sys.modules["__main__"]
            sys.modules["__main__"] = ModuleType("__main__")
            try:
                super().start()
            finally:
                sys.modules["__main__"] = main


class _Spawn(SpawnContext):
    """The start method `spawn`. It keeps the process, whose exit code a broken pool does not tell."""

    process: SpawnProcess | None = None

    def Process(self, *arguments: Any, **settings: Any) -> SpawnProcess:  # type: ignore[override]  # noqa: N802
        """Make the process of a pool of one."""
        self.process = _WorkerProcess(*arguments, **settings)
        return self.process

    def started(self) -> SpawnProcess | None:
        """Return the process, if it could be started."""
        return self.process if self.process and self.process.pid else None


class Worker:
    """A process that runs tasks, one after the other."""

    def __init__(self, n_threads: int) -> None:
        self.is_lost = self._is_busy = False
        self._context = _Spawn()
        self._pipe, self._worker_end = self._context.Pipe()
        self._pool = ProcessPoolExecutor(1, self._context, _begin, (self._worker_end, n_threads))

    def run(self, work: Work[R], task: Task, progress: "Progress | None") -> R:
        """Return the result of a task. Raises VidsumError: the process ended."""
        self._is_busy = True
        try:
            # pickled here: the pool would not say that it cannot
            future = self._pool.submit(_run, pickle.dumps(work), task, progress is not None)
            self._worker_end.close()  # the process has its own copy
            while (step := self._pipe.recv()) is not None:
                if progress is not None:
                    progress(*step)
            result: R = future.result()
            self._is_busy = False
            return result
        except (BrokenProcessPool, EOFError, OSError) as error:
            self.stop()
            raise self._fault(task.path) from error

    def close(self) -> None:
        """Ask the process to end, in the middle of a task too: it leaves no partial files."""
        self._pool.shutdown(wait=False)
        if self._is_busy:
            with suppress(OSError):
                self._pipe.send(None)

    def stop(self) -> None:
        """End the process, and wait until it has ended."""
        self.is_lost = True
        self.close()
        if process := self._context.started():
            process.join(_STOP_S)
            process.kill()
        self._pool.shutdown()

    def _fault(self, path: str) -> VidsumError:
        if not (process := self._context.started()):
            return VidsumError(f"{path}: no worker process can be started", hint="fewer --jobs")
        code = _exit_code(process)
        end = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        hint = "fewer --jobs, if memory was short" if code == -signal.SIGKILL else None
        return VidsumError(f"{path}: its worker process {end}", hint=hint)


def _exit_code(process: SpawnProcess) -> int:
    """Return the exit code of an ended process, which is None while the pool's thread is reading it."""
    deadline_s = time.monotonic() + _STOP_S
    while (code := process.exitcode) is None and time.monotonic() < deadline_s:
        time.sleep(0.01)
    return code or 0


# --- in the worker process ---

_pipe: "ContextVar[Connection[Any, Any]]" = ContextVar("pipe")
"""The pipe to the parent, set once by the initializer of the pool."""


def _begin(pipe: "Connection[Any, Any]", n_threads: int) -> None:
    """Prepare the process, before its first task is unpickled."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    use_one_arena()
    os.environ["OMP_NUM_THREADS"] = str(n_threads)
    os.dup2(2, 1)  # stdout is for the results that the parent prints
    _pipe.set(pipe)
    threading.Thread(target=_await_end, args=(pipe,), daemon=True).start()


def _await_end(pipe: "Connection[Any, Any]") -> None:
    """End the process when the parent asks for it or is gone."""
    with suppress(EOFError, OSError):
        pipe.recv()
    if hasattr(signal, "pthread_kill"):  # wakes the main thread where it waits for a task
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
    else:
        _thread.interrupt_main(signal.SIGTERM)
    time.sleep(_STOP_S)
    os._exit(1)


def _exit(signum: int, frame: object) -> None:
    """Leave a task as on an error, so that its temporary files are removed; once."""
    signal.signal(signum, signal.SIG_IGN)
    sys.exit(128 + signum)


def _run(work: bytes, task: Task, reports: bool) -> Any:
    """Run a task. None on the pipe is the end of its progress."""
    pipe = _pipe.get()
    try:
        signal.signal(signal.SIGTERM, _exit)
        result = pickle.loads(work)(task, _reporter(pipe) if reports else None)
    except SystemExit as stopped:  # the pool would catch it and go on
        sys.stderr.flush()
        os._exit(int(stopped.code or 0))
    finally:
        pipe.send(None)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    return result


def _reporter(pipe: "Connection[Any, Any]") -> "Progress":
    """Return a function that sends the progress of steps, for all threads of a task."""
    last_s: dict[str, float] = {}
    lock = threading.Lock()

    def report(step: str, done: float, total: float) -> None:
        now_s = time.monotonic()
        with lock, suppress(OSError):  # the parent may be gone
            if now_s - last_s.get(step, -_PROGRESS_S) >= _PROGRESS_S:
                last_s[step] = now_s
                pipe.send((step, done, total))

    return report
