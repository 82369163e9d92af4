"""The options of every command are those of `options.json`: flags, types, ranges, defaults, panels.

Scripts depend on them. After a change on purpose, write the file anew and read its difference:

    VIDSUM_REGENERATE=1 python -m pytest tests/golden/test_options.py
"""

import json
from dataclasses import MISSING
from pathlib import Path
from typing import Any

from docs.options import commands, flags_of
from tests.golden.stored import REGENERATE, renew
from vidsum.commands.config import variable_for
from vidsum.commands.options import default_of, leaves_of, metavar_of
from vidsum.options import Leaf, item_of, required

_STORED = Path(__file__).with_name("options.json")


def test_options_of_every_command() -> None:
    stored = {words: facts_of(words, command) for words, command in commands()}
    if REGENERATE:
        _STORED.write_text(_lines(stored), encoding="utf-8")
    assert stored == json.loads(_STORED.read_text(encoding="utf-8")), renew(__file__)


def test_every_option_has_help() -> None:
    silent = [
        (words, leaf.name)
        for words, command in commands()
        for leaf in leaves_of(command)
        if not leaf.option.help
    ]
    assert silent == []


def test_every_option_has_a_panel() -> None:
    """The short help leaves out options without one."""
    hidden = [
        (words, leaf.name)
        for words, command in commands()
        for leaf in leaves_of(command)
        if not leaf.option.panel
    ]
    assert hidden == []


def facts_of(words: str, command: Any) -> dict[str, Any]:
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    facts = {leaf.parameter: _option_facts(leaf, words) for leaf in leaves_of(command)}
    facts |= {argument.name: _argument_facts(argument) for argument in arguments}
    return {
        name: {
            key: value for key, value in facts[name].items() if value not in (None, []) and value is not False
        }
        for name in sorted(facts)
    }


def _option_facts(leaf: Leaf, words: str) -> dict[str, Any]:
    item, is_several = item_of(leaf.kind) or required(leaf.kind), item_of(leaf.kind) is not None
    is_plain = item in (bool, int, float, Path) and not leaf.option.parse
    is_switch = isinstance(leaf.default, bool)
    return {
        "flags": flags_of(leaf),
        "type": "choice" if leaf.choices else item.__name__ if is_plain else "str",
        "choices": list(leaf.choices),
        "min": leaf.option.min if is_plain else None,
        "max": leaf.option.max if is_plain else None,
        "above": leaf.option.above,
        "below": leaf.option.below,
        "default": str(leaf.default is not leaf.is_inverted) if is_switch else default_of(leaf) or None,
        "several": is_several,
        "required": leaf.default is MISSING,
        "panel": leaf.option.panel or "Options",
        "metavar": leaf.option.metavar or (None if leaf.choices else metavar_of(leaf)),
        "variable": variable_for(leaf, words),
    }


def _argument_facts(argument: Any) -> dict[str, Any]:
    return {
        "flags": [argument.name],
        "several": argument.nargs != 1,
        "required": argument.required,
        "metavar": argument.metavar or argument.name.upper(),
    }


def _lines(stored: dict[str, dict[str, Any]]) -> str:
    """One option per line, so that a difference can be read."""
    commands = [
        f"{json.dumps(words)}: {{\n"
        + ",\n".join(f"  {json.dumps(name)}: {json.dumps(facts)}" for name, facts in options.items())
        + "\n}"
        for words, options in stored.items()
    ]
    return "{\n" + ",\n".join(commands) + "\n}\n"
