"""From settings to flags: a command's parameters that are settings become options, one for each field.

    @command
    def shots(sources: Sources, outputs: Outputs, shots: ShotSettings, view: View) -> None: ...

The command gets the settings, made of what was given on the command line, in the environment or in a
`--config` file. `Annotated[Mapping[str, Any], Given(MRNetSettings)]` gets only what was given, by name; a
preset has the rest.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import click

from vidsum.commands import jobs, paths
from vidsum.commands.completion import Names, offers
from vidsum.commands.config import files_in_force, use_config, warn_of_unknown_variables, with_origin
from vidsum.commands.result import View, start_log
from vidsum.commands.values import METAVARS, help_of, type_of
from vidsum.errors import UsageError
from vidsum.names import guess
from vidsum.options import ADVANCED, Leaf, build, choices_of, item_of, leaves, required

_FIRST_PANEL = "Inputs"
_LAST_PANELS = ("Reading and features", "Messages", ADVANCED)
"""The panel that begins the help of a command, and those that end it, in this order."""
_MAX_WIDTH = 120
_MAX_FLAGS = 19
"""Characters of a line of help, and of the flags before its text."""


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


@dataclass(frozen=True)
class Only:
    """Fields of settings that a command offers; the others keep their defaults."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Without:
    """Fields of settings that a command does not offer."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Under:
    """The panel of a command's help that has all options of some settings."""

    panel: str


@dataclass(frozen=True)
class Given:
    """What was given of settings: a mapping by name, without defaults."""

    kind: type[Any]
    of_preset: tuple[str, ...] = ()
    """Names whose default is a preset's."""


class Flag(click.Option):
    """The option of a field."""

    def __init__(self, leaf: Leaf) -> None:
        self.leaf, self.panel, item = leaf, leaf.option.panel or "Options", item_of(leaf.kind)
        kind = item or required(leaf.kind)
        self.choices = () if leaf.option.parse else leaf.option.choices or choices_of(kind)
        metavar = leaf.option.metavar or (None if self.choices else METAVARS.get(kind, "TEXT"))
        super().__init__(
            [*leaf.flags, leaf.parameter],
            type=type_of(kind, leaf, self.choices),
            is_flag=kind is bool or None,  # False would let an option stand without its value
            multiple=bool(item),
            required=leaf.default is MISSING,
            help=help_of(leaf.option),
            metavar=metavar,
            shell_complete=None if self.choices else offers(metavar or "", leaf.option.names),
        )

    def value(self, given: Any) -> Any:
        """What the field holds where the command line has `given`."""
        if self.multiple:
            return tuple(map(self._one, given))
        return not given if self.leaf.is_inverted else self._one(given)

    def _one(self, given: Any) -> Any:
        option = self.leaf.option
        parsed = option.parse(given) if option.parse and given is not None else given
        if isinstance(parsed, int | float) and not option.hold(parsed):
            raise UsageError(f"{self.leaf.flags[0]} must be {option.words()}, not {given}")
        return parsed

    @property
    def range(self) -> str:
        """The range of a number, in signs."""
        limits = {">=": getattr(self.type, "min", None), "<=": getattr(self.type, "max", None)}
        return " ".join(f"{sign} {limit:g}" for sign, limit in limits.items() if limit is not None)

    @property
    def default_in_words(self) -> str:
        """What holds if the option is not given; empty where that is nothing."""
        default, option = self.leaf.default, self.leaf.option
        is_number = isinstance(default, int | float) and not option.parse
        if isinstance(default, bool):
            on_or_off = [*self.secondary_opts, self.opts[0]][default] if self.secondary_opts else ""
            return option.shown or on_or_off.removeprefix("--")
        if default is MISSING:
            return ""
        if self.multiple or default is None or (option.shown and not is_number):
            return option.shown
        return str(default)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Flags with what they take, and help with range and default."""
        takes = "" if self.is_flag else " " + (self.metavar or "|".join(self.choices))
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
            type=type_of(get_args(kind)[0] if several else required(kind)),
            required=argument.required,
            metavar=metavar,
            shell_complete=offers(metavar, argument.names or ()),
        )
        self.help = argument.help

    def make_metavar(self, *context: click.Context) -> str:
        """The words as the line of usage has them."""
        words = str(self.metavar)
        again = "..." if self.nargs < 0 and " " not in words else ""
        return f"{words}{again}" if self.required else f"[{words}]{again}"


class Command(click.Command):
    """A function as a command, with an option for each field of the settings among its parameters."""

    def __init__(self, function: Callable[..., None]) -> None:
        self.with_settings = function  # for workers
        self._annotations = {
            name: parameter.annotation for name, parameter in inspect.signature(function).parameters.items()
        }
        self._groups = {name: list(_flags(each)) for name, each in self._annotations.items()}
        params: list[Any] = []
        for name, each in self._annotations.items():
            is_word = get_origin(each) is Annotated and isinstance(each.__metadata__[0], Argument)
            params += [Words(name, each.__origin__, each.__metadata__[0])] if is_word else self._groups[name]
        super().__init__(
            function.__name__,
            params=[*params, _config()],
            help=_with_examples(inspect.getdoc(function) or ""),
            short_help=(inspect.getdoc(function) or "").partition("\n\n")[0],
            context_settings={"max_content_width": _MAX_WIDTH},
        )

    def invoke(self, ctx: click.Context) -> None:
        """Call the function with the settings that were chosen."""
        try:
            self._call(ctx)
        except UsageError as error:
            raise with_origin(error) from error

    def _call(self, ctx: click.Context) -> None:
        flags = {flag.name: flag for group in self._groups.values() for flag in group}
        read = [
            (flags[name].opts[0] if name in flags else "", value)
            for name, value in ctx.params.items()
            if name != "config" and not (name in flags and flags[name].leaf.option.writes)
        ]
        paths.begin([*read, *(("--config", file) for file in files_in_force())])
        arguments = {name: self._argument(ctx, name) for name in self._annotations}
        for view in (value for value in arguments.values() if isinstance(value, View)):
            if view.log_file:
                start_log(view.log_file)
            if not view.quiet:
                warn_of_unknown_variables(ctx)
        jobs.begin({name: value if self._groups[name] else [] for name, value in arguments.items()})
        self.with_settings(**arguments)

    def _argument(self, ctx: click.Context, name: str) -> Any:
        """What the function gets for a parameter."""
        if not self._groups[name]:
            value = ctx.params[name]
            return list(value) if isinstance(value, tuple) else value
        given = [flag for flag in self._groups[name] if _is_given(ctx, flag)]
        chosen = {flag.leaf.name: flag.value(ctx.params[str(flag.name)]) for flag in given}
        kind = _kind(self._annotations[name])
        return build(kind, chosen) if kind else chosen

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words; a flag that may stand without its value gets the one that it means then."""
        flags = [flag for group in self._groups.values() for flag in group]
        alone = {flag.opts[0]: flag for flag in flags if flag.leaf.option.alone is not None}
        words = [
            f"{word}={alone[word].leaf.option.alone}"
            if word in alone and not _is_value(after, alone[word].choices)
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
        """The command that the first word names, and the words after it."""
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not (name.startswith("-") or ctx.resilient_parsing):
            fault = f"`{ctx.command_path}` has no command {name!r}{guess(name, known)}"
            raise UsageError(fault, hint=f"{ctx.command_path} --help")
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words; without any, print the help and leave."""
        if not (args or ctx.resilient_parsing):
            click.echo(ctx.get_help(), err=True)
            ctx.exit(UsageError.exit_code)
        return super().parse_args(ctx, args)


def _is_value(word: str, choices: Sequence[str]) -> bool:
    """Whether a word after a flag is its value: one of its choices, or neither a flag nor a file."""
    return word in choices if choices else word[:1] not in ("", "-") and not paths.is_file(word)


def _with_examples(text: str) -> str:
    """A help text whose command lines stand together at its end, one per line."""
    paragraphs = text.split("\n\n")
    examples = [paragraph for paragraph in paragraphs if paragraph.startswith("vidsum ")]
    prose = [" ".join(paragraph.splitlines()) for paragraph in paragraphs if paragraph not in examples]
    kept = "\b\nExamples:\n" + "\n".join(f"  {example}" for example in examples)  # \b keeps its lines
    return "\n\n".join([*prose, *([kept] if examples else [])])


def _kind(annotation: Any) -> type[Any] | None:
    """The settings that a parameter takes; None where it takes what was given of them."""
    kind = annotation.__origin__ if get_origin(annotation) is Annotated else annotation
    return kind if is_dataclass(kind) and isinstance(kind, type) else None


def _flags(annotation: Any) -> Iterator[Flag]:
    """The options of a parameter; none where it is no settings."""
    notes = {type(note): note for note in getattr(annotation, "__metadata__", ())}
    given = notes.get(Given)
    kind = given.kind if given else _kind(annotation)
    for leaf in leaves(kind) if kind else ():
        if leaf.name in getattr(notes.get(Without), "names", ()):
            continue
        if Only in notes and leaf.name not in notes[Only].names:
            continue
        if Under in notes:
            leaf = replace(leaf, option=replace(leaf.option, panel=notes[Under].panel))
        if given and leaf.name in given.of_preset and not leaf.option.shown:
            leaf = replace(leaf, default=None, option=replace(leaf.option, shown="the preset's"))
        yield Flag(leaf)


def _is_given(ctx: click.Context, flag: Flag) -> bool:
    """Whether a flag, a variable or a file sets an option; null in a file does not."""
    source = ctx.get_parameter_source(str(flag.name))
    is_set = source not in (None, click.core.ParameterSource.DEFAULT)
    return is_set and ctx.params[str(flag.name)] is not None


def _config() -> click.Option:
    option = click.Option(
        ["--config"],
        type=click.Path(path_type=Path),
        help="YAML file with defaults for options.",
        metavar="FILE",
        callback=use_config,
        is_eager=True,
        envvar="VIDSUM_CONFIG",
    )
    option.panel = ADVANCED  # type: ignore[attr-defined]
    return option
