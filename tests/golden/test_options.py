"""The options of every command are those of `options.json`: flags, types, ranges, defaults, panels.

Scripts depend on them. After a change on purpose, write the file anew and read its difference:

    VIDSUM_REGENERATE=1 python -m pytest tests/golden/test_options.py
"""

import json
import os
from enum import Enum
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from docs.options import commands

_STORED = Path(__file__).with_name("options.json")


def test_options_of_every_command() -> None:
    found = {
        words: {each.name: facts_of(each) for each in sorted(command.params, key=lambda one: str(one.name))}
        for words, command in commands()
    }
    if os.environ.get("VIDSUM_REGENERATE"):
        _STORED.write_text(_lines(found), encoding="utf-8")
    renew = "if you mean it: VIDSUM_REGENERATE=1 python -m pytest tests/golden"
    assert found == json.loads(_STORED.read_text(encoding="utf-8")), renew


def test_every_option_has_help() -> None:
    silent = [(words, each.name) for words, command in commands() for each in command.params if not each.help]
    assert silent == []


def facts_of(parameter: Any) -> dict[str, Any]:
    kind, choices = _kind(parameter.type_descriptor.annotation)
    facts = {
        "flags": [*parameter.opts, *parameter.secondary_opts],
        "type": kind,
        "choices": choices,
        "min": parameter.min,
        "max": parameter.max,
        "default": _shown_default(parameter),
        "several": parameter.nargs != 1 or getattr(parameter, "multiple", False),
        "required": parameter.required,
        "panel": getattr(parameter, "rich_help_panel", None),
        "metavar": parameter.metavar,
        "variable": parameter.envvar,
    }
    return {name: value for name, value in facts.items() if value not in (None, False, [])}


def _kind(annotation: Any) -> tuple[str, list[str]]:
    """The name of the type of one value, and what it is chosen from."""
    if get_origin(annotation) is Literal:
        return "choice", list(get_args(annotation))
    if inner := [each for each in get_args(annotation) if each is not type(None)]:
        return _kind(inner[0])
    if issubclass(annotation, Enum):
        return "choice", [each.value for each in annotation]
    return annotation.__name__, []


def _shown_default(parameter: Any) -> str | None:
    """The default as `--help` shows it."""
    told = getattr(parameter, "show_default", None)
    value = getattr(parameter.default, "value", parameter.default)
    return told if isinstance(told, str) else None if value is None else str(value)


def _lines(found: dict[str, dict[str, Any]]) -> str:
    """One option per line, so that a difference can be read."""
    commands = [
        f"{json.dumps(words)}: {{\n"
        + ",\n".join(f"  {json.dumps(name)}: {json.dumps(facts)}" for name, facts in options.items())
        + "\n}"
        for words, options in found.items()
    ]
    return "{\n" + ",\n".join(commands) + "\n}\n"
