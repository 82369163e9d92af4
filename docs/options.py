"""Print every option of every command as a page of tables, from the program itself.

python -m docs.options [> options.md]
"""

from collections.abc import Iterator
from typing import Any

import typer

from vidsum.commands.app import program
from vidsum.commands.options import default_of, leaves_of, metavar_of, range_of
from vidsum.options import Leaf, item_of

_HEAD = """# Options

`VIDSUM_COMMAND_NAME` in the environment, and `NAME` under the command in a `--config` file, set an option
too. A few options are set for all commands: see [cli](cli.md#setting-options).
"""


def page() -> str:
    """Return the whole page."""
    return _HEAD + "".join(_section(words, command) for words, command in commands())


def commands() -> Iterator[tuple[str, Any]]:
    """Yield the words after `vidsum`, and the command, of each command that is not a group."""
    yield from _below("", program())


def _below(words: str, command: Any) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "list_commands"):
        yield words, command
        return
    context: Any = typer.Context(command)
    for name in command.list_commands(context):
        yield from _below(f"{words} {name}".strip(), command.resolve_command(context, [name])[1])


def _section(words: str, command: Any) -> str:
    table = ["| option | value | default | what it does |", "|---|---|---|---|"]
    return f"\n## vidsum {words}\n\n" + "\n".join([*table, *map(_row, leaves_of(command))]) + "\n"


def _row(leaf: Leaf) -> str:
    flags = ", ".join(f"`{flag}`" for flag in flags_of(leaf))
    cells = [flags, value_of(leaf), default_of(leaf), meaning_of(leaf)]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def flags_of(leaf: Leaf) -> list[str]:
    """Return the flags of an option: `--cache`, `--no-cache`."""
    return [flag for pair in leaf.flags for flag in pair.split("/")]


def meaning_of(leaf: Leaf) -> str:
    """Return what an option does, and whether it can be repeated."""
    return f"{leaf.text} Can be repeated." if item_of(leaf.kind) else leaf.text


def value_of(leaf: Leaf) -> str:
    """Return the value column of an option: choices, a placeholder, limits."""
    return f"{metavar_of(leaf).replace('|', ', ')} {range_of(leaf)}".strip()


if __name__ == "__main__":
    print(page(), end="")
