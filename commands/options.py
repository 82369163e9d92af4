"""From settings to flags: each field of a command's settings becomes a Typer option.

    app = typer.Typer(add_completion=False)

    @command(app)
    def shots(sources: Sources, common: Clipping, shots: ShotSettings) -> None: ...

The command gets settings made from the command line, the environment and a file, and may return its result.
`Annotated[Mapping[str, Any], Chosen(MRNetSettings)]` gets only the chosen values, by name; a preset has the
rest.
"""

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import MISSING, dataclass, is_dataclass, replace
from functools import partial
from keyword import iskeyword
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_origin

import typer
from typer.models import ArgumentInfo

from vidsum.batch.reply import Reply
from vidsum.commands.config import (
    OptionNames,
    Source,
    command_of,
    describe_unknown_variables,
    find_sources,
    has_flag,
    is_set,
    typed_sources,
    value_of,
)
from vidsum.commands.result import run_alone
from vidsum.commands.usage import HELP_ALL, LAST_PANELS, Command, CommandHelp, escape
from vidsum.errors import UsageError, VidsumError
from vidsum.io.paths import files_read
from vidsum.io.urls import is_offline
from vidsum.options import ADVANCED, Leaf, build, item_of, leaves, required

_FIRST_PANEL = "Inputs"  # of the help of a command
_METAVARS = {bool: "", int: "N", float: "NUMBER", Path: "PATH"}  # choices are listed

F = TypeVar("F", bound=Callable[..., Reply | None])


class Only(tuple[str, ...]):
    """Fields of settings that a command offers; the others keep their defaults."""


class Without(tuple[str, ...]):
    """Fields of settings that a command does not offer."""


class Flags(tuple[str, ...]):
    """Fields of settings that have a flag; variables and configuration files set the others, too."""


class Under(str):
    """The panel of a command's help that has the options of some settings, but for the advanced ones."""


@dataclass(frozen=True)
class Chosen:
    """Marks a mapping of the chosen values of settings by name, without defaults."""

    kind: type[Any]
    preset_names: tuple[str, ...] = ()  # fields whose default is a preset's


def command(app: typer.Typer, *examples: str) -> Callable[[F], F]:
    """Return a decorator that adds a function to an app, with an option for each field of its settings.

    Its help has the paragraphs of the function's docstring, and the examples, which are command lines.
    """

    def add(function: F) -> F:
        called = _flatten(function, examples)
        app.command(
            function.__name__.rstrip("_"),
            cls=Command,
            context_settings={"allow_extra_args": True},  # which `Command` refuses in our words
            help=called.texts.text(is_short=False),  # type: ignore[attr-defined]
            short_help=called.texts.summary,  # type: ignore[attr-defined]
        )(called)
        return function

    return add


def leaves_of(command: Any) -> list[Leaf]:
    """Return the options of a command that are fields of settings and have a flag."""
    return [leaf for leaf in settings_of(command) if has_flag(leaf, command.name)]


def settings_of(command: Any) -> list[Leaf]:
    """Return the options of a command that are fields of settings, with those that have no flag."""
    return getattr(command.callback, "leaves", [])


def default_of(leaf: Leaf) -> str:
    """Return the default of an option in words; empty if there is none to show."""
    default, text = leaf.default, leaf.option.default_text
    if isinstance(default, bool):
        has_two_flags = "/" in leaf.flags[0]
        return text or (leaf.flags[0].split("/")[not default].removeprefix("--") if has_two_flags else "")
    is_number = isinstance(default, int | float) and not leaf.option.parse
    if default in (MISSING, None) or item_of(leaf.kind) or (text and not is_number):
        return text
    return str(default)


def metavar_of(leaf: Leaf) -> str:
    """Return what an option takes: a placeholder, or its choices."""
    kind = item_of(leaf.kind) or required(leaf.kind)
    return leaf.option.metavar or "|".join(leaf.choices) or _METAVARS.get(kind, "TEXT")


def range_of(leaf: Leaf) -> str:
    """Return the range of a number, such as `>= 1`."""
    return "" if leaf.option.parse else leaf.option.words(as_signs=True)


def _flatten(function: Callable[..., Any], examples: tuple[str, ...]) -> Callable[..., None]:
    """Return the function with a parameter for each option, as Typer reads it.

    It has the options as `leaves`, and the texts of its help as `texts`.
    """
    hints = inspect.get_annotations(function)
    returns = hints.pop("return", None)
    groups = {name: [*_leaves(hint)] for name, hint in hints.items()}
    all_leaves = [leaf for group in groups.values() for leaf in group]
    is_offered = partial(has_flag, command=function.__name__.rstrip("_"))
    flags = sorted(filter(is_offered, all_leaves), key=_place(all_leaves))

    def call(ctx: typer.Context, **words: Any) -> None:
        command, sources = command_of(ctx), dict[str, Source]()
        try:
            typed = {leaf.parameter: words.pop(_name(leaf)) for leaf in flags}
            sources = typed_sources(command, all_leaves, typed)
            try:
                sources = find_sources(ctx, all_leaves, sources)
            finally:  # a name that is wrong may be why a value is missing
                _name_unknown_variables(ctx, all_leaves, sources)
            is_offline()  # refuses a wrong value even where nothing asks for it
            values = {leaf.name: value_of(leaf, sources) for leaf in all_leaves if is_set(leaf, sources)}
            read = [(leaf.name, values.get(leaf.name)) for leaf in all_leaves if not leaf.option.writes]
            arguments = {
                name: _argument(hints[name], group, words.get(name), values) for name, group in groups.items()
            }
            explain = OptionNames.of(command, all_leaves, sources).explain
            common = replace(arguments["common"], explain=explain, reads=files_read(read))
            arguments["common"] = common
            if returns is Reply:
                run_alone(command, common, partial(function, **arguments))
            else:
                function(**arguments)
        except VidsumError as error:
            OptionNames.of(command, all_leaves, sources).explain(error)
            raise

    parameters = [*_parameters(function, flags)]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    call.leaves = all_leaves  # type: ignore[attr-defined]
    call.texts = _help_of(function, examples, flags)  # type: ignore[attr-defined]
    return call


def _parameters(function: Callable[..., Any], flags: Iterable[Leaf]) -> Iterator[inspect.Parameter]:
    """Yield the parameters that Typer reads: the arguments of a command and its options."""
    make = partial(inspect.Parameter, kind=inspect.Parameter.KEYWORD_ONLY)
    yield make("ctx", annotation=typer.Context)
    for name, argument in _arguments(function).items():
        info = copy(argument)
        info.hidden = True  # the text of the help explains it
        yield make(name, default=info, annotation=inspect.get_annotations(function)[name].__origin__)
    for leaf in flags:
        yield make(_name(leaf), default=_option(leaf), annotation=_type(leaf))
    yield make("help_all", default=HELP_ALL, annotation=bool)


def _name_unknown_variables(
    ctx: typer.Context, leaves: Sequence[Leaf], sources: Mapping[str, Source]
) -> None:
    """Warn of variables that nothing reads, unless the command is quiet."""
    is_quiet = False
    with suppress(UsageError):
        is_quiet = any(value_of(leaf, sources) for leaf in leaves if leaf.name == "quiet")
    if ctx.obj and not is_quiet:
        for line in describe_unknown_variables(ctx):
            print(f"warning: {line}", file=sys.stderr)


def _argument(hint: Any, group: Sequence[Leaf], word: Any, values: Mapping[str, Any]) -> Any:
    """Return settings, chosen values by name, or the words of the command line."""
    kind, chosen = _kind(hint), {leaf.name: values[leaf.name] for leaf in group if leaf.name in values}
    if group:
        return build(kind, chosen) if kind else chosen
    return [] if word is None and get_origin(hint.__origin__) is list else word


def _name(leaf: Leaf) -> str:
    return f"{leaf.parameter}_" if iskeyword(leaf.parameter) else leaf.parameter


def _type(leaf: Leaf) -> Any:
    """Return the type that Typer reads: texts, which `Leaf.read` turns into values; or a switch.

    Typer would drop all texts but the last of an option that has one value.
    """
    return bool if required(leaf.kind) is bool else list[str]


def _option(leaf: Leaf) -> Any:
    default = f"default: {words}" if (words := default_of(leaf)) else ""
    notes = "; ".join(filter(None, [range_of(leaf), default, "required" * (leaf.default is MISSING)]))
    again = "..." if item_of(leaf.kind) else ""
    return typer.Option(
        None,
        *leaf.flags,
        help=escape(f"{leaf.text} [{notes}]" if notes else leaf.text),
        metavar=metavar_of(leaf) + again,
        show_default=False,
        rich_help_panel=leaf.option.panel or None,
        autocompletion=complete(leaf.choices or leaf.option.names),
    )


def complete(names: Iterable[str] | Callable[[], Iterable[str]]) -> Callable[[str], list[str]] | None:
    """Return a function that completes a word; where no name fits, a shell offers files."""

    def items(incomplete: str) -> list[str]:
        return [name for name in (names() if callable(names) else names) if name.startswith(incomplete)]

    return items if names else None


def _place(leaves: Sequence[Leaf]) -> Callable[[Leaf], int]:
    """Return the key that sorts options by their panels: inputs first, advanced ones last."""
    panels = list(dict.fromkeys(leaf.option.panel for leaf in leaves))
    ends = {_FIRST_PANEL: -1, **{panel: len(panels) + i for i, panel in enumerate(LAST_PANELS)}}
    return lambda leaf: ends.get(leaf.option.panel, panels.index(leaf.option.panel))


def _arguments(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the Typer arguments of a function by the name of its parameter."""
    notes = {
        name: getattr(hint, "__metadata__", ()) for name, hint in inspect.get_annotations(function).items()
    }
    return {name: note[0] for name, note in notes.items() if note and isinstance(note[0], ArgumentInfo)}


def _help_of(function: Callable[..., Any], examples: tuple[str, ...], flags: Iterable[Leaf]) -> CommandHelp:
    """Return the help of a command: its docstring, its arguments and examples, and a sentence per option."""
    paragraphs = (inspect.getdoc(function) or "").split("\n\n")
    summary, *details = (" ".join(paragraph.splitlines()) for paragraph in paragraphs)
    arguments = _arguments(function).items()
    details += [f"{info.metavar or name.upper()}: {info.help}" for name, info in arguments]
    sentences = {_name(leaf): leaf.option.help for leaf in flags}
    return CommandHelp(summary, tuple(details), examples, sentences)


def _kind(annotation: Any) -> type[Any] | None:
    """Return the settings that a parameter takes; None where it takes chosen values or words."""
    kind = annotation.__origin__ if get_origin(annotation) is Annotated else annotation
    return kind if is_dataclass(kind) and isinstance(kind, type) else None


def _leaves(annotation: Any) -> Iterator[Leaf]:
    """Yield the options of a parameter; none where it is no settings."""
    notes = {type(note): note for note in getattr(annotation, "__metadata__", ())}
    chosen = notes.get(Chosen)
    kind = chosen.kind if chosen else _kind(annotation)
    for leaf in leaves(kind) if kind else ():
        if leaf.name in notes.get(Without, ()) or leaf.name not in notes.get(Only, (leaf.name,)):
            continue
        if Flags in notes and leaf.name not in notes[Flags]:
            leaf = replace(leaf, option=replace(leaf.option, flag_on=()))
        if Under in notes and leaf.option.panel != ADVANCED:
            leaf = replace(leaf, option=replace(leaf.option, panel=notes[Under]))
        if chosen and leaf.name in chosen.preset_names and not leaf.option.default_text:
            leaf = replace(leaf, default=None, option=replace(leaf.option, default_text="the preset's"))
        yield leaf
