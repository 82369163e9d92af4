"""Commands for Typer: a help that fits on a screen, and wrong usage as errors of vidsum."""

import re
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from inspect import get_annotations
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from vidsum.errors import UsageError, did_you_mean
from vidsum.options import ADVANCED

LAST_PANELS = ("Reading and features", ADVANCED)
"""Panels at the end of the help of a command, which a short help leaves out."""
_MAX_METAVAR = 12  # characters of a placeholder in a short help
_TEXTS = (str, str | None, list[str])  # annotations of parameters that take the words as they are
_ALL = "vidsum.help_all"  # key in a context's `meta`: show the advanced options too


def _show_all(ctx: typer.Context, value: bool) -> None:
    if value:
        ctx.meta[_ALL] = True
        typer.echo(ctx.get_help(), nl=False)  # Rich has printed it, and left an empty text
        raise typer.Exit()


HELP_ALL = typer.Option(
    False, "--help-all", is_eager=True, expose_value=False, callback=_show_all, help="Show all options."
)


@dataclass(frozen=True)
class CommandHelp:
    """The texts of a command's help."""

    summary: str
    details: tuple[str, ...] = ()  # further paragraphs
    examples: tuple[str, ...] = ()  # command lines
    options: Mapping[str, str] = field(default_factory=dict)  # a sentence about each, by parameter

    def text(self, *, is_short: bool) -> str:
        """Return what stands above the options: without the details if it is short."""
        examples = "\n".join(["Examples:", *(f"  {example}" for example in self.examples)])
        details = () if is_short else self.details
        return escape("\n\n".join([self.summary, *details, *([examples] if self.examples else [])]))


def escape(text: str) -> str:
    """Return a text in which Rich sees no markup."""
    return re.sub(r"(\\*)\[", r"\1\1\\[", text)


class Command(TyperCommand):
    """A command whose `--help` fits on a screen, and whose `--help-all` has every option.

    The texts are the attribute `texts` of its function.
    """

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help: with `--help`, the first sentences about the main options."""
        command = self if _ALL in ctx.meta else self._short()
        TyperCommand.format_help(command, ctx, formatter)

    def _short(self) -> "Command":
        """Return a copy whose help is short: one process may print both."""
        short, params = copy(self), list[Any](map(copy, self.params))
        texts: CommandHelp = self.callback.texts  # type: ignore[union-attr]
        short.help = texts.text(is_short=True)
        short.epilog = "--help-all explains all options, inputs and outputs."
        for parameter in params:
            is_main = getattr(parameter, "rich_help_panel", None) not in (None, *LAST_PANELS)
            parameter.hidden = parameter.hidden or not is_main
            parameter.help = escape(texts.options.get(parameter.name, ""))
            if len(parameter.metavar or "") > _MAX_METAVAR:
                parameter.metavar = parameter.opts[0].rpartition("-")[2].upper()
        short.params = params
        return short

    def get_help_option(self, ctx: Any) -> Any:
        """Return `--help`, which a short help does not list."""
        option: Any = super().get_help_option(ctx)
        option.hidden = True
        return option

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of a command line. Raises UsageError: there are too many."""
        _skip_conversion(self.get_params(ctx), get_annotations(self.callback) if self.callback else {})
        try:
            rest = super().parse_args(ctx, args)
        except Exception as error:
            if hasattr(error, "ctx"):
                error.ctx = error.ctx or ctx  # so that it names the command
            raise
        if ctx.args and not ctx.resilient_parsing:
            raise _extra_words(ctx)
        return rest


def _extra_words(ctx: Any) -> UsageError:
    extra = " ".join(ctx.args)
    if "text" in ctx.params:
        text = f"{ctx.params['text']} {extra}"
        return UsageError("put the query in quotes", hint=f'{ctx.command_path} "{text}"')
    fault = f"Got unexpected extra argument{'s' if len(ctx.args) > 1 else ''} ({extra})"
    return UsageError(fault, hint=f"{ctx.command_path} --help")


class CommandGroup(TyperGroup):
    """A command of commands."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _skip_conversion(self.get_params(ctx), {})
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first word names, and the words after it."""
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not (name.startswith("-") or ctx.resilient_parsing):
            fault = f"`{ctx.command_path}` has no command {name!r}{did_you_mean(name, known)}"
            raise UsageError(fault, hint=f"{ctx.command_path} --help")
        return super().resolve_command(ctx, args)


def _skip_conversion(params: Iterable[Any], annotations: Mapping[str, Any]) -> None:
    """Leave texts, and options that were not given, as they are: to convert, Typer would load Pydantic."""

    def process(param: Any, convert: Callable[[Any, Any], Any], ctx: Any, value: Any) -> Any:
        if value and annotations.get(param.name) in _TEXTS:
            return list(value) if isinstance(value, tuple) else value
        if value is not None or param.required:
            return convert(ctx, value)
        return param.callback(ctx, param, value) if param.callback else None

    for param in params:
        if "process_value" not in vars(param):  # else an earlier command line has been read
            param.process_value = partial(process, param, param.process_value)
