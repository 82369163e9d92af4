"""Run a batch on a Ray cluster (`--ray`): one task per input; Ray reassigns the tasks of a lost node."""

import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from importlib import import_module
from ipaddress import ip_address
from tempfile import TemporaryDirectory
from typing import Any, Generic, TextIO, TypeVar

from vidsum.batch.inputs import BatchInput
from vidsum.batch.workers import Progress, Work
from vidsum.errors import Mention, UsageError, VidsumError, fill
from vidsum.io.packages import install_extra_command
from vidsum.io.urls import is_loopback, is_offline

R = TypeVar("R")

_QUIET = {"log_to_driver": False, "logging_level": "ERROR"}


def on_cluster(
    work: Work[R],
    inputs: Sequence[BatchInput],
    progress_of: Callable[[BatchInput], Progress | None],
    finish: Callable[[BatchInput, R], None],
    fail: Callable[[BatchInput, VidsumError], R],
    address: str,
    device: str,
) -> Generator[R, None, None]:
    """Yield the result of each input, in order; the address `local` starts a cluster on this machine.

    For the other arguments, see `vidsum.batch.workers.in_workers`.
    """
    if device.partition(":")[2] not in ("", "0"):
        raise UsageError(
            (Mention("device", device), ": Ray chooses the GPU of each task"), hint=Mention("device", "cuda")
        )
    with divert_stdout() as stdout, _connect(address) as ray:
        n_gpus = 1 if device != "cpu" and ray.cluster_resources().get("GPU", 0) else 0
        run = ray.remote(num_cpus=1, num_gpus=n_gpus, max_retries=3, max_calls=0)(RemoteWork.run)
        shared = ray.put(RemoteWork.of(work))
        running = {run.remote(shared, item): position for position, item in enumerate(inputs)}
        early: dict[int, R] = {}
        for position, item in enumerate(inputs):
            if position not in early and (report := progress_of(item)):
                report("waiting for the cluster", 0, 0)
            while position not in early:
                early.update([_finish_next(ray, inputs, finish, fail, running)])
            with redirect_stdout(stdout):
                yield early.pop(position)


def _finish_next(
    ray: Any,
    inputs: Sequence[BatchInput],
    finish: Callable[[BatchInput, R], None],
    fail: Callable[[BatchInput, VidsumError], R],
    running: dict[Any, int],
) -> tuple[int, R]:
    """Wait for any input; return its position and result."""
    try:
        (reference, *_), _ = ray.wait([*running])
    except SystemExit as stopped:  # by SIGTERM Ray exits with a code of its own
        sys.exit(stopped.code if stopped.code == 128 + signal.SIGHUP else 128 + signal.SIGTERM)
    item = inputs[position := running.pop(reference)]
    try:
        result: R = ray.get(reference)
    except ray.exceptions.RayError as error:
        fault = f"failed on the cluster ({str(error).strip().splitlines()[-1]})"
        hint = "inputs, outputs and the current folder must have the same paths on all nodes"
        result = fail(item, VidsumError(fault, hint, subject=item.path))
    finish(item, result)
    return position, result


@contextmanager
def _connect(address: str) -> Iterator[Any]:
    """Connect to a cluster; a local one is on the loopback address, with a token and a private folder."""
    if address == "local":  # Ray reads these when it is imported
        os.environ.update({"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AUTH_MODE": "token"})
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
    try:
        ray, on_stop = import_module("ray"), signal.getsignal(signal.SIGTERM)
    except ImportError as error:
        raise UsageError((Mention("ray"), " needs Ray"), hint=install_extra_command("ray")) from error
    root = "/tmp" if os.name == "posix" else None  # sockets need short names
    with TemporaryDirectory(prefix="vidsum-ray-", dir=root, ignore_cleanup_errors=True) as folder:
        try:
            if address != "local":
                _join(ray, address)
            elif ip_address(host := ray.util.get_node_ip_address()).is_loopback:
                ray.init(address="local", include_dashboard=False, _temp_dir=folder, **_QUIET)
            else:
                raise UsageError(f"Ray {ray.__version__} would listen on {host}", hint=Mention("jobs", "N"))
            signal.signal(signal.SIGTERM, on_stop)  # Ray has replaced it
            yield ray
        finally:
            ray.shutdown()


def _join(ray: Any, address: str) -> None:
    """Join a cluster. Raises UsageError at once where none answers; Ray would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if is_offline() and not is_loopback(host):  # `auto` may be anywhere
        raise UsageError(
            "VIDSUM_OFFLINE forbids connections",
            hint=fill("{}, or {}", Mention("ray", "local"), Mention("jobs", "N")),
            subject=address,
        )
    try:
        if host and port.isdecimal():
            socket.create_connection((host, int(port)), timeout=10).close()
        ray.init(address=address, **_QUIET)
    except (OSError, OverflowError, ValueError, ray.exceptions.RayError) as error:
        fault = f"no Ray cluster at {address} ({str(error).splitlines()[0]})"
        raise UsageError(fault, hint="ray start --head") from error


@dataclass(frozen=True)
class RemoteWork(Generic[R]):
    """Work for other machines, with the folder and the variables that it needs there."""

    work: Work[R]
    folder: str
    environment: dict[str, str]

    @classmethod
    def of(cls, work: Work[R]) -> "RemoteWork[R]":
        """Take the current folder and the variables of vidsum."""
        variables = {name: value for name, value in os.environ.items() if name.startswith("VIDSUM_")}
        return cls(work, os.getcwd(), variables)  # noqa: PTH109

    def run(self, item: BatchInput) -> R:
        """Work on an input, in a process that keeps its models for the next one."""
        os.chdir(self.folder)
        os.environ.update(self.environment)
        return self.work(item, None)


@contextmanager
def divert_stdout() -> Iterator[TextIO]:
    """Send to stderr what is printed, by C++ and other processes too; give a stream that leads to stdout."""
    stream = sys.stdout
    with redirect_stdout(sys.stderr):
        try:
            out, err = stream.fileno(), sys.stderr.fileno()
        except (OSError, ValueError):  # a notebook has no file descriptors
            yield stream
            return
        stream.flush()
        results = os.fdopen(os.dup(out), "w", encoding=stream.encoding, errors=stream.errors)
        os.dup2(err, out)
        try:
            yield results
        finally:
            os.dup2(results.fileno(), out)
            with suppress(OSError):  # the reader has gone
                results.close()
