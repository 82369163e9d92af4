"""Running a command over many inputs: a bad one is reported, the rest go on, and the exit code says so."""

import sys
import traceback
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import typer

from vidsum.commands.progress import progress_bar
from vidsum.commands.result import Result, View, printable, render
from vidsum.errors import VidsumError

if TYPE_CHECKING:
    from vidsum.types import Progress  # with NumPy, which --help can do without

Step = Callable[[str, "Progress | None"], Result]


def run_batch(
    command: str, inputs: Sequence[str], view: View, step: Step, *, fail_fast: bool = False
) -> None:
    """Run `step` on each input, print each result as it comes, and leave with the exit code.

    One input: its own exit code. Several: 0 if all went well, 1 if any failed.

    Raises:
        typer.Exit: always, unless all went well.
    """
    codes = []
    for path in inputs:
        with progress_bar(view) as progress:
            result = run_one(command, path, view, lambda: step(path, progress))  # noqa: B023 (called at once)
        render(result, view)
        codes.append(result.exit_code)
        if result.exit_code and fail_fast:
            break
    if any(codes):
        raise typer.Exit(codes[0] if len(inputs) == 1 else 1)


def run_one(command: str, path: str | None, view: View, step: Callable[[], Result]) -> Result:
    """The result of a step; an exception becomes a failed result, its traceback shown with `-v` only."""
    try:
        return step()
    except Exception as error:
        return failed(command, path, view, error)


def failed(command: str, path: str | None, view: View, error: Exception) -> Result:
    """The result of a command that an exception ended; its traceback is shown with `-v` only."""
    if view.verbose and not isinstance(error, VidsumError):
        for line in "".join(traceback.format_exception(error)).splitlines():
            print(printable(line), file=sys.stderr)
    return Result.failed(command, path, error)
