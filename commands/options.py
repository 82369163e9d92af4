"""From settings to flags: a command's parameters that are settings become options, one for each field.

    @command
    def shots(sources: Sources, outputs: Outputs, shots: ShotSettings, view: View) -> None: ...

The command gets the settings, made of what was given on the command line, in the environment or in a
`--config` file. `Annotated[Mapping[str, Any], Given(MRNetSettings)]` gets only what was given, by name; a
preset has the rest.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, is_dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, get_origin

import typer

from vidsum.commands import paths
from vidsum.commands.config import files_in_force, use_config, warn_of_unknown_variables
from vidsum.commands.log import start_log
from vidsum.errors import UsageError
from vidsum.options import ADVANCED, Leaf, Option, build, choices_of, item_of, leaves, option, required
from vidsum.times import parse_time

arguments_in_force: dict[str, Any] = {}
"""Of the command that runs in this process, without inputs: see `vidsum.commands.assignment.Call`."""


def inputs_argument(help: str, metavar: str) -> Any:
    """The inputs of a batch on the command line; there may be none, where `--from-file` names them."""
    return typer.Argument(default_factory=list, help=help, show_default=False, metavar=metavar)


Sources = Annotated[
    list[str],
    inputs_argument("Videos, folders of videos, or feature files (.npz, .h5).", "VIDEO|FOLDER|FEATURES"),
]
Videos = Annotated[list[str], inputs_argument("Videos, or folders of videos.", "VIDEO|FOLDER")]


Pad = Annotated[
    float,
    Option(
        "Start each of --clips this much earlier and end it this much later, within the video, e.g. 2s.",
        min=0,
        flags=("--pad",),
        metavar="TIME",
        parse=parse_time,
    ),
]


@dataclass(frozen=True)
class View:
    """How much to print, and in which form."""

    PANEL = "Messages"

    json: bool = option("Print one JSON object per input to stdout.", False)
    quiet: bool = option("Print errors only.", False, flags=("--quiet", "-q"))
    verbose: bool = option("Show tracebacks of internal errors.", False, flags=("--verbose", "-v"))
    no_color: bool = option("No colours, as with the variable NO_COLOR.", False)
    log_file: Path | None = option(
        "Also append steps, results, warnings and errors to this file.", None, metavar="FILE", writes=True
    )


Replaces = Literal["none", "outdated", "all"]
"""Which outputs that exist a command replaces; outdated are those that vidsum made from something else."""


@dataclass(frozen=True)
class Outputs:
    """Where the results of a batch go."""

    PANEL = "Output"

    output: str | None = option(
        "Output file or template ({stem}, {parent}, {n}); - for stdout.",
        None,
        flags=("--output", "-o"),
        shown="named after the input",
        metavar="FILE",
        writes=True,
    )
    output_dir: Path | None = option("Folder for the outputs.", None, shown="the current folder")
    overwrite: bool = option("Replace existing outputs.", False)
    update: bool = option("Remake outputs whose input or options changed; keep the others.", False)
    skip_existing: bool = option("Skip inputs whose outputs exist, even if outdated.", False)
    fail_fast: bool = option("Stop a batch at the first bad input.", False, panel=ADVANCED)

    def __post_init__(self) -> None:
        only_one = {
            "--update": self.update,
            "--skip-existing": self.skip_existing,
            "--overwrite": self.overwrite,
            "-o -": self.to_stdout and not self.overwrite,
        }
        chosen = [option for option, is_chosen in only_one.items() if is_chosen]
        if len(chosen) > 1:
            raise UsageError(f"{chosen[0]} and {chosen[1]} exclude each other")

    @property
    def replaces(self) -> "Replaces":
        """Which of the outputs that exist are replaced."""
        return "all" if self.overwrite else "outdated" if self.update else "none"

    @property
    def to_stdout(self) -> bool:
        """Whether the document goes to stdout, and no file is written."""
        return self.output == "-"

    @property
    def is_template(self) -> bool:
        """Whether `--output` names several files, with fields in braces."""
        return self.output is not None and ("{" in self.output or "}" in self.output)

    @property
    def makes_folders(self) -> bool:
        """Whether missing folders are made: without `--output`, and where it is a template."""
        return self.output is None or self.is_template


@dataclass(frozen=True)
class Only:
    """Fields of settings that a command offers; the others keep their defaults."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Without:
    """Fields of settings that a command does not offer."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Given:
    """What was given of settings: a mapping by name, without defaults."""

    kind: type[Any]
    of_preset: tuple[str, ...] = ()
    """Names whose default is a preset's."""


def command(function: Callable[..., None]) -> Callable[..., None]:
    """A function for typer, with an option for each field of the settings among its parameters."""
    own = list(inspect.signature(function).parameters.values())
    groups = {parameter.name: list(_leaves(parameter.annotation)) for parameter in own}

    outputs = {leaf.parameter for group in groups.values() for leaf in group if leaf.option.writes}

    def run(context: typer.Context, config: Path | None, **values: Any) -> None:
        read = [(_named(name, groups), value) for name, value in values.items() if name not in outputs]
        paths.begin([*read, *(("--config", file) for file in files_in_force())])
        arguments = {}
        for parameter in own:
            if not (group := groups[parameter.name]):
                arguments[parameter.name] = values[parameter.name]
                continue
            given = [leaf for leaf in group if _is_given(context, leaf)]
            chosen = {leaf.name: _value(leaf, values[leaf.parameter]) for leaf in given}
            kind = _kind(parameter.annotation)
            arguments[parameter.name] = build(kind, chosen) if kind else chosen
        for view in (value for value in arguments.values() if isinstance(value, View)):
            _begin(context, view)
        arguments_in_force.clear()
        arguments_in_force.update((name, value if groups[name] else []) for name, value in arguments.items())
        function(**arguments)

    parameters = [inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    for parameter in own:
        group = groups[parameter.name]
        parameters += (
            map(_parameter, group) if group else [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)]
        )
    parameters.append(_CONFIG)
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.with_settings = function  # type: ignore[attr-defined]  # for workers
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__name__, run.__doc__ = function.__name__, _with_examples(inspect.getdoc(function) or "")
    return run


def _named(parameter: str, groups: Mapping[str, Sequence[Leaf]]) -> str:
    """The flag of a parameter of the command line; an argument has none."""
    leaf = next((leaf for group in groups.values() for leaf in group if leaf.parameter == parameter), None)
    return leaf.flags[0] if leaf else ""


def _begin(context: typer.Context, view: View) -> None:
    """What a command does first."""
    if view.log_file:
        start_log(view.log_file)
    if not view.quiet:
        warn_of_unknown_variables(context)


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


def _leaves(annotation: Any) -> Iterator[Leaf]:
    """The options of a parameter; none where it is no settings."""
    notes = annotation.__metadata__ if get_origin(annotation) is Annotated else ()
    given = next((note for note in notes if isinstance(note, Given)), None)
    kind = given.kind if given else _kind(annotation)
    if kind is None:
        return
    only = next((note.names for note in notes if isinstance(note, Only)), None)
    without = next((note.names for note in notes if isinstance(note, Without)), ())
    for leaf in leaves(kind):
        if leaf.name in without or (only is not None and leaf.name not in only):
            continue
        if given and leaf.name in given.of_preset and not leaf.option.shown:
            leaf = replace(leaf, default=None, option=replace(leaf.option, shown="the preset's"))
        yield leaf


def _parameter(leaf: Leaf) -> inspect.Parameter:
    """What typer makes a flag of."""
    option, item = leaf.option, item_of(leaf.kind)
    base = _base(leaf, item or required(leaf.kind))
    is_number = base in (int, float)
    default = leaf.default
    if item and default is not MISSING:
        default = None  # typer's own for a list
    elif leaf.is_inverted:
        default = False
    elif option.shown and not is_number and base is not bool:
        default = None
    annotation: Any = list[base] if item else base  # type: ignore[valid-type]
    words = option.shown if default is None or not is_number else ""
    info = typer.Option(
        *leaf.flags,
        help=_help(option),
        min=option.min if is_number else None,
        max=option.max if is_number else None,
        metavar=_METAVARS.get(base) if option.metavar is None else option.metavar,
        rich_help_panel=option.panel or None,
        show_default=words or default not in (None, MISSING),
        show_envvar=False,
    )
    return inspect.Parameter(
        leaf.parameter,
        inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[annotation | None if default is None else annotation, info, option],
        default=inspect.Parameter.empty if default is MISSING else default,
    )


def _help(option: Option) -> str:
    """The help with the range, where typer cannot show it."""
    has_open_end = (option.above is not None or option.below is not None) and not option.parse
    return f"{option.help.removesuffix('.')} ({option.words()})." if has_open_end else option.help


_METAVARS = {bool: "", int: "N", float: "NUMBER", str: "TEXT", Path: "PATH"}
"""What stands for a value in `--help`; choices are listed."""


def _base(leaf: Leaf, kind: Any) -> Any:
    """The type of one value on the command line."""
    if leaf.option.parse:
        return str
    if choices := leaf.option.choices or choices_of(kind):
        return Enum(leaf.name, {choice: choice for choice in choices}, type=str)
    return kind if kind in (bool, int, float, str, Path) else str


def _is_given(context: typer.Context, leaf: Leaf) -> bool:
    """Whether a flag, a variable or a file sets an option; null in a file does not."""
    source = context.get_parameter_source(leaf.parameter)
    return source is not None and source.name != "DEFAULT" and context.params[leaf.parameter] is not None


def _value(leaf: Leaf, value: Any) -> Any:
    """What the field holds where the command line has `value`."""
    if item_of(leaf.kind):
        return tuple(_item(leaf.option, each) for each in value or ())
    if leaf.is_inverted:
        return not value
    return _item(leaf.option, value)


def _item(option: Option, value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    return option.parse(value) if option.parse and value is not None else value


_CONFIG = inspect.Parameter(
    "config",
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[
        Path | None,
        typer.Option(
            "--config",
            help="YAML file with defaults for options.",
            show_default=False,
            metavar="FILE",
            callback=use_config,
            is_eager=True,
            rich_help_panel=View.PANEL,
            envvar="VIDSUM_CONFIG",
            show_envvar=False,
        ),
    ],
)
