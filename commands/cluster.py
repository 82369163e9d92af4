"""A batch on a Ray cluster (`--ray`): a task for each input.

Tasks, not Ray Data or actors: an input is minutes of work for one core, its result is small, and Ray gives
the tasks of a lost node to another one. A Ray process keeps its worker (see `jobs`), and with it the models,
from one task to the next.

`own_stdout` keeps stdout for results, while Ray prints what it likes: from Python, from threads and from C++.
"""

import logging
import os
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TextIO

from vidsum.commands.jobs import Call, Queue, Task, Worker
from vidsum.commands.result import Result
from vidsum.errors import UsageError, VidsumError
from vidsum.io.packages import install_extra_command
from vidsum.io.urls import is_loopback, is_offline

if TYPE_CHECKING:
    pass


class OwnStdout:
    """In place of `sys.stdout`: a stream to the main thread while that has opened it, else stderr."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_open = False

    @contextmanager
    def open(self) -> Iterator[None]:
        """Within, the main thread prints to stdout."""
        self._is_open = True
        try:
            yield
        finally:
            self._is_open = False

    def _here(self) -> TextIO:
        is_ours = self._is_open and threading.current_thread() is threading.main_thread()
        return self._stream if is_ours else sys.stderr

    def write(self, text: str) -> int:
        """Write where it belongs."""
        return self._here().write(text)

    def flush(self) -> None:
        """Flush what `write` writes to."""
        self._here().flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def own_stdout() -> Iterator[OwnStdout]:
    """While it lasts, all goes to stderr that does not come from the main thread within `OwnStdout.open`.

    That holds for what C++ writes into the file descriptor too, and for processes that are started.
    """
    stream, (out, err) = sys.stdout, map(_descriptor, (sys.stdout, sys.stderr))
    if out is None or err is None:  # what a test or a notebook has in place of a file
        own = OwnStdout(stream)
        sys.stdout = own
        try:
            yield own
        finally:
            sys.stdout = stream
        return
    stream.flush()
    saved = os.fdopen(os.dup(out), "w", encoding=stream.encoding, errors=stream.errors)
    own = OwnStdout(saved)
    os.dup2(err, out)
    sys.stdout = own
    try:
        yield own
    finally:
        sys.stdout = stream
        os.dup2(saved.fileno(), out)
        with suppress(OSError):  # whoever printed has met it already
            saved.close()


def _descriptor(stream: TextIO) -> int | None:
    try:
        return stream.fileno()
    except (OSError, ValueError):
        return None


_RETRIES = 3
"""So often an input is given to another process when the one that had it, or its node, is lost."""
_ANSWERS_S = 10.0
"""A cluster that does not answer within this time is taken for none."""
_AHEAD = 4
"""Unfinished tasks that are handed out at a time, for each core or GPU of the cluster that takes one."""
_LOCAL = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "token"}
"""Makes Ray listen on the loopback address alone, as it does by default on Windows and macOS, and answer only
to those who have its token."""
_ON_CPU = ("info", "transcribe")
"""Commands that need no device, or whose `--device auto` is the CPU."""

_kept: list[tuple[Worker, list[str]]] = []
"""In a process of Ray, which serves one batch: its worker, and the GPUs that Ray had given to it."""


def on_cluster(queue: Queue, address: str) -> Generator[Result, None, None]:
    """Yield the result of each task, in their order; later ones wait for their turn, and for nothing else.

    The address `local` starts a cluster on this machine. Raises UsageError: Ray is not installed, there is no
    cluster, or `--device` names one of several GPUs.
    """
    takes_gpu = _takes_gpu(queue.call)
    with own_stdout() as out, _connected(address) as ray:
        n_gpus = 1 if takes_gpu and ray.cluster_resources().get("GPU", 0) else 0
        for result in _in_turn(_as_they_finish(ray, n_gpus, queue)):
            with out.open():
                yield result


def _in_turn(finished: Iterable[tuple[int, Result]]) -> Iterator[Result]:
    """Numbered results, in the order of their numbers from 0; each as soon as it can be."""
    early: dict[int, Result] = {}
    turn = 0
    for number, result in finished:
        early[number] = result
        while turn in early:
            yield early.pop(turn)
            turn += 1


def _as_they_finish(ray: Any, n_gpus: int, queue: Queue) -> Iterator[tuple[int, Result]]:
    """Yield the results with their places. So many tasks are handed out that no core or GPU has to wait for
    one.

    `n_gpus` is what a task asks for.
    """
    environment = {name: value for name, value in os.environ.items() if name.startswith("VIDSUM_")}
    run = ray.remote(num_cpus=1, num_gpus=n_gpus, max_retries=_RETRIES, max_calls=0)(_run)
    shared = ray.put((queue.call, str(Path.cwd()), environment))
    waiting = iter(enumerate(queue.tasks))
    running: dict[Any, int] = {}
    shown = -1
    while True:
        limit = _AHEAD * max(1, int(ray.cluster_resources().get("GPU" if n_gpus else "CPU", 1)))
        while len(running) < limit and (following := next(waiting, None)) is not None:
            number, task = following
            running[run.remote(shared, task)] = number
        if not running:
            return
        if (oldest := next(iter(running.values()))) != shown and (progress := queue.progress_of(oldest)):
            progress("waiting for the cluster", 0, 0)
        shown = oldest
        try:
            (finished, *_), _ = ray.wait([*running])
        except SystemExit:  # on SIGTERM; Ray makes it one with a code of its own
            sys.exit(128 + signal.SIGTERM)
        number = running.pop(finished)
        result = _received(ray, queue.call, queue.tasks[number], finished)
        queue.done(number, result)
        yield number, result


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    """Ray, connected to a cluster. Raises UsageError: it is not installed, or there is no cluster."""
    if address == "local":
        # Ray reads these when it is imported
        os.environ.update({**_LOCAL, "RAY_AUTH_TOKEN": secrets.token_hex(32)})
    try:
        import ray
    except ImportError as error:
        raise UsageError("--ray needs Ray", hint=install_extra_command("ray")) from error
    on_stop = signal.getsignal(signal.SIGTERM)
    with _started(ray) if address == "local" else _joined(ray, address):
        signal.signal(signal.SIGTERM, on_stop)  # Ray has put its own in place of it
        try:
            yield ray
        finally:
            ray.shutdown()


@contextmanager
def _started(ray: Any) -> Iterator[None]:
    """A cluster on this machine that only this process reaches: on the loopback address, and by a token.

    Its files and sockets are in a folder that other users cannot enter, and go when it ends.
    """
    host = ray.util.get_node_ip_address()
    if not ip_address(host).is_loopback:
        raise UsageError(f"Ray {ray.__version__} would listen on {host}", hint="--jobs N")
    # names of sockets are short: a folder of macOS for temporary files is too deep
    place = "/tmp" if os.name == "posix" else None
    with TemporaryDirectory(prefix="vidsum-ray-", dir=place, ignore_cleanup_errors=True) as folder:
        ray.init(address="local", include_dashboard=False, _temp_dir=folder, **_QUIETLY)
        yield


@contextmanager
def _joined(ray: Any, address: str) -> Iterator[None]:
    """A cluster that runs."""
    _refuse_unreachable(address)
    try:
        ray.init(address=address, **_QUIETLY)
    except (ConnectionError, ValueError, ray.exceptions.RayError) as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"no Ray cluster at {address} ({reason})", hint="ray start --head") from error
    yield


_QUIETLY = {"log_to_driver": False, "logging_level": logging.ERROR}


def _refuse_unreachable(address: str) -> None:
    """Ray itself would try for minutes. Raises UsageError where nobody answers at `host:port`."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if is_offline() and not is_loopback(host):  # `auto` may be anywhere
        raise UsageError(f"{address}: VIDSUM_OFFLINE forbids connections", hint="--ray local, or --jobs N")
    if not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), _ANSWERS_S).close()
    except (OSError, OverflowError) as error:
        raise UsageError(f"no Ray cluster at {address} ({error})", hint="ray start --head") from error


def _takes_gpu(call: Call) -> bool:
    """Return whether a command runs on a GPU where there is one.

    Raises UsageError: `--device` names one of several GPUs.
    """
    device = next((each.device for each in call.arguments.values() if hasattr(each, "device")), "cpu")
    kind, _, number = device.partition(":")
    if number not in ("", "0"):
        raise UsageError(f"--device {device}: Ray chooses the GPU of each task", hint="--device cuda")
    return kind == "cuda" or (kind == "auto" and call.command not in _ON_CPU)


def _received(ray: Any, call: Call, task: Task, reference: Any) -> Result:
    """Return the result of a task; a failed one where it raised, or its process was lost once too often."""
    try:
        received: Result = ray.get(reference)
    except ray.exceptions.RayError as error:
        fault = f"{task.path}: failed on the cluster ({str(error).strip().splitlines()[-1]})"
        hint = "inputs, outputs and the current folder must have the same paths on all nodes"
        return Result.failed(call.command, task.path, VidsumError(fault, hint))
    return received


def _run(shared: tuple[Call, str, dict[str, str]], task: Task) -> Result:
    """What runs on the cluster: the result of an input, of the worker that this process keeps."""
    import ray

    call, folder, environment = shared
    gpus = ray.get_runtime_context().get_accelerator_ids().get("GPU", [])
    if _kept and (_kept[0][0].is_over or _kept[0][1] != gpus):
        _kept.pop()[0].stop()
    if not _kept:
        os.chdir(folder)
        _kept.append((Worker(call, environment), gpus))
    return _kept[0][0].run(task, None)
