"""`vidsum help`: the help of a command."""

from typing import Annotated, Any

import typer

from vidsum.errors import UsageError


def help(
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            help="The command, such as `train mrnet`.", show_default=False, metavar="[COMMAND]..."
        ),
    ] = None,
) -> None:
    """Show the help of a command, or of the program."""
    program, path = context.find_root(), list(words or ())
    _refuse_more_words(str(program.info_name), program.command, path)
    program.command.main([*path, "--help"], prog_name=program.info_name, standalone_mode=False)


def _refuse_more_words(name: str, command: Any, words: list[str]) -> None:
    """Raise a UsageError for words after a command that has no commands; typer tells of unknown commands."""
    inner: Any = getattr(command, "commands", None)
    if words and inner is None:
        raise UsageError(f"`{name}` has no command {words[0]!r}", hint=f"{name} --help")
    if words and words[0] in inner:
        _refuse_more_words(f"{name} {words[0]}", inner[words[0]], words[1:])
