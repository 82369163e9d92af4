"""What click reads the values of options as, and where a value came from."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from vidsum.options import Leaf, Option

METAVARS = {bool: "", int: "N", float: "NUMBER", Path: "PATH"}
"""What stands for a value in `--help`; choices are listed."""
_NUMBERS = {int: ("integer range", "a whole number"), float: ("float range", "a number")}


class Refused(click.BadParameter):
    """A value that an option does not take; the message names the option."""

    def format_message(self) -> str:
        """The message, without click's own words."""
        return self.message


class Number(click.ParamType):  # type: ignore[type-arg]  # generic in newer clicks only
    """A number in the range of an option."""

    def __init__(self, kind: type[int] | type[float], option: Option) -> None:
        self._option, (self.name, self._words) = option, _NUMBERS[kind]
        self._kind: Callable[[Any], float] = kind
        self.min, self.max = option.min, option.max

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number that a text stands for."""
        try:
            number = self._kind(value)
        except ValueError:
            number, words = 0, self._words
        else:
            words = "" if self._option.hold(number) else self._option.words()
        if words:
            name = param.opts[0] if param else ""
            raise Refused(f"{name} must be {words}, not {value}", ctx, param)
        return number


class Text(click.types.StringParamType):
    """A text; a variable holds one, spaces and all."""

    def split_envvar_value(self, rv: str) -> Sequence[str]:
        """The one text that a variable holds."""
        return [rv]


def type_of(kind: Any, leaf: Leaf | None = None, choices: Sequence[str] = ()) -> Any:
    """What click reads one value as."""
    if choices:
        return click.Choice(choices)
    if kind in _NUMBERS and leaf and not leaf.option.parse:
        return Number(kind, leaf.option)
    return {bool: bool, Path: click.Path(path_type=Path)}.get(kind, Text())


def help_of(option: Option) -> str:
    """The help with the range, where signs do not show it."""
    has_open_end = (option.above is not None or option.below is not None) and not option.parse
    return f"{option.help.removesuffix('.')} ({option.words()})." if has_open_end else option.help
