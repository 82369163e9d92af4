"""Values of options from flags, the environment and a file: the first that has one wins.

The file is that of `--config` or VIDSUM_CONFIG, else `vidsum.yaml` in the user's configuration folder. vidsum
looks for none next to the inputs: it could have come with them.

A key is an option's long name; a key that is a command's name holds options for that command alone:

    device: cpu
    summarize:
      budget: 20%
    train:
      fulltransnet:
        epochs: 100

Likewise `VIDSUM_SUMMARIZE_BUDGET` sets an option of one command, and `VIDSUM_DEVICE` of all that have it.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING
from importlib import import_module
from pathlib import Path
from typing import Any

from platformdirs import user_config_path

from vidsum.errors import InputError, UsageError, VidsumError, did_you_mean, find_nearest
from vidsum.io.paths import is_file
from vidsum.options import Leaf, item_of, required

NAME = "vidsum.yaml"


def user_file() -> Path:
    """Return the file in the user's configuration folder, whether it exists or not."""
    return user_config_path("vidsum") / NAME


def config_file(path: Path | None) -> Path | None:
    """Return the file that sets defaults: `path`, else the user's, if it exists."""
    return path or (user_file() if is_file(user_file()) else None)


def variable_for(leaf: Leaf, command: str) -> str:
    """Return the variable that sets an option of a command such as `train mrnet`."""
    return "_".join(["VIDSUM", *command.split(), leaf.parameter]).upper()


def has_flag(leaf: Leaf, command: str) -> bool:
    """Return whether an option of a command such as `train mrnet` has a flag."""
    return leaf.option.flag_on is None or command.split()[-1] in leaf.option.flag_on


def name_settings(error: VidsumError, command: str) -> None:
    """Replace flags that a command such as `train mrnet` lacks in the hint of an error by their variables.

    `--space vse` becomes `VIDSUM_GROUND_SPACE=vse`. Commands that a hint quotes stay as they are.
    """
    hint = error.hint or ""
    if "--" not in hint:
        return
    leaves = {
        flag: leaf
        for leaf in _leaves_named(command)
        if not has_flag(leaf, command)
        for flag in "/".join(leaf.flags).split("/")
    }

    def variable(match: re.Match[str]) -> str:
        if (leaf := leaves.get(match["flag"])) is None:
            return match[0]
        name, value = variable_for(leaf, command), match["value"] or ""
        if required(leaf.kind) is bool:
            is_on = match["flag"] == leaf.flags[0].split("/")[0]
            return f"{name}={str(is_on).lower()} {value}".strip()
        is_value = value in leaf.choices or (not leaf.choices and re.search(r"[A-Z0-9]", value))
        return f"{name}={value}" if is_value else f"{name} {value}".strip()

    error.hint = _FLAG.sub(variable, hint)


_FLAG = re.compile(r"vidsum [a-z][^,;]*|(?<![\w`-])(?P<flag>--[a-z][a-z-]*)(?: (?P<value>[^\s,;:()]+))?")
"""A command, or a flag and the word after it."""


def _leaves_named(command: str) -> list[Leaf]:
    """Return the options of a command such as `train mrnet`; none if there is no such command."""
    first, *rest = command.split() or [""]
    try:
        entries = import_module(f"vidsum.commands.{first}").app.registered_commands
    except (ImportError, AttributeError):
        return []
    name = rest[0] if rest else first
    return next((entry.callback.leaves for entry in entries if entry.name == name), [])


class Choices:
    """The values of a command's options, from its flags, the environment and a configuration file."""

    def __init__(self, context: Any, leaves: Sequence[Leaf], typed: Mapping[str, Any]) -> None:
        self._typed, self._hint = typed, f"{context.command_path} --help"
        self._words = context.command_path.split()[1:]
        self._file, self._defaults = None, dict[str, Any]()
        config = next(leaf for leaf in leaves if leaf.parameter == "config")
        if file := config_file(self.of(config)):
            names = {leaf.parameter for leaf in leaves if leaf is not config}
            self._defaults = _read_defaults(context, self._words, file, names)
            self._file = file

    def of(self, leaf: Leaf) -> Any:
        """Return the chosen value of an option; None without one. Raises UsageError: wrong, or missing."""
        values, origin = self._find(leaf)
        if values is None:
            if leaf.default is MISSING:
                flags = " / ".join(f"'{flag}'" for flag in leaf.flags)
                raise UsageError(f"Missing option {flags}", self._hint)
            return None
        try:
            if item_of(leaf.kind):
                values = values if isinstance(values, list | tuple) else [values]
                return tuple(_read(leaf, value) for value in values)
            value = _read(leaf, values)
        except UsageError as error:
            hint = error.hint or self._hint
            raise UsageError(f"{error.message}{origin}", hint, option=leaf.name) from error
        return not value if leaf.is_inverted else value

    def _find(self, leaf: Leaf) -> tuple[Any, str]:
        """Return texts, as typed or as a file has them, and where they are from; None if there are none."""
        if (typed := self._typed.get(leaf.parameter)) is not None:
            return typed, ""
        for variable in (variable_for(leaf, " ".join(self._words)), variable_for(leaf, "")):
            if text := os.environ.get(variable):
                return _split(leaf, text), f" (from {variable})"
        return self._defaults.get(leaf.parameter), f" (from {self._file})"


def _split(leaf: Leaf, text: str) -> Any:
    """Return the texts of a variable: several paths, numbers or choices; else a single one."""
    item = item_of(leaf.kind)
    if item is None or not (item in (Path, int, float) or leaf.choices) or leaf.option.parse:
        return text
    return text.split(os.pathsep if item is Path else None)


def _read(leaf: Leaf, value: Any) -> Any:
    """Return the value of a text, or of what YAML has in its place. Raises UsageError: it is not allowed."""
    is_switch = required(leaf.kind) is bool
    if isinstance(value, list | tuple | dict) or (isinstance(value, bool) and not is_switch):
        hint = 'put yes, no, on and off in quotes: "yes"' if isinstance(value, bool) else None
        raise UsageError(f"{leaf.flags[0]} takes a single value", hint)
    return leaf.read(str(value))


def _read_defaults(context: Any, words: Sequence[str], path: Path, names: set[str]) -> dict[str, Any]:
    """Return the values of a file for the options of a command; those under its own name win.

    Raises UsageError: the file cannot be read, or a section that the command reads has a key that is none.
    """
    from vidsum.io.text import read_yaml  # PyYAML is slow to load, and most runs have no file

    try:
        section = read_yaml(path)
    except InputError as error:
        raise UsageError(error.message, error.hint) from error
    values, command = dict[str, Any](), context.find_root().command
    for depth, word in enumerate([*words, None]):
        title = " ".join(["vidsum", *words[:depth]])
        options = _read_section(section, path, title)
        inner = command.list_commands(context) if word else []
        chosen = names if depth in (0, len(words)) else set()
        known = {*inner, *chosen}
        if not depth and not options.keys() <= known:  # the keys of other commands, which take long to load
            known |= {*_option_names(context, command)} - {"config"}
        if unknown := [key for key in options if key not in known]:
            kinds = " or ".join([*(["command"] if inner else []), *(["option"] if chosen else [])])
            near = did_you_mean(unknown[0], sorted(known))
            hint = f"{title if depth else 'vidsum COMMAND'} --help"
            raise UsageError(f"{path}: `{title}` has no {kinds} {unknown[0]!r}{near}", hint)
        values |= {key: value for key, value in options.items() if key in chosen and key not in inner}
        if word:
            section, command = options.get(word), command.resolve_command(context, [word])[1]
    return values


def _read_section(section: Any, path: Path, title: str) -> dict[str, Any]:
    if not isinstance(section, dict | None):
        raise UsageError(f"{path}: {title} must be a mapping of options to values")
    options = {str(key).replace("-", "_"): value for key, value in (section or {}).items()}
    if len(options) < len(section or {}):
        raise UsageError(f"{path}: a key appears twice, with - and with _")
    return options


def describe_unknown_variables(context: Any, leaves: Sequence[Leaf]) -> list[str]:
    """Return a line for each variable of vidsum's that nothing reads; `leaves` are those of the command."""
    variables = {name for name in os.environ if name.startswith("VIDSUM_")}
    variables -= {*_OTHER_VARIABLES, *_variables_of(leaves, " ".join(context.command_path.split()[1:]))}
    if variables:  # of other commands, perhaps, which take long to load
        root = context.find_root().command
        known = {*_OTHER_VARIABLES}
        for words, others in _leaves_below(context, root):
            known.update(_variables_of(others, words))
        ends = {name.removeprefix("VIDSUM_") for name in known}
        near = {name: find_nearest(name.removeprefix("VIDSUM_"), ends)[:1] for name in variables - known}
        guesses = {
            name: f"; did you mean VIDSUM_{guess[0]}?" if guess else "" for name, guess in near.items()
        }
        return [f"{name} sets no option{guess}" for name, guess in sorted(guesses.items())]
    return []


_OTHER_VARIABLES = (
    *("VIDSUM_HOME", "VIDSUM_OFFLINE", "VIDSUM_CACHE_LIMIT", "VIDSUM_VLM_KEY"),
    *("VIDSUM_SHARED", "VIDSUM_REGENERATE", "VIDSUM_TEST_KILLS"),  # of the tests
)
"""Variables that set no option."""


def _variables_of(leaves: Iterable[Leaf], command: str) -> Iterator[str]:
    for leaf in leaves:
        yield from (variable_for(leaf, command), variable_for(leaf, ""))


def _option_names(context: Any, command: Any) -> Iterator[str]:
    """Yield the names of the options of a command, or of all commands below it."""
    yield from (leaf.parameter for _, leaves in _leaves_below(context, command) for leaf in leaves)


def _leaves_below(context: Any, command: Any, words: str = "") -> Iterator[tuple[str, Sequence[Leaf]]]:
    """Yield the words of a command, or of all commands below it, with its options."""
    for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
        inner = command.resolve_command(context, [name])[1]
        yield from _leaves_below(context, inner, f"{words} {name}".strip())
    yield words, getattr(command.callback, "leaves", ())
