"""The program of a worker process: it takes pickled tasks on stdin and returns pickled results on stdout.

It ends when its stdin does, in the middle of a task too, and leaves nothing half written then. So it does
not outlive the process that started it.
"""

import _thread
import io
import os
import pickle
import signal
import sys
import time
import traceback
from queue import SimpleQueue
from threading import Lock, Thread
from typing import IO, TYPE_CHECKING, Any

from vidsum.commands import assignment
from vidsum.commands.assignment import Assignment, Call, Task, Work
from vidsum.commands.result import Result
from vidsum.memory import use_one_arena

if TYPE_CHECKING:
    from vidsum.types import Progress

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
    assignment.current.append(Assignment(desk.serve, call.found))
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
