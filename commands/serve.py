"""`vidsum serve`: search an archive in a browser on this machine."""

from dataclasses import dataclass

import typer

from vidsum.archive.settings import ArchiveFile
from vidsum.batch.reply import Reply
from vidsum.commands.batch import Printing
from vidsum.commands.options import command
from vidsum.commands.result import render
from vidsum.commands.served_page import serve_page
from vidsum.options import option

app = typer.Typer(add_completion=False)


@dataclass(frozen=True, kw_only=True)
class Address:
    """Address of the page."""

    PANEL = "Address"

    host: str = option(
        "Address to listen on.",
        "127.0.0.1",
        more="Any address but this machine's own requires a token.",
    )
    port: int = option("Port; 0 for a free one.", 8348, min=0, max=65535)
    token: str | None = option(
        "Token required on the first visit.", None, default_text="none on 127.0.0.1, else a random one"
    )
    open: bool = option("Open the page in a browser.", False)


@command(
    app,
    "vidsum serve --open",
    "vidsum serve --archive films.vidsum --port 9000",
)
def serve(where: ArchiveFile, address: Address, common: Printing) -> Reply:
    """Show an archive in a browser: search, play, save clips and timelines.

    Ctrl-C stops the server. vidsum index makes the archive.
    """
    from vidsum.archive.serve import Server

    def warn(line: str) -> None:
        render(Reply("serve", messages=(line,)), common)

    server = Server(where.archive, address.host, address.port, address.token, warn)
    public = "all users of this machine can see it; VIDSUM_SERVE_TOKEN sets a token"
    lines = (server.url, *(() if server.token else (public,)))
    about = Reply("serve", data={"url": server.url, "archive": server.archive.name}, lines=lines)
    return serve_page(server, about, common, is_opened=address.open)
