"""The `vidsum` program: its subcommands, and what happens to errors on the way out."""

import signal
import sys
from typing import Annotated, Any

import typer

from vidsum.commands import extract, info, shots, summarize, weights
from vidsum.commands.result import Result, View, render
from vidsum.errors import UsageError, VidsumError

app = typer.Typer(
    name="vidsum",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Summarize videos: features, shots, importance, and a summary as MP4 and JSON.",
    epilog="Options can also be set by VIDSUM_* variables (VIDSUM_DEVICE=cpu) and by --config FILE.yaml.",
)
app.command("extract")(extract.extract)
app.command("shots")(shots.shots)
app.command("summarize")(summarize.summarize)
app.command("info")(info.info)
app.add_typer(weights.app, name="weights")


def _show_version(asked: bool) -> None:
    if asked:
        from vidsum import __version__

        print(f"vidsum {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Summarize videos: features, shots, importance, and a summary as MP4 and JSON."""


def main() -> None:
    """Run the program and exit with its code: see the table of exit codes in docs/cli.md."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        code = app(standalone_mode=False)
    except (KeyboardInterrupt, typer.Abort):
        code = _interrupted()
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our stdout went away; there is nobody left to tell
        code = 1
    except VidsumError as error:
        code = _report(error)
    except Exception as error:
        # usage errors are of typer's own copy of click, or of click itself: known by what they can do
        if not hasattr(error, "format_message"):
            raise
        code = _report(UsageError(error.format_message(), hint=_help_hint(error)))
    sys.exit(code if isinstance(code, int) else 0)


def _stop(signum: int, frame: object) -> None:
    """On SIGTERM leave as on an error, so that temporary files are removed."""
    sys.exit(128 + signum)


def _interrupted() -> int:
    print("interrupted", file=sys.stderr)
    return 130


def _report(error: VidsumError) -> int:
    """Print an error that came before or outside a batch."""
    result = Result.failed(_command_name(), None, error)
    render(result, View(json="--json" in sys.argv[1:]))
    return result.exit_code


def _help_hint(error: Any) -> str:
    context = getattr(error, "ctx", None)
    return f"{context.command_path if context else 'vidsum'} --help"


def _command_name() -> str:
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    return words[0] if words else "vidsum"
