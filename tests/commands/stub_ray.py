"""A stub of Ray without a cluster; tasks finish in the order that a test chooses."""

import pickle
import sys
from collections import defaultdict
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from vidsum.batch.inputs import BatchInput
from vidsum.batch.reply import Reply


class RayError(Exception):
    """The base of what Ray raises."""


class StubRay:
    __version__ = "0.0"
    exceptions = SimpleNamespace(RayError=RayError)

    def __init__(self, resources: dict[str, float], finishes: Callable[[list[int]], int]) -> None:
        self.resources = resources
        self.finishes = finishes
        """Which of the numbers of tasks under way is the next to finish."""
        self.host = "127.0.0.1"
        self.util = SimpleNamespace(get_node_ip_address=lambda: self.host)
        self.settings: dict[str, Any] = {}
        self.options: dict[str, Any] = {}
        self.shared = b""
        self.tasks: list[bytes] = []

    def init(self, **settings: Any) -> None:
        self.settings = settings
        print("Ray has begun")

    def shutdown(self) -> None:
        print("(raylet) a line that Ray held back")

    def cluster_resources(self) -> dict[str, float]:
        return self.resources

    def put(self, value: Any) -> Any:
        self.shared = pickle.dumps((value.folder, value.environment))
        return value

    def remote(self, **options: Any) -> Any:
        self.options = options

        def hand_out(shared: Any, task: BatchInput) -> int:
            self.tasks.append(pickle.dumps(task))
            return len(self.tasks) - 1

        return lambda function: SimpleNamespace(remote=hand_out)

    def wait(self, references: list[int]) -> tuple[list[int], list[int]]:
        finished = self.finishes(references)
        return [finished], [reference for reference in references if reference != finished]

    def get(self, reference: int) -> Reply:
        print("Ray says this from its own code")
        task: BatchInput = pickle.loads(self.tasks[reference])
        if "lost" in task.path:
            raise RayError("lines\nthe worker died")
        return Reply("info", task.path, defaultdict(str))


def install(monkeypatch: pytest.MonkeyPatch, **resources: float) -> StubRay:
    """Put a stub in the place of Ray; the variables that a cluster sets are set back after the test."""
    stub = StubRay(resources or {"CPU": 2}, min)
    monkeypatch.setitem(sys.modules, "ray", stub)  # type: ignore[arg-type]
    for name in ("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "RAY_AUTH_MODE", "RAY_AUTH_TOKEN"):
        monkeypatch.setenv(name, "as it was")
    return stub
