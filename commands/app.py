"""The `vidsum` program: its subcommands, and what happens to errors on the way out."""

import errno
import os
import signal
import sys
from io import TextIOWrapper
from typing import Annotated, Any

import typer

from vidsum.commands import (
    evaluate,
    export,
    extract,
    ground,
    help,
    highlights,
    info,
    report,
    shots,
    summarize,
    train,
    transcribe,
    weights,
)
from vidsum.commands.config import origin_of, share_variables
from vidsum.commands.options import View, lone
from vidsum.commands.result import failed, render
from vidsum.errors import OutputError, UsageError
from vidsum.memory import use_one_arena

_INTERRUPTED = 130
_NOT_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)

app = typer.Typer(
    name="vidsum",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "VIDSUM"},
    help="Summarize videos, and find the moments that a text describes; MP4 and JSON.",
    epilog="Options can also be set by variables (VIDSUM_DEVICE=cpu, VIDSUM_SUMMARIZE_BUDGET=20%) and by "
    "--config FILE.yaml.",
)
app.command("extract")(extract.extract)
app.command("shots")(shots.shots)
app.command("summarize", cls=lone("--plot", "importance", summarize.PLOTS))(summarize.summarize)
app.command("ground", cls=lone("--clips"))(ground.ground)
app.command("highlights", cls=lone("--clips"))(highlights.highlights)
app.command("transcribe")(transcribe.transcribe)
app.command("export")(export.export)
app.command("report")(report.report)
app.command("info")(info.info)
app.command("help")(help.show_help)
app.add_typer(train.app, name="train")
app.add_typer(evaluate.app, name="evaluate")
app.add_typer(weights.app, name="weights")
share_variables(app)


def _show_version(asked: bool) -> None:
    if asked:
        from vidsum.version import __version__

        print(f"vidsum {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            "-V",
            help="Show the version.",
            callback=_show_version,
            is_eager=True,
            allow_from_autoenv=False,
        ),
    ] = False,
    no_color: Annotated[
        bool, typer.Option("--no-color", help="No colours.", allow_from_autoenv=False)
    ] = False,
) -> None:
    """Summarize videos, and find the moments that a text describes; MP4 and JSON."""


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
        code = app(standalone_mode=False)
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
    result = failed(_command_name(), None, view, error)
    render(result, view)
    return result.exit_code


def _report_usage(error: Any) -> int:
    message, context = error.format_message(), getattr(error, "ctx", None)
    if not message:  # a command without arguments: its help is printed already
        return UsageError.exit_code
    command = context.command_path if context else "vidsum"
    plain = _plain(message)
    return _report(UsageError(f"{plain}{_origin(error)}", hint=f"{command} --help"))


def _plain(message: str) -> str:
    """A usage error without the phrases of pydantic."""
    phrases = {
        "Value error, ": "",
        "Input should be greater than or equal to": "it must be at least",
        "Input should be less than or equal to": "it must be at most",
        "Input should be": "it must be",
    }
    for phrase, plain in phrases.items():
        message = message.replace(phrase, plain)
    return message


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


def _command_name() -> str:
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    return words[0] if words else "vidsum"
