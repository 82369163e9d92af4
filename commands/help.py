"""`vidsum help`: the help of a command."""

from typing import Annotated

import typer


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
    program = context.find_root()
    program.command.main([*(words or ()), "--help"], prog_name=program.info_name, standalone_mode=False)
