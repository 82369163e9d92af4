"""Run a batch in worker processes (`--jobs`), which share the cores, the weights and the cache.

Each worker is a process with a pipe, which carries tasks there and steps and results back; one that is killed
costs one input. When the parent stops it or is gone, a worker ends, in the middle of an input too, and leaves
no partial file.
"""

import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.process import parent_process
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar, cast

from vidsum.device import n_threads, use_one_arena
from vidsum.errors import VidsumError
from vidsum.pipelines.tasks import Progress, Queue, Task, Work

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

R = TypeVar("R")


def in_workers(queue: Queue[R], jobs: int) -> Generator[R, None, None]:
    """Yield the result of each task, in order."""
    workers, free = [Worker(max(1, n_threads() // jobs)) for _ in range(jobs)], SimpleQueue[Worker]()
    for worker in workers:
        free.put(worker)

    def run(task: Task) -> R:
        worker = free.get()
        try:
            result = worker.run(queue.work, task, queue.progress_of(task))
        except VidsumError as error:
            if worker.is_stopped:  # it did not fail
                raise RuntimeError("the workers have been stopped") from error
            result = queue.fail(task, error)
        finally:
            free.put(worker)
        queue.finish(task, result)
        return result

    threads = ThreadPoolExecutor(jobs, initializer=_block_interrupts)
    try:
        for future in [threads.submit(run, task) for task in queue.tasks]:
            yield future.result()
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.stop()
        for worker in workers:
            worker.join()
        threads.shutdown()  # finished tasks are reported


def _block_interrupts() -> None:
    """Let Ctrl-C reach the parent only: workers inherit the signal mask of the thread that starts them."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


_STOP_S = 20.0  # a worker that has not ended this long after it was told to is killed
_PROGRESS_S = 0.2  # seconds between two reports of the progress of a step


class Worker:
    """A process that runs tasks, one after the other; a new one if the last was lost."""

    _starting = threading.Lock()  # a process that starts reads the exit codes of others

    def __init__(self, n_threads: int) -> None:
        self.is_stopped = False
        self._n_threads = n_threads
        self._process: SpawnProcess | None = None

    def run(self, work: Work[R], task: Task, progress: Progress | None) -> R:
        """Return the result of a task. Raises VidsumError: the process ended, or cannot be started."""
        message = pickle.dumps((work, task, progress is not None))
        if self._process is None:
            self._start(task.path)
        try:
            self._pipe.send_bytes(message)
            while True:
                step, result = self._pipe.recv()
                if step is None:
                    return cast("R", result)
                if progress is not None:
                    progress(*step)
        except (EOFError, OSError) as error:
            raise self._fault(task.path) from error

    def stop(self) -> None:
        """Tell the process to end, in the middle of a task too."""
        with self._starting:
            self.is_stopped = True
            if (process := self._process) is not None:  # a fault may drop it meanwhile
                process.terminate()

    def join(self) -> None:
        """Wait until the process has ended."""
        if (process := self._process) is not None:
            process.join(_STOP_S)
            process.kill()
            process.join()

    def _start(self, path: str) -> None:
        self._pipe, worker_end = SpawnContext().Pipe()
        process = SpawnContext().Process(target=_serve, args=(worker_end, self._n_threads))
        with self._starting:
            if self.is_stopped:
                raise VidsumError(f"{path}: the workers have been stopped")
            try:
                process.start()
            except OSError as error:
                fault = f"{path}: no worker process can be started"
                raise VidsumError(fault, hint="fewer --jobs") from error
            self._process = process
        worker_end.close()  # the process has its own copy

    def _fault(self, path: str) -> VidsumError:
        self.join()
        with self._starting:
            code = (self._process and self._process.exitcode) or 0
        self._process = None
        end = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        hint = "fewer --jobs, if memory was short" if code == -signal.SIGKILL else None
        return VidsumError(f"{path}: its worker process {end}", hint=hint)


# --- in the worker process ---


def _serve(pipe: "Connection[Any, Any]", n_threads: int) -> None:
    """Run the tasks that come through the pipe, and send back their steps and results."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _exit)
    use_one_arena()
    os.environ["OMP_NUM_THREADS"] = str(n_threads)
    os.dup2(2, 1)  # stdout is for the results that the parent prints
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        with suppress(EOFError, OSError):  # the parent is gone
            while True:
                work, task, reports = pickle.loads(pipe.recv_bytes())
                pipe.send((None, work(task, _reporter(pipe) if reports else None)))
    except SystemExit as stopped:  # threads of the task do not delay the end
        sys.stderr.flush()
        os._exit(int(stopped.code or 0))


def _exit(signum: int, frame: object) -> None:
    """Leave a task as on an error, so that its temporary files are removed; once."""
    signal.signal(signum, signal.SIG_IGN)
    sys.exit(128 + signum)


def _end_with_parent() -> None:
    """End the process when its parent has ended, in the middle of a task too."""
    if (parent := parent_process()) is not None:
        parent.join()
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
            time.sleep(_STOP_S)
        os._exit(1)


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
