"""The options of every command are those of `options.json`: flags, types, ranges, defaults, panels.

Scripts depend on them. After a change on purpose, write the file anew and read its difference:

    VIDSUM_REGENERATE=1 python -m pytest tests/golden/test_options.py
"""

import json
import os
from pathlib import Path
from typing import Any

from docs.options import commands
from vidsum.options import ADVANCED

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
    kind = parameter.type
    facts = {
        "flags": [*parameter.opts, *parameter.secondary_opts],
        "type": {"text": "str", "path": "Path"}.get(kind.name, kind.name),
        "choices": list(parameter.leaf.choices) if hasattr(parameter, "leaf") else [],
        "min": getattr(kind, "min", None),
        "max": getattr(kind, "max", None),
        "above": parameter.leaf.option.above if hasattr(parameter, "leaf") else None,
        "below": parameter.leaf.option.below if hasattr(parameter, "leaf") else None,
        "default": _shown_default(parameter),
        "several": parameter.nargs != 1 or getattr(parameter, "multiple", False),
        "required": parameter.required,
        "panel": getattr(parameter, "panel", ADVANCED),
        "metavar": parameter.metavar,
        "variable": parameter.envvar,
    }
    return {name: value for name, value in facts.items() if value not in (None, []) and value is not False}


def _shown_default(parameter: Any) -> str | None:
    """The default as `--help` shows it."""
    if not hasattr(parameter, "leaf"):
        return None
    is_switch = isinstance(parameter.leaf.default, bool)
    return (
        str(parameter.leaf.default is not parameter.leaf.is_inverted)
        if is_switch
        else parameter.default_in_words or None
    )


def _lines(found: dict[str, dict[str, Any]]) -> str:
    """One option per line, so that a difference can be read."""
    commands = [
        f"{json.dumps(words)}: {{\n"
        + ",\n".join(f"  {json.dumps(name)}: {json.dumps(facts)}" for name, facts in options.items())
        + "\n}"
        for words, options in found.items()
    ]
    return "{\n" + ",\n".join(commands) + "\n}\n"
