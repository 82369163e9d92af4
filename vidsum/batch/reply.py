"""The answer of a command about one input: facts, lines and a table for people, warnings, errors."""

import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from vidsum.batch.settings import CommonOptions
from vidsum.errors import Problem, VidsumError, printable, redact
from vidsum.io.packages import explain_import_error
from vidsum.io.urls import Url

Rows = tuple[tuple[str, ...], ...]
"""A table: its first row has the names of the columns."""


@dataclass(frozen=True)
class Reply:
    """The answer about one input; who runs a command sets `command` and `input`."""

    command: str = ""
    input: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)  # JSON-ready facts
    lines: tuple[str, ...] = ()  # facts for people to read
    table: Rows = ()  # rows for people to read; the same facts are in the data
    title: str = ""  # a line above the table
    document: Mapping[str, Any] | str | None = None
    """Output for stdout (`-o -`): a JSON document, or the text of another file."""
    messages: tuple[str, ...] = ()  # warnings and notes
    errors: tuple[Problem, ...] = ()
    exit_code: int = 0
    fatal: VidsumError | None = None  # the error, where it ends a batch
    details: tuple[str, ...] = ()  # more lines for people, printed with `--verbose`


def failed(command: str, name: str | None, error: Exception, common: CommonOptions) -> Reply:
    """Return the answer of a command that an exception ended; `-v` shows its traceback."""
    if common.verbose and not isinstance(error, VidsumError):
        hide = name.hide if isinstance(name, Url) else redact
        for line in "".join(traceback.format_exception(error)).splitlines():
            print(printable(hide(line)), file=sys.stderr)
    error = explain_import_error(error) or error
    code = error.exit_code if isinstance(error, VidsumError) else 1
    fatal = error if isinstance(error, VidsumError) and error.ends_batch else None
    answer = Reply(command, name and redact(name), errors=(Problem.of(error),), exit_code=code, fatal=fatal)
    return explained(answer, common)


def explained(answer: Reply, common: CommonOptions) -> Reply:
    """Return an answer whose errors name options as users of the command know them."""
    errors = list[Problem]()
    for problem in answer.errors:
        if problem.error and common.explain:
            common.explain(problem.error)
            problem = replace(problem, text=problem.error.words, hint=problem.error.hint)
        errors.append(problem)
    return replace(answer, errors=tuple(errors))


def reply_of(command: str, name: str | None, common: CommonOptions, step: Callable[[], Reply]) -> Reply:
    """Return the answer of a step; an exception becomes a failed one."""
    try:
        answer = step()
        messages = tuple(map(redact, answer.messages))
        about = redact(answer.input or name or "") or None
        answer = replace(answer, command=answer.command or command, input=about, messages=messages)
        return explained(answer, common)
    except Exception as error:
        return failed(command, name, error, common)
