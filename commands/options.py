"""From settings to flags: a command's parameters that are settings become options, one for each field.

    @command
    def shots(sources: Sources, outputs: Outputs, shots: ShotSettings, view: View) -> None: ...

The command gets the settings, made of what was given on the command line, in the environment or in a
`--config` file. `Annotated[Mapping[str, Any], Given(MRNetSettings)]` gets only what was given, by name; a
preset has the rest.
"""

import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import MISSING, dataclass, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from vidsum.commands import jobs, paths
from vidsum.commands.config import files_in_force, use_config, warn_of_unknown_variables, with_origin
from vidsum.commands.result import start_log
from vidsum.errors import UsageError, did_you_mean
from vidsum.options import ADVANCED, Leaf, build, item_of, leaves, required

_FIRST_PANEL, _LAST_PANELS = "Inputs", ("Reading and features", ADVANCED)
"""The panel that begins the help of a command, and those that end it, in this order."""
_MAX_WIDTH, _MAX_FLAGS = 120, 19
"""Characters of a line of help, and of the flags before its text."""
_METAVARS = {bool: "", int: "N", float: "NUMBER", Path: "PATH"}
"""What stands for a value in `--help`; choices are listed."""
_FILES = re.compile("FILE|FOLDER|PATH|VIDEO|PICTURE|RESULT|GLOB|MODEL")
"""In a metavar: the word names a file."""

Names = Callable[[click.Context], Iterable[str]]
"""The names that a word of a command line may be."""


@dataclass(frozen=True)
class Argument:
    """A word of the command line, or all where the parameter is a list."""

    help: str
    metavar: str | None = None
    required: bool = False
    names: Names | None = None
    """The names that it may be, for a shell to offer."""


Sources = Annotated[
    list[str], Argument("Videos, folders of videos, or feature files (.npz, .h5).", "VIDEO|FOLDER|FEATURES")
]
Videos = Annotated[list[str], Argument("Videos, or folders of videos.", "VIDEO|FOLDER")]


class Only(tuple[str, ...]):
    """Fields of settings that a command offers; the others keep their defaults."""


class Without(tuple[str, ...]):
    """Fields of settings that a command does not offer."""


class Under(str):
    """The panel of a command's help that has all options of some settings."""


@dataclass(frozen=True)
class Given:
    """What was given of settings: a mapping by name, without defaults."""

    kind: type[Any]
    of_preset: tuple[str, ...] = ()
    """Names whose default is a preset's."""


class Value(click.types.BoolParamType):  # of click's types the one that `--on/--off` may have
    """What a field holds, or one of what it holds."""

    def __init__(self, leaf: Leaf) -> None:
        self._leaf, self.kind = leaf, item_of(leaf.kind) or required(leaf.kind)
        is_plain = self.kind in _METAVARS and not leaf.option.parse
        self.name = "choice" if leaf.choices else self.kind.__name__ if is_plain else "str"
        self.min, self.max = (leaf.option.min, leaf.option.max) if is_plain else (None, None)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value of a text, or of what YAML has in its place. Raises UsageError: it is not
        allowed.
        """
        try:
            if isinstance(value, list | dict) or (isinstance(value, bool) and self.kind is not bool):
                raise UsageError(f"{self._leaf.flags[0]} takes a single value")
            return self._leaf.read(str(value))
        except UsageError as error:
            error.option = self._leaf.name
            error.hint = error.hint or (f"{ctx.command_path} --help" if ctx else None)
            raise with_origin(error, ctx) from error

    def split_envvar_value(self, rv: str) -> Sequence[str]:
        """Return the texts of a variable: several paths, numbers or choices; else one, spaces and all."""
        return [rv] if self.name == "str" else rv.split(os.pathsep if self.kind is Path else None)


def _offers(metavar: str, names: Names | Sequence[str]) -> Callable[..., list[Any]] | None:
    """What click asks for the words to offer: the names that fit, and files where the metavar has them."""
    if not (names or _FILES.search(metavar)):
        return None  # click knows

    def items(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
        known = names(ctx) if callable(names) else names
        fitting = [CompletionItem(each) for each in known if each.startswith(incomplete)]
        return [*fitting, *([CompletionItem(incomplete, type="file")] if _FILES.search(metavar) else [])]

    return items


class Flag(click.Option):
    """The option of a field."""

    def __init__(self, leaf: Leaf) -> None:
        self.leaf, self.panel, self.value = leaf, leaf.option.panel or "Options", Value(leaf)
        option, kind = leaf.option, self.value.kind
        has_open_end = (option.above is not None or option.below is not None) and not option.parse
        metavar = option.metavar or (None if leaf.choices else _METAVARS.get(kind, "TEXT"))
        super().__init__(
            [*leaf.flags, leaf.parameter],
            type=self.value,
            is_flag=kind is bool or None,  # False would let an option stand without its value
            multiple=item_of(leaf.kind) is not None,
            required=leaf.default is MISSING,
            help=f"{option.help.removesuffix('.')} ({option.words()})." if has_open_end else option.help,
            metavar=metavar,
            shell_complete=_offers(metavar or "", leaf.choices or option.names),
        )

    @property
    def range(self) -> str:
        """The range of a number, in signs."""
        limits = (">=", self.value.min), ("<=", self.value.max)
        return " ".join(f"{sign} {limit:g}" for sign, limit in limits if limit is not None)

    @property
    def default_in_words(self) -> str:
        """What holds if the option is not given; empty where that is nothing."""
        default, option = self.leaf.default, self.leaf.option
        is_number = isinstance(default, int | float) and not option.parse
        if isinstance(default, bool):
            on_or_off = [*self.secondary_opts, self.opts[0]][default] if self.secondary_opts else ""
            return option.default_text or on_or_off.removeprefix("--")
        if default is MISSING or self.multiple or default is None or (option.default_text and not is_number):
            return option.default_text
        return str(default)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Flags with what they take, and help with range and default."""
        takes = "" if self.is_flag else " " + (self.metavar or "|".join(self.leaf.choices))
        notes = [self.range, f"default: {words}" if (words := self.default_in_words) else ""]
        told, text = "; ".join(filter(None, notes)), str(self.help).removesuffix(" Can be repeated.")
        long = next(flag for flag in self.opts if flag.startswith("--"))
        short = [flag for flag in self.opts if not flag.startswith("--")]
        flags = "/".join([", ".join([*short, long]), *self.secondary_opts])
        again = "..." if self.multiple else ""
        return f"{flags}{takes}{again}", f"{text} [{told}]" if told else text


class Words(click.Argument):
    """One or all words of the command line that are no options."""

    panel = _FIRST_PANEL

    def __init__(self, name: str, kind: Any, argument: Argument) -> None:
        several, metavar = get_origin(kind) is list, argument.metavar or name.upper()
        super().__init__(
            [name],
            nargs=-1 if several else 1,
            type=click.Path(path_type=Path) if Path in (kind, *get_args(kind)) else str,
            required=argument.required,
            metavar=metavar,
            shell_complete=_offers(metavar, argument.names or ()),
        )
        self.help = argument.help

    def make_metavar(self, *context: click.Context) -> str:
        """Return the words as the line of usage has them."""
        words = str(self.metavar)
        again = "..." if self.nargs < 0 and " " not in words else ""
        return f"{words}{again}" if self.required else f"[{words}]{again}"


class Command(click.Command):
    """A function as a command, with an option for each field of the settings among its parameters."""

    def __init__(self, function: Callable[..., None]) -> None:
        self.with_settings = function  # for workers
        self._annotations: dict[str, Any] = inspect.get_annotations(function)
        self._annotations.pop("return", None)
        self._groups = {name: list(_flags(each)) for name, each in self._annotations.items()}
        self._flags = [flag for group in self._groups.values() for flag in group]
        params: list[Any] = []
        for name, each in self._annotations.items():
            params += self._groups[name] or [Words(name, each.__origin__, each.__metadata__[0])]
        config = click.Option(
            ["--config"],
            type=click.Path(path_type=Path),
            help="YAML file with defaults for options.",
            metavar="FILE",
            callback=use_config,
            is_eager=True,
            envvar="VIDSUM_CONFIG",
        )
        super().__init__(
            function.__name__,
            params=[*params, config],
            help=_with_examples(inspect.getdoc(function) or ""),
            short_help=(inspect.getdoc(function) or "").partition("\n\n")[0],
            context_settings={"max_content_width": _MAX_WIDTH},
        )

    def invoke(self, ctx: click.Context) -> None:
        """Call the function with the settings that were chosen."""
        words = [("", ctx.params[name]) for name, flags in self._groups.items() if not flags]
        read = [
            (each.opts[0], ctx.params[str(each.name)]) for each in self._flags if not each.leaf.option.writes
        ]
        paths.begin([*words, *read, *(("--config", file) for file in files_in_force())])
        try:
            arguments = {name: self._argument(ctx, name) for name in self._annotations}
            view = arguments["view"]
            if view.log_file:
                start_log(view.log_file)
            if not view.quiet:
                warn_of_unknown_variables(ctx)
            jobs.begin({name: value if self._groups[name] else [] for name, value in arguments.items()})
            self.with_settings(**arguments)
        except UsageError as error:
            raise with_origin(error, ctx) from error

    def _argument(self, ctx: click.Context, name: str) -> Any:
        """What the function gets for a parameter."""
        if not self._groups[name]:
            value = ctx.params[name]
            return list(value) if isinstance(value, tuple) else value
        chosen = {}
        for flag in self._groups[name]:
            value, source = ctx.params[str(flag.name)], ctx.get_parameter_source(str(flag.name))
            if source is not ParameterSource.DEFAULT:
                chosen[flag.leaf.name] = not value if flag.leaf.is_inverted else value
        kind = _kind(self._annotations[name])
        return build(kind, chosen) if kind else chosen

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words; a flag that may stand without its value gets the one that it means then."""
        alone = {flag.opts[0]: flag for flag in self._flags if flag.leaf.option.alone is not None}
        words = [
            f"{word}={alone[word].leaf.option.alone}"
            if word in alone and not _is_value(after, alone[word].leaf.choices)
            else word
            for word, after in zip(args, [*args, ""][1:], strict=True)
        ]
        try:
            return super().parse_args(ctx, words)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx  # so that it names the command
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print the options in their panels, the inputs first and the advanced ones last."""
        panels: dict[str, list[Any]] = {}
        for parameter in self.get_params(ctx):
            panels.setdefault(getattr(parameter, "panel", ADVANCED), []).append(parameter)
        place = {_FIRST_PANEL: -1, **{panel: place for place, panel in enumerate(_LAST_PANELS, 1)}}
        for panel in sorted(panels, key=lambda each: place.get(each, 0)):
            with formatter.section(panel):
                for words in (each for each in panels[panel] if isinstance(each, Words)):
                    formatter.write_text(str(words.help))
                options = [each for each in panels[panel] if isinstance(each, click.Option)]
                rows = [row for each in options if (row := each.get_help_record(ctx))]
                if rows:
                    formatter.write_dl(rows, col_max=_MAX_FLAGS)

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Print nothing: they are among the options."""


command = Command


class Group(click.Group):
    """A command of commands."""

    def __init__(self, name: str, help: str, **details: Any) -> None:
        super().__init__(name, help=help, short_help=help, **details)

    def add(self, function: Callable[..., None]) -> Command:
        """Add a command: decorates its function."""
        added = Command(function)
        self.add_command(added, str(added.name).removesuffix("_"))
        return added

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Return the command that the first word names, and the words after it."""
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not (name.startswith("-") or ctx.resilient_parsing):
            fault = f"`{ctx.command_path}` has no command {name!r}{did_you_mean(name, known)}"
            raise UsageError(fault, hint=f"{ctx.command_path} --help")
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words; without any, print the help and leave."""
        if not (args or ctx.resilient_parsing):
            click.echo(ctx.get_help(), err=True)
            ctx.exit(UsageError.exit_code)
        return super().parse_args(ctx, args)


def _is_value(word: str, choices: Sequence[str]) -> bool:
    """Return whether a word after a flag is its value: one of its choices, or neither a flag nor a file."""
    return word in choices if choices else word[:1] not in ("", "-") and not paths.is_file(word)


def _with_examples(text: str) -> str:
    """Return a help text whose command lines stand together at its end, one per line."""
    paragraphs = text.split("\n\n")
    examples = [paragraph for paragraph in paragraphs if paragraph.startswith("vidsum ")]
    prose = [" ".join(paragraph.splitlines()) for paragraph in paragraphs if paragraph not in examples]
    kept = "\b\nExamples:\n" + "\n".join(f"  {example}" for example in examples)  # \b keeps its lines
    return "\n\n".join([*prose, *([kept] if examples else [])])


def _kind(annotation: Any) -> type[Any] | None:
    """Return the settings that a parameter takes; None where it takes what was given of them."""
    kind = annotation.__origin__ if get_origin(annotation) is Annotated else annotation
    return kind if is_dataclass(kind) and isinstance(kind, type) else None


def _flags(annotation: Any) -> Iterator[Flag]:
    """Yield the options of a parameter; none where it is no settings."""
    notes = {type(note): note for note in getattr(annotation, "__metadata__", ())}
    given = notes.get(Given)
    kind = given.kind if given else _kind(annotation)
    for leaf in leaves(kind) if kind else ():
        if leaf.name in notes.get(Without, ()) or leaf.name not in notes.get(Only, (leaf.name,)):
            continue
        if Under in notes:
            leaf = replace(leaf, option=replace(leaf.option, panel=notes[Under]))
        if given and leaf.name in given.of_preset and not leaf.option.default_text:
            leaf = replace(leaf, default=None, option=replace(leaf.option, default_text="the preset's"))
        yield Flag(leaf)
