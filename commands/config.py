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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from platformdirs import user_config_path

from vidsum.commands.paths import is_file
from vidsum.errors import InputError, UsageError, did_you_mean

NAME = "vidsum.yaml"
_OWN_VARIABLES = (
    *("VIDSUM_HOME", "VIDSUM_OFFLINE", "VIDSUM_CACHE_LIMIT", "VIDSUM_CONFIG"),
    *("VIDSUM_REGENERATE", "VIDSUM_SHARED"),
)
"""Those that set no option; the last two are of the tests."""
_in_force: list[Path] = []


def files_in_force() -> tuple[Path, ...]:
    """Return the file that the command running now has its defaults from, if any."""
    return tuple(_in_force)


def user_file() -> Path:
    """Return the file in the user's configuration folder, whether it is there or not."""
    return user_config_path("vidsum") / NAME


def share_variables(program: Any) -> None:
    """Let `VIDSUM_NAME` set each option that has the same type and help in all commands that have it."""
    by_name: dict[str, list[Any]] = {}
    for _, command in _commands(program):
        for name, option in _options(command).items():
            if option.leaf.option.shared:
                by_name.setdefault(name, []).append(option)
    for name, options in by_name.items():
        if len({(each.type.name, each.leaf.choices, each.help) for each in options}) == 1:
            for each in options:
                each.envvar = f"VIDSUM_{name.upper()}"


def _commands(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each command of a program that does something, with the words that call it."""
    if (inner := getattr(command, "commands", None)) is None:
        yield words, command
    for name, each in (inner or {}).items():
        yield from _commands(each, (*words, name))


def _options(command: Any) -> dict[str, Any]:
    """Return the options of settings, by name."""
    return {parameter.name: parameter for parameter in command.params if hasattr(parameter, "leaf")}


def use_config(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Callback of `--config`: make the values of a file the defaults of this command's options.

    Raises UsageError: the file is not valid, or a variable has the name of options that differ.
    """
    for name, option in _options(context.command).items():
        if option.envvar is None and (variable := f"VIDSUM_{name.upper()}") in os.environ:
            raise UsageError(
                f"{variable}: --{name.replace('_', '-')} can only be set for one command",
                hint=f"name the command too: {context.auto_envvar_prefix}_{name.upper()}",
            )
    file = path or (user_file() if is_file(user_file()) else None)
    _in_force[:] = [file] if file else []
    if file:
        context.default_map = {**(context.default_map or {}), **_defaults(context, file)}
    return path


def with_origin(error: Exception, context: Any = None) -> Exception:
    """Return an error about an option that a variable or a file sets, with the name of that."""
    context = context or click.get_current_context(silent=True)
    if not (context and isinstance(error, UsageError) and error.option):
        return error
    flag = next((each for each in _options(context.command).values() if each.leaf.name == error.option), None)
    source = context.get_parameter_source(flag.name) if flag else None
    if flag and source is ParameterSource.ENVIRONMENT:
        general, own = flag.envvar, f"{context.auto_envvar_prefix}_{flag.name.upper()}"
        origin = general if general and os.environ.get(general) else own
    elif source is ParameterSource.DEFAULT_MAP:
        origin = str(_in_force[0])
    else:
        return error
    return UsageError(f"{error.message} (from {origin})", error.hint)


def warn_of_unknown_variables(context: Any) -> None:
    """Tell of variables that begin with `VIDSUM_` and set nothing, with the known name that is most alike."""
    if not (found := option_variables()):
        return
    known = set(_OWN_VARIABLES)
    for words, command in _commands(context.find_root().obj()):
        for name, option in _options(command).items():
            known |= {"_".join(("VIDSUM", *words, name)).upper(), option.envvar or "VIDSUM_CONFIG"}
    for name in found:
        if name not in known:
            hint = did_you_mean(name, known, quoted=False)
            print(f"warning: {name} is not a variable of vidsum{hint}", file=sys.stderr)


def option_variables() -> list[str]:
    """Return the names of variables that set options, or are meant to."""
    return sorted(name for name in os.environ if name.startswith("VIDSUM_") and name not in _OWN_VARIABLES)


def _defaults(context: Any, path: Path) -> dict[str, Any]:
    """Return the file's values for the options of the command that runs, those under its own name first.

    Raises UsageError: it cannot be read, or has what no command has, in the sections of other commands too:
    else a typing error would wait there.
    """
    from vidsum.io.yaml import read_yaml  # PyYAML is slow to load, and most runs have no file

    try:
        loaded = read_yaml(path)
    except InputError as error:
        raise UsageError(error.message, error.hint) from error
    program, options = context.find_root().obj(), _options(context.command)
    of_all, own = dict[str, Any](), dict[str, Any]()
    for command, key, value in _entries(loaded, path, program):
        if command is context.command:
            own[key] = value
        elif command is program and key in options:
            of_all[key] = value
    values = {**of_all, **own}
    return {
        key: [value] if options[key].multiple and not isinstance(value, list) else value
        for key, value in values.items()
        if value is not None
    }


def _entries(
    section: Any, path: Path, command: Any, words: tuple[str, ...] = ()
) -> Iterator[tuple[Any, str, Any]]:
    """Yield the entries of a section and of those in it: the command that has the option, its name and
    value.
    """
    if not isinstance(section, dict | None):
        raise UsageError(f"{path}: {' '.join(words) or 'the file'} must be a mapping of options to values")
    plain = {str(key).replace("-", "_"): value for key, value in (section or {}).items()}
    if len(plain) < len(section or {}):
        raise UsageError(f"{path}: a key appears twice, with - and with _")
    inner = getattr(command, "commands", {})
    options: dict[str, list[Any]] = {}
    for _, each in _commands(command) if not words else [((), command)]:
        for name, option in _options(each).items():
            options.setdefault(name, []).append(option)
    for key, value in plain.items():
        if key in inner:
            yield from _entries(value, path, inner[key], (*words, key))
        elif key not in options:
            what = " or ".join([*(["command"] if inner else []), *(["option"] if options else [])])
            called = " ".join(["vidsum", *words])
            fault = f"{path}: `{called}` has no {what} {key!r}{did_you_mean(key, [*inner, *options])}"
            raise UsageError(fault, hint=f"{called} --help" if words else "vidsum COMMAND --help lists them")
        elif not words and any(option.envvar is None for option in options[key]):
            fault = f"{path}: {key!r} can only be set for one command"
            raise UsageError(fault, hint="put it under the name of a command")
        else:
            yield command, key, value
