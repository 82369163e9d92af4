"""Run a batch in worker processes, which share the cores, the weights and the cache.

A file can crash the library that reads it, and the system kills processes when memory is short: a worker that
dies costs one input. Each worker is an executor with one process, so that nothing is shared with the others,
no lock either. When the parent stops it or is gone, a worker ends, in the middle of an input too, and leaves
no partial file.
"""

import os
import pickle
import re
import select
import signal
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from multiprocessing import connection
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.process import parent_process
from typing import Any, Generic, TypeVar

from vidsum.batch.inputs import BatchInput, opened_here
from vidsum.device import n_threads, use_one_arena
from vidsum.errors import Mention, VidsumError, show_warning

R = TypeVar("R")
Progress = Callable[[str, float, float], None]  # as in `vidsum.types`, which loads NumPy
Work = Callable[[BatchInput, Progress | None], R]

_STOP_S = 20.0  # a worker that has not ended this long after it was told to is killed
_PROGRESS_S = 0.2  # seconds between two reports of the progress of a step
_OF_THIS_PROCESS = re.compile(r"/dev/(fd/|std(in|out|err)$)|/proc/(self|thread-self|\d+)/fd/")
"""Files that are open in this process alone."""


def in_workers(
    work: Work[R],
    inputs: Sequence[BatchInput],
    progress_of: Callable[[BatchInput], Progress | None],
    finish: Callable[[BatchInput, R], None],
    fail: Callable[[BatchInput, VidsumError], R],
    jobs: int,
) -> Generator[R, None, None]:
    """Yield the result of each input, in order.

    An input whose worker died is tried once more, in a new process and alone: an earlier file may have
    spoiled the worker, or its neighbours may have used up the memory.

    Args:
        work: what it raises ends the batch.
        inputs: of the batch.
        progress_of: returns the function that reports the progress of an input.
        finish: called when an input is done, which may be before its turn.
        fail: returns the result of an input whose process was lost.
        jobs: number of processes.
    """
    batch = _Workers(work, inputs, progress_of, finish, fail, jobs)
    try:
        for item in inputs:
            while item.number not in batch.done:
                batch.advance()
            yield batch.done.pop(item.number)
    finally:
        batch.stop()


class _Workers(Generic[R]):
    """The inputs that wait, run and are done, and the workers."""

    def __init__(
        self,
        work: Work[R],
        inputs: Sequence[BatchInput],
        progress_of: Callable[[BatchInput], Progress | None],
        finish: Callable[[BatchInput, R], None],
        fail: Callable[[BatchInput, VidsumError], R],
        jobs: int,
    ) -> None:
        self.done: dict[int, R] = {}  # by number
        self._work, self._progress_of, self._report_done, self._fail = work, progress_of, finish, fail
        self._waiting, self._again = deque(inputs), deque[BatchInput]()  # the latter after their worker died
        self._retried = set[int]()  # numbers of inputs that had a second try, or will have it
        self._running: dict[Future[R], tuple[BatchInput, Worker]] = {}
        self._reports = _Reports()
        self._free = [Worker(max(1, n_threads() // jobs), self._reports.writer) for _ in range(jobs)]
        self._n_workers = jobs

    def advance(self) -> None:
        """Start what can be started, then wait until an input is done."""
        is_alone = any(item.number in self._retried for item, _ in self._running.values())
        if self._again and not self._running:
            for worker in self._free:
                worker.stop()
            for worker in self._free:
                worker.join()  # their memory may be what was missing
            self._start(self._again.popleft())
        elif not self._again and not is_alone:
            while self._waiting and self._free:
                self._start(self._waiting.popleft())
        if self._running:
            for future in wait(self._running, return_when=FIRST_COMPLETED).done:
                self._collect(future)

    def stop(self) -> None:
        """End the workers, in the middle of an input too; those that are finished by then are reported."""
        workers = [*self._free, *(worker for _, worker in self._running.values())]
        for worker in workers:
            worker.stop()
        for worker in workers:
            worker.join()
        for future, (item, _) in self._running.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                with suppress(VidsumError):  # the batch ends already
                    self._report_done(item, future.result())
        self._reports.close()

    def _start(self, item: BatchInput) -> None:
        progress = self._progress_of(item)
        if any(map(_OF_THIS_PROCESS.match, opened_here(item))):
            self._finish(item, self._work(item, progress))
            return
        worker = self._free.pop()
        self._reports.begin(item, progress)
        try:
            future = worker.start(self._work, item, reports=progress is not None)
            self._running[future] = item, worker
        except VidsumError as error:
            self._free.append(worker)
            is_only = self._n_workers == 1
            self._finish(item, self._work(item, progress) if is_only else self._fail(item, error))

    def _collect(self, future: Future[R]) -> None:
        item, worker = self._running.pop(future)
        self._free.append(worker)
        try:
            result = future.result()
        except BrokenProcessPool:
            fault = worker.find_fault(item)
            if item.number not in self._retried:
                self._retried.add(item.number)
                self._again.append(item)
                return
            result = self._fail(item, fault)
        self._finish(item, result)

    def _finish(self, item: BatchInput, result: R) -> None:
        self._reports.end(item)
        self.done[item.number] = result
        self._report_done(item, result)


class _Reports:
    """The progress of all inputs, which comes through one pipe.

    A message is written at once, as it is shorter than what pipes take in one piece: a worker that is killed
    leaves no half of it.
    """

    def __init__(self) -> None:
        self._reader, self.writer = SpawnContext().Pipe(duplex=False)
        self._of_input: dict[int, Progress] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()

    def begin(self, item: BatchInput, progress: Progress | None) -> None:
        if progress is not None:
            self._of_input[item.number] = progress

    def end(self, item: BatchInput) -> None:
        """Drop what comes late: a bar that is removed would be there again."""
        with self._lock:
            self._of_input.pop(item.number, None)

    def close(self) -> None:
        """Let the thread end, as the workers have ended."""
        self.writer.close()

    def _read(self) -> None:
        with suppress(EOFError, OSError):
            while True:
                number, step = pickle.loads(self._reader.recv_bytes())
                with self._lock, suppress(OSError):  # the terminal may be gone
                    if (progress := self._of_input.get(number)) is not None:
                        progress(*step)
        self._reader.close()


class _Context(SpawnContext):
    """Starts processes anew, and remembers the last: executors do not tell how theirs ended."""

    last: SpawnProcess | None = None

    def Process(self, *arguments: Any, **more: Any) -> SpawnProcess:  # type: ignore[override]  # noqa: N802
        self.last = SpawnProcess(*arguments, **more)
        return self.last


class Worker:
    """A process that works on inputs, one after the other; a new one if the last has ended."""

    def __init__(self, n_threads: int, writer: "connection.Connection[Any, Any]") -> None:
        self._n_threads, self._writer = n_threads, writer
        self._context = _Context()
        self._executor: ProcessPoolExecutor | None = None

    def start(self, work: Work[R], item: BatchInput, *, reports: bool) -> Future[R]:
        """Begin an input. Raises VidsumError: no process can be started."""
        try:
            return self._submit(work, item, reports)
        except BrokenProcessPool:  # the process died after its last input
            self.join()
            return self._submit(work, item, reports)
        except (OSError, ImportError, NotImplementedError) as error:  # the last two: no semaphores
            self._executor = None
            fault = "no worker process can be started"
            raise VidsumError(fault, hint=("fewer ", Mention("jobs")), subject=item.name) from error

    def _submit(self, work: Work[R], item: BatchInput, reports: bool) -> Future[R]:
        with _block_interrupts():
            if self._executor is None:
                values = (self._n_threads, self._writer)
                self._executor = ProcessPoolExecutor(1, self._context, _prepare, values)
            return self._executor.submit(_run, work, item, reports)

    def find_fault(self, item: BatchInput) -> VidsumError:
        """Return the error for an input in which the process ended."""
        self.join()
        process = self._context.last
        code = (process.exitcode if process else None) or 0
        end = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        hint = "leave it out, or convert it with another program, such as ffmpeg"
        if code == -signal.SIGKILL:
            hint = "more free memory, if it was short; else leave the file out"
        return VidsumError(f"its worker process {end}, twice", hint, subject=item.name)

    def stop(self) -> None:
        """Tell the process to end, in the middle of an input too."""
        if self._executor is not None and self._context.last is not None:
            self._context.last.terminate()

    def join(self) -> None:
        """Wait until the process has ended, after `stop` or by itself."""
        if self._executor is None:
            return
        process = self._context.last
        # the executor's thread alone reads the exit code: it can be read once
        if process is not None and not connection.wait([process.sentinel], _STOP_S):
            process.kill()
        self._executor.shutdown(cancel_futures=True)
        self._executor = None


@contextmanager
def _block_interrupts() -> Iterator[None]:
    """Let the signals of a terminal, Ctrl-C and its end, reach the parent only.

    Workers, and Python's process that tidies up after them, inherit the signal mask of who starts them.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# --- in the worker process ---

_writer: "ContextVar[connection.Connection[Any, Any]]" = ContextVar("writer")


def _prepare(n_threads: int, writer: "connection.Connection[Any, Any]") -> None:
    """Set up a worker: signals, threads, streams, and the pipe for its progress."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    use_one_arena()
    os.environ["OMP_NUM_THREADS"] = str(n_threads)
    os.dup2(2, 1)  # stdout is for the results that the parent prints
    warnings.showwarning = show_warning
    _writer.set(writer)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _run(work: Work[R], item: BatchInput, reports: bool) -> R:
    """Run an input; one that is stopped ends the process, after its temporary files are removed."""
    signal.signal(signal.SIGTERM, _leave)
    try:
        return work(item, _reporter(item) if reports else None)
    except SystemExit as stopped:  # threads of the work do not delay the end
        sys.stderr.flush()
        os._exit(int(stopped.code or 0))
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _leave(signum: int, frame: object) -> None:
    """Leave the work as on an error; once."""
    signal.signal(signum, signal.SIG_IGN)
    sys.exit(128 + signum)


def _end_with_parent() -> None:
    """End the process when its parent has ended, in the middle of an input too."""
    if (parent := parent_process()) is not None:
        parent.join()
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
            time.sleep(_STOP_S)
        os._exit(1)


def _reporter(item: BatchInput) -> Progress:
    last_s: dict[str, float] = {}
    lock, writer = threading.Lock(), _writer.get()

    def report(step: str, done: float, total: float) -> None:
        now_s = time.monotonic()
        with lock, suppress(OSError):  # the parent may be gone
            if now_s - last_s.get(step, -_PROGRESS_S) >= _PROGRESS_S:
                last_s[step] = now_s
                message = pickle.dumps((item.number, (step, float(done), float(total))))
                if len(message) < select.PIPE_BUF // 2:
                    writer.send_bytes(message)

    return report
