"""Run a batch in worker processes (`--jobs`), which share the cores, the weights and the cache.

Each worker is a process with a pipe, which carries tasks there and steps and results back; one that is killed
costs one input. When the parent asks for it through the pipe, or is gone, a worker ends, in the middle of an
input too, and leaves no partial file.
"""

import _thread
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.context import SpawnContext
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from vidsum.device import n_threads, use_one_arena
from vidsum.errors import VidsumError
from vidsum.pipelines.tasks import Progress, Queue, Task, Work

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

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


_STOP_S = 20.0  # a worker that has not ended this long after it was told to is killed
_PROGRESS_S = 0.2  # seconds between two reports of the progress of a step


class Worker:
    """A process that runs tasks, one after the other."""

    _starting = threading.Lock()  # a process that starts reads the exit codes of others

    def __init__(self, n_threads: int) -> None:
        self.is_lost = False
        self._pipe, self._worker_end = SpawnContext().Pipe()
        self._process = SpawnContext().Process(target=_serve, args=(self._worker_end, n_threads))

    def run(self, work: Work[R], task: Task, progress: Progress | None) -> R:
        """Return the result of a task. Raises VidsumError: the process ended."""
        message = pickle.dumps((work, task, progress is not None))
        try:
            if self._process.pid is None:
                with self._starting:
                    self._process.start()
                self._worker_end.close()  # the process has its own copy
            self._pipe.send_bytes(message)
            while True:
                step, result = self._pipe.recv()
                if step is None:
                    return cast("R", result)
                if progress is not None:
                    progress(*step)
        except (EOFError, OSError) as error:
            self.stop()
            raise self._fault(task.path) from error

    def close(self) -> None:
        """Ask the process to end, in the middle of a task too: it leaves no partial files."""
        with suppress(OSError):
            self._pipe.send_bytes(b"")

    def stop(self) -> None:
        """End the process, and wait until it has ended."""
        self.is_lost = True
        if self._process.pid is not None:
            self.close()
            self._process.join(_STOP_S)
            self._process.kill()
            self._process.join()

    def _fault(self, path: str) -> VidsumError:
        if self._process.pid is None:
            return VidsumError(f"{path}: no worker process can be started", hint="fewer --jobs")
        with self._starting:
            code = self._process.exitcode or 0
        end = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        hint = "fewer --jobs, if memory was short" if code == -signal.SIGKILL else None
        return VidsumError(f"{path}: its worker process {end}", hint=hint)


# --- in the worker process ---


def _serve(pipe: "Connection[Any, Any]", n_threads: int) -> None:
    """Run the tasks that come through the pipe, and send back their steps and results."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    use_one_arena()
    os.environ["OMP_NUM_THREADS"] = str(n_threads)
    os.dup2(2, 1)  # stdout is for the results that the parent prints
    messages: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_receive, args=(pipe, messages), daemon=True).start()
    while message := messages.get():
        try:
            signal.signal(signal.SIGTERM, _exit)
            work, task, reports = pickle.loads(message)
            pipe.send((None, work(task, _reporter(pipe) if reports else None)))
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        except SystemExit as stopped:  # threads of the task do not delay the end
            sys.stderr.flush()
            os._exit(int(stopped.code or 0))


def _receive(pipe: "Connection[Any, Any]", messages: "SimpleQueue[bytes]") -> None:
    """Pass on the tasks; end the process when the parent asks for it or is gone."""
    with suppress(EOFError, OSError):
        while message := pipe.recv_bytes():
            messages.put(message)
    messages.put(b"")
    if hasattr(signal, "pthread_kill"):  # wakes the main thread where it waits
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
    else:
        _thread.interrupt_main(signal.SIGTERM)
    time.sleep(_STOP_S)
    os._exit(1)


def _exit(signum: int, frame: object) -> None:
    """Leave a task as on an error, so that its temporary files are removed; once."""
    signal.signal(signum, signal.SIG_IGN)
    sys.exit(128 + signum)


def _reporter(pipe: "Connection[Any, Any]") -> Progress:
    last_s: dict[str, float] = {}
    lock = threading.Lock()

    def report(step: str, done: float, total: float) -> None:
        now_s = time.monotonic()
        with lock, suppress(OSError):  # the parent may be gone
            if now_s - last_s.get(step, -_PROGRESS_S) >= _PROGRESS_S:
                last_s[step] = now_s
                pipe.send(((step, done, total), None))

    return report
