"""One command line in several processes: what a worker must know to run the same, and what it is to do then.

A worker runs the command line of the process that started it, so that it makes the same plan. Only at its
batch it differs: there it takes inputs as they are handed out, one by one, and returns the results.
"""

import io
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vidsum.commands.result import Result
    from vidsum.types import Progress

Work = Callable[[str, "Progress | None"], "Result"]
"""What a command does with one input; never raises an Exception."""


@dataclass(frozen=True)
class CommandLine:
    """What another process needs to run this one's command, beside environment and current folder."""

    command: str
    words: tuple[str, ...]
    """Of the command line, after the program."""
    inputs: tuple[str, ...]
    """As they were found here: folders may change meanwhile."""
    stdin: bytes
    """What was read of it."""
    found: Any = None
    """What the command found out here before its batch, and a worker need not find out again."""

    @classmethod
    def here(cls, command: str, inputs: Sequence[str], found: Any = None) -> "CommandLine":
        """That of this process."""
        stdin = getattr(sys.stdin, "buffer", None)
        content = stdin.getvalue() if isinstance(stdin, io.BytesIO) else b""
        return cls(command, tuple(sys.argv[1:]), tuple(inputs), content, found)


@dataclass(frozen=True)
class Assignment:
    """What a worker does in place of its batch."""

    inputs: tuple[str, ...]
    serve: Callable[[Work], None]
    """Does the work for the inputs that are handed out, until there are no more."""
    found: Any = None
    """See `CommandLine`."""


current: list[Assignment] = []
"""The assignment of this process; empty unless it is a worker."""
