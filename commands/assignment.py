"""One command in several processes: what a worker must know to do the same, and what it is to do then.

A worker calls the command's function with the settings of the process that started it, and without inputs: it
reads no command line, configuration or list of inputs, and looks into no folder. So it makes the same plan.
Only at its batch it differs: there it takes inputs as they are handed out, and returns the results.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from vidsum.commands import options

if TYPE_CHECKING:
    from vidsum.commands.outputs import Files
    from vidsum.commands.result import Result
    from vidsum.types import Progress

T = TypeVar("T")


@dataclass(frozen=True)
class Call:
    """What another process needs to run this one's command, beside environment and current folder."""

    command: str
    arguments: Mapping[str, Any]
    """Of its function: settings, and empty lists in place of the inputs."""
    found: Any = None
    """See `find_once`."""

    @classmethod
    def here(cls, command: str, found: Any = None) -> "Call":
        """That of this process."""
        return cls(command, dict(options.arguments_in_force), found)

    def run(self) -> None:
        """Call the function."""
        of_command_line = getattr(import_module(f"vidsum.commands.{self.command}"), self.command)
        of_command_line.with_settings(**self.arguments)


@dataclass(frozen=True)
class Task:
    """One input of a batch."""

    path: str
    files: "Files | None" = None
    """Its outputs, if the command writes any; their names may depend on the other inputs."""


Work = Callable[[Task, "Progress | None"], "Result"]
"""What a command does with one input; never raises an Exception."""


@dataclass(frozen=True)
class Assignment:
    """What a worker does in place of its batch."""

    serve: Callable[[Work], None]
    """Does the work for the inputs that are handed out, until there are no more."""
    found: Any = None
    """See `find_once`."""


current: list[Assignment] = []
"""The assignment of this process; empty unless it is a worker."""


def find_once(find: Callable[[], T]) -> T:
    """What a command finds out before its batch, and hands to `run_batch`; its workers are told it."""
    told: T = current[0].found if current else find()
    return told
