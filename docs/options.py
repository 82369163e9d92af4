"""Write docs/options.md: every option of every command, from the program itself.

python -m docs.options
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from vidsum.commands.program import whole

PAGE = Path(__file__).with_name("options.md")
_HEAD = """# Options

Every option of every command, made from the program by `python -m docs.options`. `VIDSUM_COMMAND_NAME` in the
environment, and `NAME` under the command in a [`--config`](cli.md#setting-options) file, set an option
too; the short variables of the last column set it in every command that has it.
"""


def page() -> str:
    """The whole page."""
    return _HEAD + "".join(_section(words, command) for words, command in commands())


def commands() -> Iterator[tuple[str, Any]]:
    """The words after `vidsum`, and the command, of each command that does something."""
    yield from _below("", typer.main.get_command(whole()))


def _below(words: str, command: Any) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield words, command
        return
    for name, each in inner.items():
        yield from _below(f"{words} {name}".strip(), each)


def _section(words: str, command: Any) -> str:
    rows = [_row(option) for option in command.params if option.param_type_name == "option"]
    table = ["| option | value | default | what it does | variable |", "|---|---|---|---|---|", *rows]
    return f"\n## vidsum {words}\n\n" + "\n".join(table) + "\n"


def _row(option: Any) -> str:
    flags = ", ".join(f"`{flag}`" for flag in [*option.opts, *option.secondary_opts])
    cells = [
        flags,
        value_of(option),
        _default(option),
        option.help,
        f"`{option.envvar}`" if option.envvar else "",
    ]
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


def value_of(option: Any) -> str:
    """What an option takes: choices, a placeholder, limits."""
    kind = option.type
    limits = [(sign, getattr(kind, end, None)) for sign, end in (("≥", "min"), ("≤", "max"))]
    told = [f"{sign} {limit:g}" for sign, limit in limits if limit is not None]
    return " ".join(filter(None, [", ".join(getattr(kind, "choices", ())) or option.metavar or "", *told]))


def _default(option: Any) -> str:
    value = getattr(option.default, "value", option.default)
    shown = option.show_default if isinstance(option.show_default, str) else value
    return "" if shown in (None, False) else "on" if shown is True else str(shown)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
