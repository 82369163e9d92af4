"""Command lines for tests: options that have no flag on a command become variables."""

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from vidsum.commands.app import COMMANDS, find_command
from vidsum.commands.options import settings_of
from vidsum.commands.reproduce import without_flags
from vidsum.options import item_of


def as_variables(arguments: Sequence[object]) -> tuple[list[str], dict[str, str]]:
    """Return the words of a command line, and variables for the options that have no flag."""
    words = list(map(str, arguments))
    if not words or words[0] not in COMMANDS or words[0] == "help":
        return words, {}
    try:
        command = _find(tuple(word for word in words[:2] if not word.startswith("-")))
    except Exception:
        return words, {}
    rest, values = without_flags(command, words)
    paths = {leaf.parameter for leaf in settings_of(command) if item_of(leaf.kind) is Path}
    names = words[: 2 if words[0] in ("train", "evaluate", "weights") else 1]
    return rest, {
        "_".join(["VIDSUM", *names, name]).upper(): _text(value, os.pathsep if name in paths else " ")
        for name, value in values.items()
    }


_find = cache(find_command)


def _text(value: Any, separator: str) -> str:
    return separator.join(value) if isinstance(value, list) else str(value)
