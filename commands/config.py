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
from platformdirs import user_config_path

from vidsum.errors import InputError, UsageError
from vidsum.names import guess


def share_variables(program: Any) -> None:
    """Let `VIDSUM_NAME` set each option that has the same type and help in all commands that have it."""
    by_name: dict[str, list[Any]] = {}
    for options in _all_options(program):
        for name, option in options.items():
            if option.leaf.option.shared:
                by_name.setdefault(name, []).append(option)
    for name, options_of_name in by_name.items():
        if len({(each.type.name, tuple(each.choices), each.help) for each in options_of_name}) == 1:
            for each in options_of_name:
                each.envvar = f"VIDSUM_{name.upper()}"


NAME = "vidsum.yaml"
_OWN_VARIABLES = (
    *("VIDSUM_HOME", "VIDSUM_OFFLINE", "VIDSUM_CACHE_LIMIT", "VIDSUM_CONFIG"),
    *("VIDSUM_REGENERATE", "VIDSUM_SHARED"),
)
"""Those that set no option; the last two are of the tests."""
_in_force: list[Path] = []


def files_in_force() -> tuple[Path, ...]:
    """The file that the command running now has its defaults from, if any."""
    return tuple(_in_force)


def user_file() -> Path:
    """The file in the user's configuration folder, whether it is there or not."""
    return user_config_path("vidsum") / NAME


def use_config(context: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Callback of `--config`: make the values of a file the defaults of this command's options.

    Raises:
        UsageError: the file is not valid, or a variable has the name of several options.
    """
    _refuse_unclear_variables(context)
    file = path or _if_file(user_file())
    _in_force[:] = [file] if file else []
    if file:
        own = _defaults_for(context, read_config(file), file)
        context.meta.update({f"vidsum {name}": file for name in own})
        context.default_map = {**(context.default_map or {}), **own}
    return path


def origin_of(context: Any, option: str) -> Path:
    """The file that a default of an option came from."""
    file: Path = context.meta[f"vidsum {option}"]
    return file


def _if_file(path: Path) -> Path | None:
    try:
        return path if path.is_file() else None
    except OSError:
        return None


def warn_of_unknown_variables(context: Any) -> None:
    """Tell of variables that begin with `VIDSUM_` and set nothing, with the known name that is most alike."""
    found = option_variables()
    known = {*_OWN_VARIABLES, *_variables(_program(context))} if found else set[str]()
    for name in found:
        if name not in known:
            hint = guess(name, known, quoted=False)
            print(f"warning: {name} is not a variable of vidsum{hint}", file=sys.stderr)


def option_variables() -> list[str]:
    """The names of variables that set options, or are meant to."""
    return sorted(name for name in os.environ if name.startswith("VIDSUM_") and name not in _OWN_VARIABLES)


def _program(context: Any) -> Any:
    """The program with all its commands, of which this one may have loaded but its own."""
    return context.find_root().obj()


def _variables(command: Any, prefix: str = "VIDSUM") -> Iterator[str]:
    """Those of all options of a command and of the commands below it."""
    for name, option in _options_of(command).items():
        yield f"{prefix}_{name.upper()}"
        if option.envvar:
            yield option.envvar
    for name, inner in _subcommands(command).items():
        yield from _variables(inner, f"{prefix}_{name.upper()}")


def _refuse_unclear_variables(context: Any) -> None:
    """Refuse, for the options of this command, a variable that could be meant for another one."""
    for name, option in _options_of(context.command).items():
        if option.envvar is None and (variable := f"VIDSUM_{name.upper()}") in os.environ:
            raise UsageError(
                f"{variable}: --{name.replace('_', '-')} can only be set for one command",
                hint=f"name the command too: {context.auto_envvar_prefix}_{name.upper()}",
            )


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
    return _section(loaded, path, "")


def _section(value: Any, path: Path, words: str) -> dict[str, Any]:
    """A mapping of a file, its keys with underscores; none is an empty one."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UsageError(f"{path}: {words or 'the file'} must be a mapping of options to values")
    plain = {str(key).replace("-", "_"): inner for key, inner in value.items()}
    if len(plain) < len(value):
        raise UsageError(f"{path}: a key appears twice, with - and with _")
    return plain


def _defaults_for(context: Any, config: dict[str, Any], path: Path) -> dict[str, Any]:
    """The file's values for the options of the command that runs, those under its own name first."""
    program, words, above = _program(context), list[str](), context
    while above.parent is not None:
        words.insert(0, above.info_name)
        above = above.parent
    general = {key: value for key, value in config.items() if key not in _subcommands(program)}
    _check_general(program, general, path, words)
    _check_sections(program, config, path, "")
    options, own = _options_of(context.command), config
    for word in words:
        own = _section(own.get(word), path, word)
    chosen = {**{key: value for key, value in general.items() if key in options}, **own}
    return {key: _checked(key, value, options[key], path) for key, value in chosen.items()}


def _checked(key: str, value: Any, option: Any, path: Path) -> Any:
    """A value of the file in the form that its option takes; click's own messages would not name the file."""
    if isinstance(value, bool) and not option.is_flag:
        raise UsageError(f"{path}: {key} takes a value, not {str(value).lower()}")
    values = value if option.multiple and isinstance(value, list) else [value]
    if any(isinstance(each, list | dict) for each in values):
        raise UsageError(f"{path}: {key} takes {'single values' if option.multiple else 'one value'}")
    return values if option.multiple else value


def _check_general(program: Any, general: dict[str, Any], path: Path, words: list[str]) -> None:
    """Refuse a key outside all sections that no command has, or that differs between commands."""
    for key in sorted(general):
        meanings = [options[key] for options in _all_options(program) if key in options]
        if not meanings:
            known = {*_subcommands(program), *(name for options in _all_options(program) for name in options)}
            raise UsageError(
                f"{path}: unknown command or option {key!r}{guess(key, sorted(known))}",
                hint="vidsum COMMAND --help lists them",
            )
        if any(option.envvar is None for option in meanings):
            raise UsageError(
                f"{path}: {key!r} can only be set for one command", hint=f"put it under {' '.join(words)}:"
            )


def _check_sections(command: Any, section: dict[str, Any], path: Path, words: str) -> None:
    """Refuse what no command has in the sections of all commands: else a typing error would wait there."""
    for name, inner in _subcommands(command).items():
        here = f"{words} {name}".strip()
        own, below = _section(section.get(name), path, here), _subcommands(inner)
        known = below or _options_of(inner)
        if unknown := sorted(set(own) - set(known)):
            fault = f"has no {'command' if below else 'option'} {unknown[0]!r}{guess(unknown[0], known)}"
            raise UsageError(f"{path}: `vidsum {here}` {fault}", hint=f"vidsum {here} --help")
        _check_sections(inner, own, path, here)


def _options_of(command: Any) -> dict[str, Any]:
    """What a file may set: the options of settings."""
    return {parameter.name: parameter for parameter in command.params if hasattr(parameter, "leaf")}


def _all_options(command: Any) -> Iterator[dict[str, Any]]:
    yield _options_of(command)
    for inner in _subcommands(command).values():
        yield from _all_options(inner)


def _subcommands(command: Any) -> dict[str, Any]:
    found: dict[str, Any] = getattr(command, "commands", {})
    return found
