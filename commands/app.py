"""The `vidsum` program: how it starts, and what happens to errors on the way out."""

import errno
import os
import re
import signal
import sys
from io import TextIOWrapper
from typing import Any

import typer

from vidsum.commands.config import origin_of
from vidsum.commands.options import View
from vidsum.commands.program import command_of, program_for
from vidsum.commands.result import failed, render
from vidsum.errors import OutputError, UsageError
from vidsum.memory import use_one_arena
from vidsum.names import guess

_INTERRUPTED = 130
_NOT_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def main() -> None:
    """Run the program and exit with its code: see the table of exit codes in docs/cli.md."""
    signal.signal(signal.SIGTERM, _stop)
    use_one_arena()
    if "--no-color" in sys.argv:
        os.environ["NO_COLOR"] = "1"  # before Rich is loaded, which prints the help
    if sys.stdout is None or sys.stderr is None:  # closed by who started us: nobody wants to hear of it
        nowhere = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # for file names that are not UTF-8
    try:
        code = program_for(sys.argv[1:])(standalone_mode=False)
        if code == _INTERRUPTED:  # typer turns an interruption inside a command into its code, in silence
            code = _interrupted()
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        code = _interrupted()
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our stdout went away; there is nobody left to tell
        code = 1
    except Exception as error:
        code = _failed(error)
    sys.exit(code if isinstance(code, int) else 0)


def _stop(signum: int, frame: object) -> None:
    """On SIGTERM leave as on an error, so that temporary files are removed."""
    print("stopped", file=sys.stderr)
    sys.exit(128 + signum)


def _drop_stdout() -> None:
    """Let what stdout holds go nowhere: else Python fails on it once more as it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _interrupted() -> int:
    print("interrupted", file=sys.stderr)
    return _INTERRUPTED


def _failed(error: Exception) -> int:
    """Tell of an error that reached the top, and return its code."""
    # usage errors are of typer's own copy of click, or of click itself: known by what they can do
    if hasattr(error, "format_message"):
        return _report_usage(error)
    if isinstance(error, OSError) and error.filename is None and error.errno in _NOT_WRITTEN:
        _drop_stdout()  # what writes files knows their names, and turns its own errors into results
        print(f"error: stdout cannot be written to ({error.strerror})", file=sys.stderr)
        return OutputError.exit_code
    return _report(error)


def _report(error: Exception) -> int:
    """Print an error that came before or outside a batch."""
    words = sys.argv[1:]
    view = View(json="--json" in words, verbose="-v" in words or "--verbose" in words)
    result = failed(command_of(words) or "vidsum", None, view, error)
    render(result, view)
    return result.exit_code


def _report_usage(error: Any) -> int:
    message, context = error.format_message(), getattr(error, "ctx", None)
    if not message:  # a command without arguments: its help is printed already
        return UsageError.exit_code
    command = context.command_path if context else "vidsum"
    plain = (error.message if hasattr(error, "possibilities") else message).removesuffix(".")
    return _report(UsageError(f"{plain}{_meant(error)}{_origin(error)}", hint=f"{command} --help"))


def _meant(error: Any) -> str:
    """Which option or choice was meant, if the error is a name that is not known."""
    context: Any = getattr(error, "ctx", None)
    kind: Any = getattr(getattr(error, "param", None), "type", None)
    if hasattr(error, "possibilities") and context:  # typer's own are many, and far
        options = [flag for each in context.command.params for flag in (*each.opts, *each.secondary_opts)]
        known = [flag for flag in options if flag.startswith("--")]
        return guess(error.option_name, known, quoted=False)
    named = re.search(r"'(.*)' is not one of ", error.message)
    return guess(named[1], kind.choices) if named and hasattr(kind, "choices") else ""


def _origin(error: Any) -> str:
    """Where a bad value of an option came from, if not from the command line."""
    context, option = getattr(error, "ctx", None), getattr(error, "param", None)
    if context is None or option is None:
        return ""
    source = context.get_parameter_source(option.name)
    if source is not None and source.name == "ENVIRONMENT":
        general, own = option.envvar, f"{context.auto_envvar_prefix}_{option.name.upper()}"
        return f" (from {general if general and os.environ.get(general) else own})"
    if source is not None and source.name == "DEFAULT_MAP":
        return f" (from {origin_of(context, option.name)})"
    return ""
