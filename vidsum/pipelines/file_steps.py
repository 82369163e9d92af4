"""Run a step on many files, of which some may be bad."""

from collections.abc import Callable, Generator, Sequence
from typing import Protocol, TypeVar

from vidsum.errors import InputError
from vidsum.types import Progress

R = TypeVar("R")
Step = Callable[[str, Progress | None], R]
"""The work on the file at a path: a module-level function, or a `partial` of one, for worker processes."""


class StepRunner(Protocol):
    """Runs a step on files; the batches of the command line have another, which survives a killed process."""

    def __call__(
        self, step: Step[R], paths: Sequence[str], progress_of: Callable[[int], Progress | None], /
    ) -> Generator[R | InputError, None, None]:
        """Yield the result for each file, or what is wrong with it, in order; other errors are raised.

        `progress_of` is called with the number of a file when its step begins.
        """


def run_steps(
    step: Step[R], paths: Sequence[str], progress_of: Callable[[int], Progress | None]
) -> Generator[R | InputError, None, None]:
    """Run a step on files in this process; see `StepRunner`."""
    for number, path in enumerate(paths):
        yield attempt_step(step, path, progress_of(number))


def attempt_step(step: Step[R], path: str, progress: Progress | None) -> R | InputError:
    """Return the result of a step for a file, or what is wrong with the file."""
    try:
        return step(path, progress)
    except InputError as error:
        return error
