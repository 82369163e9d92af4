"""Print every option of every command as a page of tables, from the program itself.

python -m docs.options [> options.md]
"""

from collections.abc import Iterator
from typing import Any

from vidsum.commands.app import whole

_HEAD = """# Options

`VIDSUM_COMMAND_NAME` in the environment, and `NAME` under the command in a `--config` file, set an option
too; the short variables of the last column set it in every command that has it.
"""


def page() -> str:
    """Return the whole page."""
    return _HEAD + "".join(_section(words, command) for words, command in commands())


def commands() -> Iterator[tuple[str, Any]]:
    """Yield the words after `vidsum`, and the command, of each command that is not a group."""
    yield from _below("", whole())


def _below(words: str, command: Any) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield words, command
        return
    for name, child in inner.items():
        yield from _below(f"{words} {name}".strip(), child)


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
    """Return the value column of an option: choices, a placeholder, limits."""
    leaf = getattr(option, "leaf", None)
    values = ", ".join(leaf.choices if leaf else ()) or option.metavar or ""
    return f"{values} {getattr(option, 'range', '')}".strip()


def _default(option: Any) -> str:
    if not hasattr(option, "leaf"):
        return ""
    words: str = option.default_in_words
    return words


if __name__ == "__main__":
    print(page(), end="")
