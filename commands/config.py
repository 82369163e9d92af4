"""`--config FILE.yaml`: defaults for options, below flags and `VIDSUM_*` environment variables.

A key is an option's long name; a key that is a command's name holds options for that command alone:

    device: cpu
    summarize:
      budget: 20%
    train:
      fulltransnet:
        epochs: 100
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from vidsum.errors import InputError, UsageError

SEVERAL_MEANINGS = frozenset(
    {"clips", "data", "features", "head", "layers", "lr", "mask", "model", "output", "overwrite", "plot"}
    | {"precision", "preset", "run", "seed", "space", "text_features", "top_k", "validation", "weight_decay"}
)
"""Options that are not the same in all commands that have them. They are set for one command alone: by
`VIDSUM_TRAIN_MRNET_CLIPS`, or in a `--config` file under the command's name."""


def use_config(context: typer.Context, path: Path | None) -> Path | None:
    """Typer callback of `--config`: make the file's values the defaults of this command's options.

    Raises:
        UsageError: the file makes no sense, or a variable has the name of several options.
    """
    _refuse_unclear_variables(context)
    if path is not None:
        context.default_map = {
            **(context.default_map or {}),
            **_defaults_for(context, read_config(path), path),
        }
    return path


def given(context: typer.Context, choices: Mapping[str, Any]) -> dict[str, Any]:
    """The choices that the command line, the environment or `--config` makes; the others are a preset's.

    Args:
        context: of the command.
        choices: values by the name of their option.
    """
    sources = {name: context.get_parameter_source(name) for name in choices}
    made = {name for name, source in sources.items() if source is not None and source.name != "DEFAULT"}
    return {name: value for name, value in choices.items() if name in made and value is not None}


def _refuse_unclear_variables(context: Any) -> None:
    """Refuse, for the options of this command, a variable that could be meant for another one."""
    for name in sorted(SEVERAL_MEANINGS & set(_own_options(context.command))):
        if (variable := f"VIDSUM_{name.upper()}") in os.environ:
            raise UsageError(
                f"{variable}: --{name.replace('_', '-')} is not the same in all commands",
                hint=f"name the command too: {context.auto_envvar_prefix}_{name.upper()}",
            )


def read_config(path: Path) -> dict[str, Any]:
    """The mapping that a YAML file holds.

    Raises:
        UsageError: the file cannot be read or holds something else.
    """
    from vidsum.yaml_files import read_yaml  # PyYAML is slow to load, and most runs have no file

    try:
        loaded = read_yaml(path)
    except InputError as error:
        raise UsageError(error.message, error.hint) from error
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise UsageError(f"{path}: must hold a mapping of options to values")
    return _plain_keys(loaded, path)


def _plain_keys(section: dict[Any, Any], path: Path) -> dict[str, Any]:
    plain = {str(key).replace("-", "_"): value for key, value in section.items()}
    if len(plain) < len(section):
        raise UsageError(f"{path}: has a key twice, with - and with _")
    return plain


def _defaults_for(context: typer.Context, config: dict[str, Any], path: Path) -> dict[str, Any]:
    from vidsum.commands.app import app

    program = typer.main.get_command(app)
    options = _own_options(context.command)
    words, own = _section(context, config, path)
    if unknown := sorted(set(own) - set(options)):
        raise UsageError(
            f"{path}: `vidsum {words}` has no option {unknown[0]!r}", hint=f"vidsum {words} --help lists them"
        )
    general = {key: value for key, value in config.items() if key not in _subcommands(program)}
    # a general key may be meant for another command than that which runs now
    if unknown := sorted(set(general) - _options_of(program)):
        raise UsageError(
            f"{path}: no command has an option {unknown[0]!r}", hint="vidsum COMMAND --help lists them"
        )
    if unclear := sorted(set(general) & SEVERAL_MEANINGS):
        raise UsageError(
            f"{path}: {unclear[0]!r} is not the same option in all commands", hint=f"put it under {words}:"
        )
    _check_sections(program, config, path, "")
    chosen = {**{key: value for key, value in general.items() if key in options}, **own}
    for key, value in chosen.items():
        if isinstance(value, bool) and not options[key].is_flag:
            raise UsageError(f"{path}: {key} takes a value, not {str(value).lower()}")
    return {
        key: [value] if getattr(options[key], "multiple", False) and not isinstance(value, list) else value
        for key, value in chosen.items()
    }


def _check_sections(command: Any, section: dict[str, Any], path: Path, words: str) -> None:
    """Refuse what no command has in the sections of the others, too: else a typing error would wait there."""
    for name, inner in _subcommands(command).items():
        here, own = f"{words} {name}".strip(), section.get(name)
        if own is None:
            continue
        if not isinstance(own, dict):
            raise UsageError(f"{path}: {here} must hold a mapping of options to values")
        plain, below = _plain_keys(own, path), _subcommands(inner)
        if unknown := sorted(set(plain) - set(below or _own_options(inner))):
            what = "command" if below else "option"
            raise UsageError(
                f"{path}: `vidsum {here}` has no {what} {unknown[0]!r}", hint=f"vidsum {here} --help"
            )
        _check_sections(inner, plain, path, here)


def _section(context: Any, config: dict[str, Any], path: Path) -> tuple[str, dict[str, Any]]:
    """The words of a command after `vidsum`, and what the file holds under them."""
    if context.parent is None:
        return "", config
    group, outer = _section(context.parent, config, path)
    if group and (unknown := sorted(set(outer) - set(_subcommands(context.parent.command)))):
        raise UsageError(f"{path}: `vidsum {group}` has no command {unknown[0]!r}")
    words = f"{group} {context.info_name}".strip()
    section = outer.get(context.info_name or "") or {}
    if not isinstance(section, dict):
        raise UsageError(f"{path}: {words} must hold a mapping of options to values")
    return words, _plain_keys(section, path)


def _own_options(command: Any) -> dict[str, Any]:
    """What a file may set: no arguments, and not which file it is."""
    return {
        str(parameter.name): parameter
        for parameter in command.params
        if parameter.param_type_name == "option" and parameter.name != "config"
    }


def _options_of(command: Any) -> set[str]:
    inner = [_options_of(each) for each in _subcommands(command).values()]
    return set(_own_options(command)).union(*inner)


def _subcommands(command: Any) -> dict[str, Any]:
    found: dict[str, Any] = getattr(command, "commands", {})
    return found
