"""The classes of the program's commands: how they read their words, and how they print their help."""

from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from vidsum.options import ADVANCED

_LAST_PANELS = ("Inputs", "Reading and features", "Messages", ADVANCED)
"""The panels that end the help of a command, in this order."""


class Command(TyperCommand):
    """A command whose help is printed as it is written, its own options first, the advanced ones last."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        shown: Any = _for_rich(self)
        shown.params = sorted(shown.params, key=_place)
        shown.get_help_option(ctx).rich_help_panel = _LAST_PANELS[-2]
        TyperCommand.format_help(shown, ctx, formatter)


def _place(parameter: Any) -> int:
    panel = getattr(parameter, "rich_help_panel", None)
    return _LAST_PANELS.index(panel) + 1 if panel in _LAST_PANELS else 0


class Group(TyperGroup):
    """A command of commands, whose help is printed as it is written."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        shown: Any = _for_rich(self)
        shown.commands = {name: _for_rich(each) for name, each in self.commands.items()}
        TyperGroup.format_help(shown, ctx, formatter)


class App(typer.Typer):
    """A program, or a command of commands."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(cls=Group, **settings)

    def command(
        self, name: str | None = None, *, cls: type[TyperCommand] | None = None, **settings: Any
    ) -> Callable[..., Any]:
        """A decorator that adds a command."""
        return super().command(name, cls=cls or Command, **settings)


def _for_rich(what: Any) -> Any:
    """A copy of a command or option whose texts Rich prints as they are: to Rich, `[ray]` is a style."""
    from rich.markup import escape  # slow to load, and most runs print no help

    shown = copy(what)
    for name in ("help", "short_help", "epilog"):
        if text := getattr(what, name, None):
            setattr(shown, name, escape(text))
    if hasattr(what, "params"):
        shown.params = [_for_rich(each) for each in what.params]
    return shown


def lone(flag: str, value: str = "", unless: tuple[str, ...] | None = None) -> type[Command]:
    """A command whose `flag` may stand without a value, and means `value` then.

    Args:
        flag: the option.
        value: what it means alone.
        unless: the values that it takes; without them, whatever does not begin with - and is not a file.
    """

    def is_value(word: str) -> bool:
        return word in unless if unless else word[:1] not in ("", "-") and not _is_file(word)

    class LoneCommand(Command):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            following = [*args, ""][1:]
            words = [
                f"{flag}={value}" if word == flag and not is_value(after) else word
                for word, after in zip(args, following, strict=True)
            ]
            return super().parse_args(ctx, words)

    return LoneCommand


def _is_file(word: str) -> bool:
    try:
        return Path(word).is_file()
    except OSError:  # too long for a name
        return False
