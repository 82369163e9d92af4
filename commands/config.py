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

Likewise `VIDSUM_SUMMARIZE_BUDGET` sets an option of one command, and `VIDSUM_DEVICE` that of all, if it means
the same in all commands that have it.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING
from importlib import import_module
from pathlib import Path
from typing import Any

from platformdirs import user_config_path

from vidsum.errors import InputError, UsageError, VidsumError, did_you_mean
from vidsum.io.paths import is_file
from vidsum.options import Leaf, item_of, required

NAME = "vidsum.yaml"
_PER_COMMAND = (
    *(
        "annotations",
        "batch_size",
        "captions",
        "clips",
        "clips_dir",
        "data",
        "dropout",
        "extractor",
        "features",
        "head",
    ),
    *("layers", "like", "lr", "mask", "min_present", "model", "not", "out", "output", "overwrite", "plot"),
    *(
        "plot_kind",
        "plot_of",
        "precision",
        "preset",
        "query_features",
        "run",
        "seed",
        "space",
        "split",
        "text_features",
    ),
    *("top_k", "validation", "weight_decay", "window"),
)
"""Options that mean different things in different commands, so that no variable sets all of them."""


def user_file() -> Path:
    """Return the file in the user's configuration folder, whether it exists or not."""
    return user_config_path("vidsum") / NAME


def config_file(path: Path | None) -> Path | None:
    """Return the file that sets defaults: `path`, else the user's, if it exists."""
    return path or (user_file() if is_file(user_file()) else None)


def variable_of(leaf: Leaf) -> str | None:
    """Return the variable that sets an option in every command that has it; None if there is none."""
    if leaf.parameter == "config":
        return "VIDSUM_CONFIG"
    is_shared = leaf.option.shared and leaf.parameter not in _PER_COMMAND
    return f"VIDSUM_{leaf.parameter.upper()}" if is_shared else None


def variable_for(leaf: Leaf, command: str) -> str:
    """Return a variable that sets an option of a command such as `train mrnet`."""
    return variable_of(leaf) or "_".join(["VIDSUM", *command.split(), leaf.parameter]).upper()


def has_flag(leaf: Leaf, command: str) -> bool:
    """Return whether an option of a command such as `train mrnet` has a flag."""
    return leaf.option.flag_on is None or command.split()[-1] in leaf.option.flag_on


def name_settings(error: VidsumError, command: str) -> None:
    """Replace flags that a command such as `train mrnet` lacks in the hint of an error.

    They become variables, `VIDSUM_GROUND_SPACE=vse`; keys of a configuration file where there is no value.
    Commands that a hint quotes stay as they are.
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

    def key(match: re.Match[str]) -> str:
        leaf = leaves.get(match["flag"])
        return match[0].replace(match["flag"], leaf.parameter) if leaf else match[0]

    def variable(match: re.Match[str]) -> str:
        leaf, value = leaves.get(match["flag"]), match["value"] or ""
        if leaf is None:
            return match[0]
        rest = match[0].removeprefix(match["flag"])
        if required(leaf.kind) is bool:
            value = str(match["flag"] == leaf.flags[0].split("/")[0]).lower()
        elif value in leaf.choices or (_IS_VALUE.search(value) and not leaf.choices):
            rest = ""
        else:
            return key(match)
        return f"{variable_for(leaf, command)}={value}{rest}"

    error.hint = _FLAG.sub(key if "leave out" in hint else variable, hint)


_FLAG = re.compile(r"vidsum [a-z][^,;]*|(?<![\w`-])(?P<flag>--[a-z][a-z-]*)(?: (?P<value>[^\s,;:()]+))?")
"""A command, or a flag and the word after it."""
_IS_VALUE = re.compile(r"[A-Z0-9]")


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
        """Return the chosen value of an option; None if there is none.

        Raises UsageError: it is not allowed, is missing, or a variable has the name of options that differ.
        """
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
        name = leaf.parameter.upper()
        if (typed := self._typed.get(leaf.parameter)) is not None:
            return typed, ""
        specific, shared = "_".join(["VIDSUM", *self._words, name]).upper(), variable_of(leaf)
        for variable in filter(None, (specific, shared)):
            if text := os.environ.get(variable):
                return _split(leaf, text), f" (from {variable})"
        if not shared and os.environ.get(f"VIDSUM_{name}"):
            fault = f"VIDSUM_{name}: {leaf.flags[0]} can only be set for one command"
            raise UsageError(fault, hint=f"name the command too: {specific}")
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
    """Return the values of a file for the options of a command, those under its own name first.

    Raises UsageError: the file cannot be read, or has a key that is no option, in any section.
    """
    from vidsum.io.text import read_yaml  # PyYAML is slow to load, and most runs have no file

    try:
        document = read_yaml(path)
    except InputError as error:
        raise UsageError(error.message, error.hint) from error
    entries = [*_entries(document, path, context, context.find_root().command, (), names)]
    entries_of_command = [
        entry for entry in entries if entry[0] == tuple(words[: len(entry[0])]) and entry[1] in names
    ]
    return {key: value for _, key, value in sorted(entries_of_command, key=lambda entry: len(entry[0]))}


def _entries(
    section: Any, path: Path, context: Any, command: Any, words: tuple[str, ...], names: set[str]
) -> Iterator[tuple[tuple[str, ...], str, Any]]:
    """Yield the entries of a section and of those in it: the words of its command, option name and value.

    At the top, `names` are known options, so that most files need no other command to be loaded.
    """
    title = " ".join(["vidsum", *words])
    if not isinstance(section, dict | None):
        raise UsageError(f"{path}: {title} must be a mapping of options to values")
    options = {str(key).replace("-", "_"): value for key, value in (section or {}).items()}
    if len(options) < len(section or {}):
        raise UsageError(f"{path}: a key appears twice, with - and with _")
    inner = command.list_commands(context) if hasattr(command, "list_commands") else []
    for key, value in options.items():
        if key in inner:
            below = command.resolve_command(context, [key])[1]
            yield from _entries(value, path, context, below, (*words, key), names)
            continue
        if not words and key in _PER_COMMAND:
            fault = f"{path}: {key!r} can only be set for one command"
            raise UsageError(fault, hint="put it under the name of a command")
        if not (not words and key in names) and key not in (
            known := {*_option_names(context, command, words)}
        ):
            kinds = " or ".join([*(["command"] if inner else []), *([] if inner and words else ["option"])])
            fault = f"{path}: `{title}` has no {kinds} {key!r}{did_you_mean(key, [*inner, *sorted(known)])}"
            raise UsageError(fault, hint=f"{title if words else 'vidsum COMMAND'} --help")
        yield words, key, value


def _option_names(context: Any, command: Any, words: Sequence[str] = ()) -> Iterator[str]:
    """Yield the names of the options of a command; of the whole program, without words, those of all."""
    if not hasattr(command, "list_commands"):
        leaves = getattr(command.callback, "leaves", [])
        yield from (leaf.parameter for leaf in leaves if leaf.parameter != "config")
    elif not words:
        for name in command.list_commands(context):
            yield from _option_names(context, command.resolve_command(context, [name])[1])
