"""A batch on a Ray cluster (`--ray`): a task for each input.

Tasks, not Ray Data or actors: an input is minutes of work for one core, its result is small, and Ray gives
the tasks of a lost node to another one. A Ray process keeps its worker (see `jobs`), and with it the models,
from one task to the next.
"""

import logging
import os
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vidsum.commands.assignment import CommandLine
from vidsum.commands.jobs import Worker
from vidsum.commands.result import Result
from vidsum.errors import UsageError, VidsumError

if TYPE_CHECKING:
    from vidsum.types import Progress

_RETRIES = 3
"""So often an input is given to another process when the one that had it, or its node, is lost."""
_ANSWERS_S = 10.0
"""A cluster that does not answer within this time is taken for none."""
_AHEAD = 4
"""Tasks that are handed out at a time, for each core of the cluster."""

_kept: list[tuple[CommandLine, Worker]] = []
"""In a process of Ray: the worker of the last task."""


def on_cluster(
    line: CommandLine,
    address: str,
    progress_of: Callable[[int], "Progress | None"],
    done: Callable[[int, Result], None],
) -> Generator[Result, None, None]:
    """The result of each input of a command line, in their order.

    Args:
        line: of this process.
        address: of the cluster; `local` starts one on this machine.
        progress_of: gives the function to report the progress of an input to, by its place.
        done: is called with a result when it is there.

    Raises:
        UsageError: Ray is not installed, or there is no cluster.
    """
    ray = _connected(address)
    task = ray.remote(num_cpus=1, max_retries=_RETRIES)(_run)
    environment = {name: value for name, value in os.environ.items() if name.startswith("VIDSUM_")}
    shared = ray.put((line, str(Path.cwd()), environment))
    waiting: deque[tuple[int, Any]] = deque()
    numbers = iter(range(len(line.inputs)))
    out: Any = _MainThreadsOut(sys.stdout)
    try:
        sys.stdout = out
        while True:
            limit = _AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
            while len(waiting) < limit and (number := next(numbers, None)) is not None:
                waiting.append((number, task.remote(shared, number)))
            if not waiting:
                return
            number, result = waiting.popleft()
            received = _received(ray, line, number, result, progress_of(number))
            done(number, received)
            yield received
    finally:
        sys.stdout = out.stream
        ray.shutdown()


class _MainThreadsOut:
    """Stdout for the main thread. What Ray's threads print there about lost nodes goes to stderr."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write where it belongs."""
        is_main = threading.current_thread() is threading.main_thread()
        written: int = (self.stream if is_main else sys.stderr).write(text)
        return written

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def _connected(address: str) -> Any:
    """Ray, connected to a cluster."""
    try:
        import ray
    except ImportError as error:
        raise UsageError("--ray needs Ray", hint="pip install 'vidsum[ray]'") from error
    _refuse_unreachable(address)
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"no Ray cluster at {address} ({reason})", hint="ray start --head") from error
    return ray


def _refuse_unreachable(address: str) -> None:
    """Ray itself would try for minutes. Raises UsageError where nobody answers at `host:port`."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), _ANSWERS_S).close()
    except (OSError, OverflowError) as error:
        raise UsageError(f"no Ray cluster at {address} ({error})", hint="ray start --head") from error


def _received(ray: Any, line: CommandLine, number: int, result: Any, progress: "Progress | None") -> Result:
    """The result of a task; a failed one where it raised, or its process was lost once too often."""
    path = line.inputs[number]
    if progress is not None:
        progress("waiting for the cluster", 0, 0)
    try:
        received: Result = ray.get(result)
    except ray.exceptions.RayError as error:
        fault = f"{path}: failed on the cluster ({str(error).strip().splitlines()[-1]})"
        hint = "inputs, outputs and the current folder must have the same paths on all nodes"
        return Result.failed(line.command, path, VidsumError(fault, hint))
    return received


def _run(shared: tuple[CommandLine, str, dict[str, str]], number: int) -> Result:
    """The task: the result of an input, of the worker that this process keeps."""
    line, folder, environment = shared
    if _kept and (_kept[0][0] != line or _kept[0][1].is_over):
        _kept.pop()[1].stop()
    if not _kept:
        os.chdir(folder)
        _kept.append((line, Worker(line, environment)))
    return _kept[0][1].run(number, None)
