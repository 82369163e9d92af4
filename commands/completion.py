"""What a shell offers for a word that is being typed, and the line that makes it ask."""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from vidsum.errors import UsageError

Names = Callable[[click.Context], Iterable[str]]
"""The names that a word of a command line may be."""

_FILES = re.compile("FILE|FOLDER|PATH|VIDEO|PICTURE|RESULT|GLOB|MODEL")
"""In a metavar: the word names a file."""
_STARTS = {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/config.fish"}
"""The file, in the home folder, that a shell reads as it starts."""


def offers(metavar: str, names: Names | Sequence[str] = ()) -> Callable[..., list[Any]] | None:
    """What click asks for the words to offer: the names that fit, and files; None where there is neither."""
    has_files = bool(_FILES.search(metavar))
    if not (names or has_files):
        return None

    def items(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
        known = names(ctx) if callable(names) else names
        fitting = [CompletionItem(each) for each in known if each.startswith(incomplete)]
        return [*fitting, *([CompletionItem(incomplete, type="file")] if has_files else [])]

    return items


def install(ctx: click.Context, parameter: click.Parameter, asked: bool) -> None:
    """Print, or add to the file that the shell reads as it starts, the line that lets it complete words."""
    if not asked or ctx.resilient_parsing:
        return
    shell = Path(os.environ.get("SHELL", "bash")).stem
    if shell not in _STARTS:
        raise UsageError(f"no completion for the shell {shell!r}", hint="bash, zsh or fish")
    code = f"_VIDSUM_COMPLETE={shell}_source vidsum"
    line = f"{code} | source" if shell == "fish" else f'eval "$({code})"'
    file = Path.home() / _STARTS[shell]
    if parameter.name == "show_completion":
        print(line)
    elif not file.exists() or line not in file.read_text(encoding="utf-8", errors="replace").splitlines():
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as stream:
            stream.write(f"\n{line}\n")
        print(f"{file}: completion is installed, for new shells")
    ctx.exit()
