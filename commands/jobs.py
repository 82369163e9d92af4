"""The tasks of a batch, and the work that is done on them."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vidsum.commands.outputs import Files
from vidsum.commands.result import CommandResult

if TYPE_CHECKING:
    from vidsum.io.urls import Url
    from vidsum.types import Progress


@dataclass(frozen=True)
class Task:
    """One input of a batch."""

    number: int
    """Position in the batch, from 0."""
    path: str
    files: Files = field(default_factory=lambda: Files({}))
    """Its outputs, if the command writes any; their names may depend on the other inputs."""
    url: "Url | None" = None
    """The address that the input is a copy of."""


Work = Callable[[Task, "Progress | None"], CommandResult]
"""The work of a command on one input. Worker processes unpickle it."""


@dataclass(frozen=True)
class Queue:
    """The tasks of a batch."""

    command: str
    work: Work
    """Never raises an Exception."""
    tasks: Sequence[Task]
    progress_of: Callable[[Task], "Progress | None"]
    """Returns the function that reports the progress of a task."""
    finish: Callable[[Task, CommandResult], None]
    """Called when a task is done, which may be before its turn."""


@dataclass(frozen=True)
class RemoteWork:
    """Work for other machines, with the folder and the variables that it needs there."""

    work: Work
    folder: str
    environment: dict[str, str]

    @classmethod
    def of(cls, work: Work) -> "RemoteWork":
        """Take the current folder and the variables of vidsum."""
        variables = {name: value for name, value in os.environ.items() if name.startswith("VIDSUM_")}
        return cls(work, os.getcwd(), variables)  # noqa: PTH109

    def run(self, task: Task) -> CommandResult:
        """Run a task, in a process that keeps its models for the next one."""
        os.chdir(self.folder)
        os.environ.update(self.environment)
        return self.work(task, None)
