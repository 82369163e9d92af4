"""Defaults for options from files and the environment, below flags.

The file is that of `--config` or VIDSUM_CONFIG, else `vidsum.yaml` in the user's configuration folder. vidsum
looks for none beside the inputs: it could have come with them.

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
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from platformdirs import user_config_path

from vidsum.errors import InputError, UsageError
from vidsum.names import guess

NAME = "vidsum.yaml"
_OWN_VARIABLES = (
    *("VIDSUM_HOME", "VIDSUM_OFFLINE", "VIDSUM_CACHE_LIMIT", "VIDSUM_CONFIG"),
    *("VIDSUM_REGENERATE", "VIDSUM_SHARED"),
)
"""Those that set no option; the last two are of the tests."""
_RENAMED = {"also": "and", "without": "not", "evidence": "in"}
"""Keys of files made when these options went by the names of their fields."""
_in_force: list[Path] = []


def files_in_force() -> tuple[Path, ...]:
    """The file that the command running now has its defaults from, if any."""
    return tuple(_in_force)


def user_file() -> Path:
    """The file in the user's configuration folder, whether it is there or not."""
    return user_config_path("vidsum") / NAME


def share_variables(program: Any) -> None:
    """Let `VIDSUM_NAME` set each option that has the same type and help in all commands that have it."""
    by_name: dict[str, list[Any]] = {}
    for options in _options(program).values():
        for name, option in options.items():
            if option.leaf.option.shared:
                by_name.setdefault(name, []).append(option)
    for name, options_of_name in by_name.items():
        if len({(each.type.name, tuple(each.choices), each.help) for each in options_of_name}) == 1:
            for each in options_of_name:
                each.envvar = f"VIDSUM_{name.upper()}"


def _options(command: Any, words: tuple[str, ...] = ()) -> dict[tuple[str, ...], dict[str, Any]]:
    """The options of settings of each command of a program, by the words that call it."""
    if (inner := getattr(command, "commands", None)) is None:
        return {words: _of_command(command)}
    parts = (_options(each, (*words, name)) for name, each in inner.items())
    return {called: options for part in parts for called, options in part.items()}


def _of_command(command: Any) -> dict[str, Any]:
    return {parameter.name: parameter for parameter in command.params if hasattr(parameter, "leaf")}


def use_config(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Callback of `--config`: make the values of a file the defaults of this command's options.

    Raises:
        UsageError: the file is not valid, or a variable has the name of options that differ.
    """
    for name, option in _of_command(context.command).items():
        if option.envvar is None and (variable := f"VIDSUM_{name.upper()}") in os.environ:
            raise UsageError(
                f"{variable}: --{name.replace('_', '-')} can only be set for one command",
                hint=f"name the command too: {context.auto_envvar_prefix}_{name.upper()}",
            )
    file = path or _if_file(user_file())
    _in_force[:] = [file] if file else []
    if file:
        own = _defaults_for(context, read_config(file), file)
        context.meta.update({f"vidsum {name}": file for name in own})
        context.default_map = {**(context.default_map or {}), **own}
    return path


def origin_of(context: Any, option: Any) -> str:
    """` (from VIDSUM_DEVICE)`: where a value of an option came from, if not from the command line."""
    source = context.get_parameter_source(option.name)
    if source is ParameterSource.ENVIRONMENT:
        general, own = option.envvar, f"{context.auto_envvar_prefix}_{option.name.upper()}"
        return f" (from {general if general and os.environ.get(general) else own})"
    return f" (from {context.meta[f'vidsum {option.name}']})" if source is ParameterSource.DEFAULT_MAP else ""


def with_origin(error: Exception) -> Exception:
    """A fault of a text that an option holds, with where the text came from, as far as a command runs."""
    context = click.get_current_context(silent=True)
    if not (context and isinstance(error, UsageError)) or " (from " in error.message:
        return error
    for name, option in _of_command(context.command).items():
        value = context.params.get(name)
        values = value if isinstance(value, tuple) else (value,)
        if any(isinstance(each, str) and repr(each) in error.message for each in values):
            return UsageError(f"{error.message}{origin_of(context, option)}", error.hint)
    return error


def _if_file(path: Path) -> Path | None:
    try:
        return path if path.is_file() else None
    except OSError:
        return None


def warn_of_unknown_variables(context: Any) -> None:
    """Tell of variables that begin with `VIDSUM_` and set nothing, with the known name that is most alike."""
    if not (found := option_variables()):
        return
    known = set(_OWN_VARIABLES)
    for words, options in _options(context.find_root().obj()).items():
        known.update("_".join(("VIDSUM", *words, name)).upper() for name in options)
        known.update(option.envvar for option in options.values() if option.envvar)
    for name in found:
        if name not in known:
            hint = guess(name, known, quoted=False)
            print(f"warning: {name} is not a variable of vidsum{hint}", file=sys.stderr)


def option_variables() -> list[str]:
    """The names of variables that set options, or are meant to."""
    return sorted(name for name in os.environ if name.startswith("VIDSUM_") and name not in _OWN_VARIABLES)


def read_config(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file.

    Raises:
        UsageError: the file cannot be read or is not a mapping.
    """
    from vidsum.yaml_files import read_yaml  # PyYAML is slow to load, and most runs have no file

    try:
        loaded = read_yaml(path)
    except InputError as error:
        raise UsageError(error.message, error.hint) from error
    return _section(loaded, path, ())


def _section(value: Any, path: Path, words: tuple[str, ...]) -> dict[str, Any]:
    """A mapping of a file, its keys with underscores; none is an empty one."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UsageError(f"{path}: {' '.join(words) or 'the file'} must be a mapping of options to values")
    plain = {str(key).replace("-", "_"): inner for key, inner in value.items()}
    if len(plain) < len(value):
        raise UsageError(f"{path}: a key appears twice, with - and with _")
    return plain


def _defaults_for(context: Any, config: dict[str, Any], path: Path) -> dict[str, Any]:
    """The file's values for the options of the command that runs, those under its own name first.

    Raises a UsageError for what no command has, in the sections of other commands too: else a typing error
    would wait there.
    """
    known, above = _options(context.find_root().obj()), context.parent
    own: tuple[str, ...] = (context.info_name,)
    while above.parent is not None:
        own, above = (above.info_name, *own), above.parent
    general, chosen = dict[str, Any](), dict[str, Any]()
    for words, key, value in _entries(config, path, known):
        _require_known(words, key, path, known, own)
        if words == own:
            chosen[key] = value
        elif not words and key in known[own]:
            general[key] = value
    values = {**general, **chosen}
    return {key: _checked(key, value, known[own][key], path) for key, value in values.items()}


_Known = Mapping[tuple[str, ...], Mapping[str, Any]]


def _entries(
    section: Mapping[str, Any], path: Path, known: _Known, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str, Any]]:
    """The entries of a file, each with the words of its section; of general ones there are none."""
    for key, value in section.items():
        inner = (*words, key)
        if any(called[: len(inner)] == inner for called in known):
            yield from _entries(_section(value, path, inner), path, known, inner)
        else:
            yield words, _RENAMED.get(key, key), value


def _require_known(words: tuple[str, ...], key: str, path: Path, known: _Known, own: tuple[str, ...]) -> None:
    """Refuse a key that its section cannot have, or a general one that differs between commands."""
    if words:
        if key in known.get(words, ()):
            return
        names = known.get(words) or [called[len(words)] for called in known if called[: len(words)] == words]
        what, called = "option" if words in known else "command", f"vidsum {' '.join(words)}"
        raise UsageError(
            f"{path}: `{called}` has no {what} {key!r}{guess(key, names)}", hint=f"{called} --help"
        )
    meanings = [options[key] for options in known.values() if key in options]
    if not meanings:
        names = sorted({called[0] for called in known}.union(*known.values()))
        raise UsageError(
            f"{path}: unknown command or option {key!r}{guess(key, names)}",
            hint="vidsum COMMAND --help lists them",
        )
    if any(option.envvar is None for option in meanings):
        fault = f"{path}: {key!r} can only be set for one command"
        raise UsageError(fault, hint=f"put it under {' '.join(own)}:")


def _checked(key: str, value: Any, option: Any, path: Path) -> Any:
    """A value of the file in the form that its option takes; click's own messages would not name the file."""
    if isinstance(value, bool) and not option.is_flag:
        raise UsageError(f"{path}: {key} takes a value, not {str(value).lower()}")
    values = value if option.multiple and isinstance(value, list) else [value]
    if any(isinstance(each, list | dict) for each in values):
        raise UsageError(f"{path}: {key} takes {'single values' if option.multiple else 'one value'}")
    return values if option.multiple else value
