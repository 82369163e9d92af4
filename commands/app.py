"""The `vidsum` program: its commands, how it starts, and what happens to errors on the way out."""

import errno
import gc
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from vidsum.batch.reply import failed
from vidsum.batch.settings import CommonOptions
from vidsum.commands.config import (
    OptionNames,
    command_of,
    variable_for,
)
from vidsum.commands.options import complete, metavar_of, settings_of
from vidsum.commands.result import render
from vidsum.commands.usage import CommandGroup
from vidsum.device import use_one_arena, use_one_blas_thread
from vidsum.errors import (
    Mention,
    OutputError,
    UsageError,
    VidsumError,
    did_you_mean,
    show_warning,
)

PANELS = {
    "One video": {
        "summarize": "Summarize videos.",
        "ground": "Find the moments that a text query describes.",
        "highlights": "Find what stands out in videos, without a query.",
        "shorts": "Make short clips for phones of the best passages of videos.",
        "shots": "Cut videos into shots.",
        "trim": "Remove silence, filler words or deleted text from videos.",
        "transcribe": "Turn speech into text.",
        "describe": "Describe videos in words.",
        "chapters": "Cut videos into titled chapters.",
        "extract": "Extract features from videos.",
        "watch": "Watch a camera or stream, and alert when something is seen.",
    },
    "Results": {
        "export": "Convert results to editor timelines, subtitles or CSV.",
        "report": "Make a page of results.",
        "edit": "Correct a result by hand, in the browser.",
    },
    "Many videos": {
        "reel": "Make one film out of many clips and photographs.",
        "index": "Add videos to an archive.",
        "search": "Find moments in all videos of an archive.",
        "serve": "Search an archive in the browser.",
        "mcp": "Let a language model search, summarize and cut videos.",
    },
    "Models and installation": {
        "weights": "Download and check the models.",
        "train": "Train models on annotated videos.",
        "evaluate": "Measure results against human annotations.",
        "reproduce": "Reproduce the tables of the papers.",
        "info": "Show versions, devices, weights and cache; or details of video files.",
        "help": "Show the help of a command, or of the program.",
    },
}
"""Each command is the `app` of the module of its name, except `help`, which is here."""
COMMANDS = tuple(name for names in PANELS.values() for name in names)
INTERRUPTED = 130
_NOT_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


class Program(CommandGroup):
    """All commands; the module of a command is loaded when it runs."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command with its name, its panel and a line of help."""
        for panel, names in PANELS.items():
            if cmd_name in names:
                return TyperCommand(cmd_name, help=names[cmd_name], rich_help_panel=panel)
        return None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first word names, loaded, and the words after it."""
        if args[0] not in COMMANDS:
            return super().resolve_command(ctx, args)
        if args[0] not in self.commands:
            self.add_command(_load(args[0]), args[0])
        return args[0], self.commands[args[0]], args[1:]


def _load(name: str) -> Any:
    loaded = typer.main.get_command(import_module(f"vidsum.commands.{name}").app)
    loaded.name = name
    return loaded


app = typer.Typer(
    cls=Program,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Options can also be set by variables (VIDSUM_DEVICE=cpu, VIDSUM_SUMMARIZE_BUDGET=20%) and by "
    "--config FILE.yaml.",
)


def _show_version(value: bool) -> None:
    if value:
        from vidsum.version import __version__

        print(f"vidsum {__version__}")
        raise typer.Exit()


@app.callback()
def vidsum(
    version: Annotated[
        bool, typer.Option("--version", "-V", is_eager=True, callback=_show_version, help="Show the version.")
    ] = False,
) -> None:
    """Make short versions of videos, and find moments by describing them."""


@app.command("help")
def help_(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="COMMAND",
            help="The command, such as `train mrnet`; or `sounds`, which lists those of --in sound.",
            autocompletion=complete(COMMANDS),
        ),
    ] = None,
) -> None:
    """Show the help of a command, or of the program."""
    if words == ["sounds"]:
        from vidsum.pipelines.listening import list_sounds

        print(list_sounds())
    else:
        run([*(words or ()), "--help"])


@cache
def program() -> Any:
    """Return the whole program; commands that it has loaded stay loaded."""
    return typer.main.get_command(app)


def find_command(words: Sequence[str]) -> Any:
    """Return the command that the first of these words name."""
    command = program()
    for word in words:
        if not hasattr(command, "list_commands"):
            break
        command = command.resolve_command(typer.Context(command), [word])[1]
    return command


def run(words: Sequence[str] | None = None) -> int:
    """Run a command in this process, by default the command line's, and return its exit code.

    Only the command line has unknown variables named, so that they are once in a process.
    """
    code = program().main(words, prog_name="vidsum", standalone_mode=False, obj=words is None)
    return code if isinstance(code, int) else 0


def main() -> None:
    """Run the program and exit with its code: see the table of exit codes in docs/cli.md."""
    signal.signal(signal.SIGTERM, _stop)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as nohup sets it
        signal.signal(signal.SIGHUP, _stop)
    use_one_arena()
    use_one_blas_thread()
    gc.set_threshold(10_000)  # what is loaded stays: to look for waste in it takes a twentieth of a start
    warnings.showwarning = show_warning
    if sys.stdout is None or sys.stderr is None:  # closed by the parent process
        nowhere = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # for file names that are not UTF-8
    try:
        code = run()
        sys.stdout.flush()
        if code == INTERRUPTED:
            print("interrupted", file=sys.stderr)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        code = INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our stdout went away; nobody is left to read errors
        code = 1
    except Exception as error:
        code = _handle(error)
    gc.freeze()  # Python looks for waste in all that is loaded once more as it ends: a tenth of a second
    sys.exit(code)


def _stop(signum: int, frame: object) -> None:
    """On SIGTERM or SIGHUP leave as on an error, so that temporary files are removed."""
    try:
        print("stopped", file=sys.stderr)
    except OSError:  # the terminal is gone: what is written to it on the way out would fail with another code
        with suppress(OSError):
            sys.stdout.flush()
        for stream in (sys.stdout, sys.stderr):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(128 + signum)


def _handle(error: Exception) -> int:
    """Report an error that reached the top, and return its code."""
    if hasattr(error, "format_message"):  # of Typer, whose classes for wrong usage are not public
        return _report_usage(error)
    if isinstance(error, OSError) and error.filename is None and error.errno in _NOT_WRITTEN:
        # code that writes files knows their names, and turns its errors into results; what stdout holds is
        # discarded, else Python fails on it once more as it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(f"error: stdout cannot be written to ({error.strerror})", file=sys.stderr)
        return OutputError.exit_code
    return _report(error)


def _report(error: Exception) -> int:
    words = sys.argv[1:]
    command = next((word for word in words if not word.startswith("-")), "vidsum")
    common = CommonOptions(
        json="--json" in words,
        verbose="-v" in words or "--verbose" in words,
        # what vidsum raises is in a command's words already
        explain=None if isinstance(error, VidsumError) else OptionNames(command).explain,
    )
    answer = failed(command, None, error, common)
    render(answer, common)
    return answer.exit_code


def _report_usage(error: Any) -> int:
    """Report wrong usage that Typer found, and return its code."""
    context: Any = getattr(error, "ctx", None)
    path = context.command_path if context else "vidsum"
    kind = type(error).__name__
    if kind == "NoArgsIsHelpError":  # the help is printed
        return UsageError.exit_code
    if kind == "NoSuchOption" and context:
        return _report(_no_such_option(error.option_name, context))
    if kind == "MissingParameter" and error.param.name == "results":
        fault, hint = f"{context.command.name} needs results", f"{path} film_summary.json"
        return _report(UsageError(fault, hint))
    return _report(UsageError(error.format_message().rstrip("."), f"{path} --help"))


def _no_such_option(flag: str, context: Any) -> UsageError:
    """Return the error for an unknown flag; the hint says how to set an option that has none."""
    fault, command = f"No such option {flag!r}", context.command
    leaf = next((leaf for leaf in settings_of(command) if flag in "/".join(leaf.flags).split("/")), None)
    if leaf:
        words = command_of(context)
        value = metavar_of(leaf) or "true"
        entry = f"{leaf.parameter}: {value}"
        for word in reversed(words.split()):
            entry = f"{word}: {{{entry}}}"
        variable = f"{variable_for(leaf, words)}={value}"
        error = UsageError(fault, (f"{variable}, or `{entry}` in a ", Mention("config"), " file"))
        OptionNames(words).explain(error)
        return error
    if name := next((word for word in sys.argv[1:] if word.startswith(flag) and os.path.isfile(word)), None):  # noqa: PTH113
        return UsageError(fault, f"./{name}, if you mean that file")
    flags = [flag for option in command.params for flag in option.opts + option.secondary_opts]
    known = [flag for flag in flags if flag.startswith("--")]
    guess = did_you_mean(flag, known, quoted=False)
    return UsageError(fault + guess, f"{context.command_path} --help")
