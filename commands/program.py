"""The commands of the program, and the program with all of them or with the one that runs."""

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Annotated

import typer

from vidsum.commands.config import option_variables, share_variables
from vidsum.commands.parsers import App

COMMANDS = (
    *("extract", "shots", "summarize", "ground", "highlights"),
    *("transcribe", "index", "search", "serve", "export", "report", "info", "help"),
)
"""Each is a function of a module, both of that name. `PARSER` there, if any, is the class of its command."""
GROUPS = ("train", "evaluate", "weights")
"""Each is `app` in the module of its name."""


def program_for(words: Sequence[str]) -> typer.Typer:
    """What runs a command line: a program that has loaded one command, where nothing asks for the others.

    `help` and a misspelt name do, and so do variables: which options they set depends on all commands.
    """
    name = command_of(words)
    is_first = next((word for word in words if word != "--no-color"), "") == name
    is_alone = is_first and name in (*COMMANDS, *GROUPS) and name != "help" and not option_variables()
    return _program((name,)) if is_alone else whole()


def command_of(words: Sequence[str]) -> str:
    """The first word after `vidsum` that is no flag; empty where there is none."""
    return next((word for word in words if not word.startswith("-")), "")


@cache
def whole() -> typer.Typer:
    """The program with all commands."""
    app = _program((*COMMANDS, *GROUPS))
    share_variables(app)
    return app


def _program(names: tuple[str, ...]) -> typer.Typer:
    app = App(
        name="vidsum",
        callback=_root,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={
            "help_option_names": ["-h", "--help"],
            "auto_envvar_prefix": "VIDSUM",
            "obj": lambda: typer.main.get_command(whole()),  # for `config`
        },
        help=_root.__doc__,
        epilog="Options can also be set by variables (VIDSUM_DEVICE=cpu, VIDSUM_SUMMARIZE_BUDGET=20%) and by "
        "--config FILE.yaml.",
    )
    for name in names:
        module = import_module(f"vidsum.commands.{name}")
        if name in GROUPS:
            app.add_typer(module.app, name=name)
        else:
            app.command(name, cls=getattr(module, "PARSER", None))(getattr(module, name))
    return app


def _show_version(asked: bool) -> None:
    if asked:
        from vidsum.version import __version__

        print(f"vidsum {__version__}")
        raise typer.Exit


def _root(
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
    """Summarize videos and find moments from a text query. Writes MP4 and JSON."""
