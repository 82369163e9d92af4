"""Values of options from flags, the environment and a file, and where each is from.

The first that has a value wins: a flag, a variable, the file of `--config` or VIDSUM_CONFIG, else of
`vidsum.yaml` in the user's configuration folder. vidsum looks for none next to the inputs: it could have come
with them.

A variable has the name of command and option, `VIDSUM_SUMMARIZE_BUDGET`. In a file, options stand under their
command. Options that many commands share (`SHARED`) need none: `VIDSUM_DEVICE`, or the top of the file:

    device: cpu
    summarize:
      budget: 20%
    train:
      fulltransnet:
        epochs: 100
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field
from pathlib import Path
from typing import Any

from platformdirs import user_config_path

from vidsum.errors import (
    EmptyResultError,
    ForeignFileError,
    InputError,
    Mention,
    MissingError,
    OutputError,
    Text,
    UsageError,
    VidsumError,
    WeightsError,
    did_you_mean,
    find_nearest,
    mentions,
    quote,
)
from vidsum.io.paths import OTHER_NAME, is_file
from vidsum.options import Leaf, item_of, required

NAME = "vidsum.yaml"
_SHARED_KEYS = ("device", "quiet", "verbose", "jobs", "archive")
SHARED = (*_SHARED_KEYS, "config", "offline", "home", "cache_limit")
"""Options whose variables name no command; the last four have no key in a file."""


def user_file() -> Path:
    """Return the file in the user's configuration folder, whether it exists or not."""
    return user_config_path("vidsum") / NAME


def config_file(path: Path | None) -> Path | None:
    """Return the file that sets defaults: `path`, else the user's, if it exists."""
    return path or (user_file() if is_file(user_file()) else None)


def variable_for(leaf: Leaf, command: str) -> str:
    """Return the variable that sets an option of a command such as `train mrnet`."""
    return "_".join(["VIDSUM", *command.split(), leaf.parameter]).upper()


def command_of(context: Any) -> str:
    """Return the command of a context of Typer, such as `train mrnet`."""
    return " ".join(context.command_path.split()[1:])


def has_flag(leaf: Leaf, command: str) -> bool:
    """Return whether an option of a command such as `train mrnet` has a flag."""
    return leaf.option.flag_on is None or command.split()[-1] in leaf.option.flag_on


_OTHER_FILE = "another file, or a whole copy of this one"
_REMEDIES: Mapping[type[VidsumError], Text] = {
    InputError: _OTHER_FILE,
    EmptyResultError: _OTHER_FILE,
    MissingError: _OTHER_FILE,
    ForeignFileError: _OTHER_FILE,
    WeightsError: "vidsum weights list",
    OutputError: OTHER_NAME,
}
"""Remedies by the class of an error; its subclasses do not count."""


@dataclass(frozen=True)
class Source:
    """The texts of an option as they were typed, or values as a file has them, and where they are from."""

    values: Any
    origin: str = ""  # a variable, or file and line; empty for a flag
    key: str = ""  # in a file


@dataclass(frozen=True)
class OptionNames:
    """Names of a command's options in messages: flags, or else the keys that set them, or variables."""

    command: str = ""  # such as `train mrnet`
    switches: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """By field: what sets an option or turns it on, and what turns it off."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """By field: the variable, or file and line, that sets an option."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """By field: the variable that names an option without a flag."""

    @classmethod
    def of(cls, command: str, leaves: Iterable[Leaf], sources: Mapping[str, Source]) -> "OptionNames":
        """Return the names of the options of a command, whose values are from `sources`."""
        keys = {name: source.key for name, source in sources.items()}
        switches = {leaf.name: _switches(leaf, command, keys.get(leaf.name, "")) for leaf in leaves}
        origins = {name: source.origin for name, source in sources.items() if source.origin}
        bare = {leaf.name: variable_for(leaf, command) for leaf in leaves if not has_flag(leaf, command)}
        return cls(command, switches, origins, bare)

    def name(self, mention: Mention) -> str:
        """Return an option in a message as its users know it: `--budget 20s` or `VIDSUM_GROUND_SPACE=vse`."""
        flag = f"--{mention.name.replace('_', '-')}"  # an option of other commands, perhaps
        on, off = self.switches.get(mention.name, (flag, f"--no-{flag[2:]}"))
        if mention.value is None or isinstance(mention.value, bool):
            return off if mention.value is False else on
        value = f"{mention.value:g}" if isinstance(mention.value, float) else str(mention.value)
        joint = " " if on.startswith("-") else "="
        return f'{on}{joint}"{value}"' if {" ", "{"} & {*value} else f"{on}{joint}{value}"

    def has(self, mention: Mention) -> bool:
        """Return whether the command has an option; where none are known, it may."""
        return not self.switches or mention.name in self.switches

    def explain(self, error: VidsumError) -> None:
        """Put an error into the words of the command's users.

        They have its options as flags, where their values are from, and a remedy if it names no better one.
        """
        mentioned = [mention.name for mention in mentions(error.text)]
        said = [self.variables.get(name) for name in mentioned]
        origins = [self.origins.get(name) for name in (error.option, *mentioned)]
        places = [origin for origin in dict.fromkeys(origins) if origin and origin not in said]
        remedy = f"vidsum {self.command} --help" if isinstance(error, UsageError) else None
        origin = f" (from {' and '.join(places)})" if places else ""
        error.name_options(self.name, origin, remedy or _REMEDIES.get(type(error)), self.has)


def _switches(leaf: Leaf, command: str, key: str) -> tuple[str, str]:
    """Return what sets an option or turns it on, and what turns it off."""
    if has_flag(leaf, command):
        on, _, off = leaf.flags[0].partition("/")
        return (off or on, on) if leaf.is_inverted else (on, off or on)
    name = key or variable_for(leaf, command)
    if required(leaf.kind) is not bool:
        return name, name
    switches = f"{name}=true", f"{name}=false"
    return switches[::-1] if leaf.is_inverted else switches


def typed_sources(command: str, leaves: Sequence[Leaf], typed: Mapping[str, Any]) -> dict[str, Source]:
    """Return the source of each option that a flag or a variable sets, by field.

    `typed` has the texts of flags by parameter. Raises UsageError: an option that has one value is given
    several.
    """
    set_by = {leaf.name: _flag_or_variable(leaf, command, typed.get(leaf.parameter)) for leaf in leaves}
    return {name: source for name, source in set_by.items() if source}


def find_sources(context: Any, leaves: Sequence[Leaf], sources: Mapping[str, Source]) -> dict[str, Source]:
    """Return the source of each option that has a value, by field: those given, and a file's.

    Raises UsageError: the file cannot be read, or has a key that is no option.
    """
    words = command_of(context).split()
    config = next(leaf for leaf in leaves if leaf.parameter == "config")
    if file := config_file(value_of(config, sources)):
        stored = _read_file(context, words, file, {leaf.parameter for leaf in leaves})
        by_field = {leaf.name: stored[leaf.parameter] for leaf in leaves if leaf.parameter in stored}
        return {**by_field, **sources}
    return {**sources}


def _flag_or_variable(leaf: Leaf, command: str, typed: Any) -> Source | None:
    if isinstance(typed, list | tuple) and not item_of(leaf.kind):
        if len(values := dict.fromkeys(typed)) > 1:
            fault = f" is given {len(values)} times: {', '.join(map(quote, values))}"
            raise UsageError((Mention(leaf.name), fault), hint=("one ", Mention(leaf.name)))
        typed = typed[0] if typed else None
    if typed is not None and typed != []:
        return Source(typed)
    names = [variable_for(leaf, command), *([variable_for(leaf, "")] if leaf.parameter in SHARED else [])]
    variable = next((name for name in names if os.environ.get(name)), None)
    return Source(_split(leaf, os.environ[variable]), variable) if variable else None


def _split(leaf: Leaf, text: str) -> Any:
    """Return the texts of a variable: several paths, numbers or choices; else a single one."""
    item = item_of(leaf.kind)
    if item is None or not (item in (Path, int, float) or leaf.choices) or leaf.option.parse:
        return text
    return text.split(os.pathsep if item is Path else None)


def is_set(leaf: Leaf, sources: Mapping[str, Source]) -> bool:
    """Return whether an option has a value other than its default. Raises UsageError: it has neither."""
    if leaf.name in sources and sources[leaf.name].values is not None:
        return True
    if leaf.default is MISSING:
        raise UsageError(f"Missing option {' / '.join(map(repr, leaf.flags))}")
    return False


def value_of(leaf: Leaf, sources: Mapping[str, Source]) -> Any:
    """Return the chosen value of an option; None if it is not set. Raises UsageError: it is not allowed."""
    if not is_set(leaf, sources):
        return None
    values = sources[leaf.name].values
    if item_of(leaf.kind):
        values = values if isinstance(values, list | tuple) else [values]
        return tuple(_read(leaf, value) for value in values)
    value = _read(leaf, values)
    return not value if leaf.is_inverted else value


def _read(leaf: Leaf, value: Any) -> Any:
    """Return the value of a text, or of what YAML has in its place. Raises UsageError: it is not allowed."""
    is_switch = required(leaf.kind) is bool
    if isinstance(value, list | tuple | dict) or (isinstance(value, bool) and not is_switch):
        hint = 'put yes, no, on and off in quotes: "yes"' if isinstance(value, bool) else None
        raise UsageError((Mention(leaf.name), " takes a single value"), hint, option=leaf.name)
    return leaf.read(str(value))


def _read_file(context: Any, words: Sequence[str], path: Path, names: set[str]) -> dict[str, Source]:
    """Return the values of a file for the options of a command, by their keys; its own section wins.

    Raises UsageError: the file cannot be read, or a section that the command reads has a key that is none.
    """
    from vidsum.io.text import parse_yaml, read_text, yaml_lines  # PyYAML is slow, and most runs have no file

    try:
        section = parse_yaml(text := read_text(path), str(path))
    except InputError as error:
        raise UsageError(error.text, error.hint_text, "config", error.subject) from error
    lines = {tuple(map(_key, place)): line for place, line in yaml_lines(text, len(words) + 1).items()}
    values, command = dict[str, Source](), context.find_root().command
    for depth in range(len(words) + 1):
        place, is_last = tuple(words[:depth]), depth == len(words)
        options = _read_section(section, path, " ".join(["vidsum", *words[:depth]]))
        inner = [] if is_last else command.list_commands(context)
        chosen = set[str]()
        if is_last:
            chosen = names - {"config"}
        elif not depth:
            chosen = {*_SHARED_KEYS}
        for key, value in options.items():
            line = lines.get((*place, key))
            where = f"{path}:{line}" if line else str(path)
            if key not in {*inner, *chosen}:
                raise _unknown_key(where, key, place, inner, sorted(chosen))
            if key not in inner:
                values[key] = Source(value, where, key)
        if not is_last:
            section, command = options.get(words[depth]), command.resolve_command(context, [words[depth]])[1]
    return values


def _unknown_key(
    where: str, key: str, place: Sequence[str], commands: Sequence[str], options: Sequence[str]
) -> UsageError:
    kinds = " or ".join([*(["command"] if commands else []), *(["option"] if options else [])])
    title, near = " ".join(["vidsum", *place]), did_you_mean(key, [*commands, *options])
    hint = (
        f"{title} --help"
        if place
        else f"options stand under their command; shared ones: {', '.join(options)}"
    )
    return UsageError(f"`{title}` has no {kinds} {key!r}{near}", hint, subject=where)


def _key(name: Any) -> str:
    return str(name).replace("-", "_")


def _read_section(section: Any, path: Path, title: str) -> dict[str, Any]:
    if not isinstance(section, dict | None):
        raise UsageError(f"{title} must be a mapping of options to values", subject=path)
    options = {_key(name): value for name, value in (section or {}).items()}
    if len(options) < len(section or {}):
        raise UsageError("a key appears twice, with - and with _", subject=path)
    return options


def describe_unknown_variables(context: Any) -> list[str]:
    """Return a line for each variable of vidsum's that nothing reads."""
    root, lines = context.find_root().command, list[str]()
    known = {f"VIDSUM_{name.upper()}" for name in SHARED} | {*_OTHER_VARIABLES}
    for name in sorted(name for name in os.environ if name.startswith("VIDSUM_") and name not in known):
        words = name.removeprefix("VIDSUM_")
        if words not in _variables_below(context, root, words):
            ends = [*(name.removeprefix("VIDSUM_") for name in known), *_variables_below(context, root)]
            lines.append(f"{name} sets no option{_guess(words, ends)}")
    return lines


def _guess(words: str, ends: Sequence[str]) -> str:
    """Return the variable that an unknown one may mean, or all of its option; without `VIDSUM_`."""
    command, _, option = words.partition("_")
    same = [end for end in ends if end.partition("_")[2] == (option or words)]
    of_command = find_nearest(command, [end.partition("_")[0] for end in same]) if option else []
    same = [end for end in same if end.partition("_")[0] in of_command[:1]] or same
    if len(same) > 1:
        return f"; these do: {', '.join(f'VIDSUM_{end}' for end in same)}"
    near = same or find_nearest(words, ends)
    return f"; did you mean VIDSUM_{near[0]}?" if near else ""


_OTHER_VARIABLES = ("VIDSUM_DESCRIBE_VLM_KEY",)
"""Variables that set no option."""


def _variables_below(context: Any, command: Any, start: str | None = None) -> Iterator[str]:
    """Yield the variables of a command and of all below it, without `VIDSUM_`.

    `start` leaves out commands that are not the first words of it: each takes long to load.
    """
    if not hasattr(command, "list_commands"):
        yield from (leaf.parameter.upper() for leaf in getattr(command.callback, "leaves", ()))
        return
    for name in command.list_commands(context):
        head = f"{name.upper()}_"
        if start is None or start.startswith(head):
            inner = command.resolve_command(context, [name])[1]
            rest = None if start is None else start.removeprefix(head)
            yield from (f"{head}{end}" for end in _variables_below(context, inner, rest))
