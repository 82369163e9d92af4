"""`vidsum mcp`: let a language model find moments in videos, by the Model Context Protocol."""

import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from vidsum.archive.settings import ArchiveFile
from vidsum.batch.settings import PRINTING, CommonOptions
from vidsum.commands.options import Flags, Only, command
from vidsum.errors import UsageError
from vidsum.io.packages import require_extra
from vidsum.options import option

app = typer.Typer(add_completion=False)

FolderNames = Annotated[
    list[str], typer.Argument(None, metavar="FOLDER", help="Folders whose videos the model may read.")
]


@dataclass(frozen=True, kw_only=True)
class Writing:
    """Permission to write."""

    PANEL = "Output"

    write: Path | None = option(
        "Let the model save clips in this folder, and add videos to the archive.",
        None,
        metavar="FOLDER",
        default_text="read only",
        writes=True,
    )


@command(
    app,
    "vidsum mcp ~/Videos",
    "vidsum mcp ~/Videos --write ~/Clips",
)
def mcp(
    folders: FolderNames,
    where: ArchiveFile,
    writing: Writing,
    common: Annotated[CommonOptions, Only(PRINTING), Flags()],
) -> None:
    """Let a language model use vidsum: a server of the Model Context Protocol on stdin and stdout.

    A program such as a chat client starts it.
    """
    if not folders:
        raise UsageError("mcp needs the folders that the model may read", hint="vidsum mcp ~/Videos")
    require_extra("mcp", "vidsum mcp")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # while it loads, too
    from vidsum.archive.folders import Folders
    from vidsum.archive.mcp import build_server
    from vidsum.archive.mcp_process import Process
    from vidsum.archive.tools import Tools

    process, tools = Process(), Tools(Folders(folders), where.archive, writing.write)
    server = build_server(tools, can_write=writing.write is not None, run=process.run)
    if sys.stdin.isatty():
        print("waiting for a client on stdin; Ctrl-C stops it", file=sys.stderr)
    process.serve(server)
