"""`--config FILE.yaml`: defaults for options, below flags and `VIDSUM_*` environment variables.

A key is an option's long name; a key that is a command's name holds options for that command alone:

    device: cpu
    summarize:
      budget: 20%
"""

from pathlib import Path
from typing import Any

import typer

from vidsum.errors import UsageError

COMMANDS = ("extract", "shots", "summarize", "weights", "info")


def use_config(context: typer.Context, path: Path | None) -> Path | None:
    """Typer callback of `--config`: make the file's values the defaults of this command's options."""
    if path is not None:
        context.default_map = {
            **(context.default_map or {}),
            **_defaults_for(context, read_config(path), path),
        }
    return path


def read_config(path: Path) -> dict[str, Any]:
    """The mapping that a YAML file holds.

    Raises:
        UsageError: the file cannot be read or holds something else.
    """
    import yaml

    try:
        loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UsageError(f"{path}: no such file") from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UsageError(f"{path}: cannot be read as YAML ({' '.join(str(error).split())})") from error
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise UsageError(f"{path}: must hold a mapping of options to values")
    return {str(key).replace("-", "_"): value for key, value in loaded.items()}


def _defaults_for(context: typer.Context, config: dict[str, Any], path: Path) -> dict[str, Any]:
    command = context.info_name or ""
    known = {parameter.name for parameter in context.command.params}
    section = config.get(command) or {}
    if not isinstance(section, dict):
        raise UsageError(f"{path}: {command} must hold a mapping of options to values")
    own = {str(key).replace("-", "_"): value for key, value in section.items()}
    if unknown := sorted(set(own) - known):
        raise UsageError(f"{path}: `vidsum {command}` has no option {unknown[0]!r}")
    general = {key: value for key, value in config.items() if key not in COMMANDS}
    if unknown := sorted(set(general) - _all_options()):
        raise UsageError(f"{path}: no command has an option {unknown[0]!r}")
    return {**{key: value for key, value in general.items() if key in known}, **own}


def _all_options() -> set[str]:
    """The options of all commands: a general key may be meant for another one than that which runs now."""
    from vidsum.commands.app import app

    group = typer.main.get_command(app)
    commands = getattr(group, "commands", {}).values()
    return {str(parameter.name) for command in commands for parameter in command.params}
