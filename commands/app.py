"""The `vidsum` program: its commands, how it starts, and what happens to errors on the way out."""

import errno
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import click

from vidsum.commands.config import option_variables, share_variables
from vidsum.commands.options import Argument, Group, Words
from vidsum.commands.result import View, failed, render
from vidsum.device import use_one_arena
from vidsum.errors import OutputError, UsageError, did_you_mean

COMMANDS = (
    *("extract", "shots", "summarize", "ground", "highlights"),
    *("transcribe", "describe", "index", "search", "serve", "watch", "export", "report", "info", "help"),
    *("train", "evaluate", "reproduce", "weights"),
)
"""Each is a command of that name in the module of that name, but for `help`, which is here."""
_INTERRUPTED = 130
_SHELLS = {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/config.fish"}
"""The file, in the home folder, that a shell reads as it starts."""
_NOT_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


class Program(Group):
    """All commands; a module is loaded when its command runs, or when all are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by its name."""
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            loaded = getattr(import_module(f"vidsum.commands.{cmd_name}"), cmd_name)
            self.add_command(loaded, cmd_name)
        return self.commands.get(cmd_name)


@cache
def whole() -> Program:
    """Return the program with all commands loaded, and with the variables that they share."""
    program = _program()
    for name in COMMANDS:
        program.get_command(click.Context(program), name)
    share_variables(program)
    return program


def _program() -> Program:
    program = Program(
        "vidsum",
        "Summarize videos and find moments from a text query. Writes MP4 and JSON.",
        epilog="Options can also be set by variables (VIDSUM_DEVICE=cpu, VIDSUM_SUMMARIZE_BUDGET=20%) and by "
        "--config FILE.yaml.",
        params=[
            _switch("--version", "-V", help="Show the version.", callback=_show_version),
            _switch("--install-completion", help="Install completion for this shell.", callback=_install),
            _switch("--show-completion", help="Print what that would install.", callback=_install),
            _switch("--no-color", help="No colours."),
        ],
        context_settings={
            "help_option_names": ["-h", "--help"],
            "auto_envvar_prefix": "VIDSUM",
            "obj": whole,
        },
    )
    program.add_command(_HELP)
    return program


def _switch(*flags: str, help: str, callback: Any = None) -> click.Option:
    return click.Option(
        flags, help=help, callback=callback, is_flag=True, is_eager=bool(callback), allow_from_autoenv=False
    )


def _show_version(ctx: click.Context, parameter: click.Parameter, asked: bool) -> None:
    if asked:
        from vidsum.version import __version__

        print(f"vidsum {__version__}")
        ctx.exit()


def _install(ctx: click.Context, parameter: click.Parameter, asked: bool) -> None:
    """Print, or add to the file that the shell reads as it starts, the line that lets it complete words."""
    if not asked or ctx.resilient_parsing:
        return
    shell = Path(os.environ.get("SHELL", "bash")).stem
    if shell not in _SHELLS:
        raise UsageError(f"no completion for the shell {shell!r}", hint="bash, zsh or fish")
    code = f"_VIDSUM_COMPLETE={shell}_source vidsum"
    line = f"{code} | source" if shell == "fish" else f'eval "$({code})"'
    file = Path.home() / _SHELLS[shell]
    if parameter.name == "show_completion":
        print(line)
    elif not file.exists() or line not in file.read_text(encoding="utf-8", errors="replace").splitlines():
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as stream:
            stream.write(f"\n{line}\n")
        print(f"{file}: completion is installed, for new shells")
    ctx.exit()


def _help(words: Sequence[str]) -> None:
    """Show the help of a command, or of the program."""
    program = click.get_current_context().find_root()
    name, inner = str(program.info_name), program.command
    for word in words:
        known = getattr(inner, "get_command", None)
        if known is None:
            raise UsageError(f"`{name}` has no command {word!r}", hint=f"{name} --help")
        name, inner = f"{name} {word}", known(program, word)
        if inner is None:
            break  # click says that it is not known
    program.command.main([*words, "--help"], prog_name=program.info_name, standalone_mode=False)


def _inner(ctx: click.Context) -> list[str]:
    """Return the commands of the program, or of the command that was named."""
    inner: Any = ctx.find_root().command
    for word in ctx.params.get("words") or ():
        inner = inner.get_command(ctx, word) if isinstance(inner, click.Group) else None
    return inner.list_commands(ctx) if isinstance(inner, click.Group) else []


_HELP = click.Command(
    "help",
    params=[
        Words("words", list[str], Argument("The command, such as `train mrnet`.", "COMMAND", names=_inner))
    ],
    callback=_help,
    help=_help.__doc__,
    short_help=_help.__doc__,
)


def main() -> None:
    """Run the program and exit with its code: see the table of exit codes in docs/cli.md."""
    signal.signal(signal.SIGTERM, _stop)
    use_one_arena()
    warnings.showwarning = _show_warning
    if "--no-color" in sys.argv:
        os.environ["NO_COLOR"] = "1"  # before Rich is loaded, which prints the help
    if sys.stdout is None or sys.stderr is None:  # closed by who started us: nobody wants to hear of it
        nowhere = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
        sys.stdout, sys.stderr = sys.stdout or nowhere, sys.stderr or nowhere
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # for file names that are not UTF-8
    try:
        # which options a variable sets depends on all commands
        program = whole() if option_variables() else _program()
        code = program.main(standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        code = _interrupted()
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our stdout went away; there is nobody left to tell
        code = 1
    except Exception as error:
        code = _failed(error)
    sys.exit(code if isinstance(code, int) else 0)


def _show_warning(message: Warning | str, category: type[Warning], *place: object, **more: object) -> None:
    """Print a warning of Python's as a line like any other."""
    print(f"warning: {message}", file=sys.stderr)


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
    if isinstance(error, click.ClickException):
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
    command = next((word for word in words if not word.startswith("-")), "vidsum")
    result = failed(command, None, view, error)
    render(result, view)
    return result.exit_code


def _report_usage(error: click.ClickException) -> int:
    context: Any = getattr(error, "ctx", None)
    command, message = context.command_path if context else "vidsum", error.format_message()
    if isinstance(error, click.NoSuchOption) and context:  # click's own guesses are many, and far
        options = [flag for each in context.command.params for flag in (*each.opts, *each.secondary_opts)]
        known = [flag for flag in options if flag.startswith("--")]
        message = error.message.removesuffix(".") + did_you_mean(error.option_name, known, quoted=False)
    return _report(UsageError(message.removesuffix("."), hint=f"{command} --help"))
