"""`vidsum serve`: a page over an archive, for a browser on this machine."""

import webbrowser
from dataclasses import dataclass

from vidsum.archive.wishes import ArchiveFile
from vidsum.commands.options import View, command
from vidsum.commands.result import Result, render, run_alone
from vidsum.options import option


@dataclass(frozen=True)
class Address:
    """Where the page is."""

    PANEL = "Address"

    host: str = option("Address to listen at. All but this machine's own need a token.", "127.0.0.1")
    port: int = option("Port; 0 for any that is free.", 8348, min=0, max=65535)
    token: str | None = option(
        "Secret that the address must have once.", None, shown="none here, else made and printed"
    )
    open: bool = option("Open the page in a browser.", False, shared=False)


@command
def serve(where: ArchiveFile, address: Address, view: View) -> None:
    """Show an archive as a page: search, look, play, save clips and timelines.

    vidsum index makes the archive. Ctrl-C ends the page.

    vidsum serve --open

    vidsum serve --archive films.vidsum --port 9000
    """

    def step() -> Result:
        from vidsum.archive.serve import Server

        server = Server(where.archive, address.host, address.port, address.token)
        data = {"url": server.url, "archive": str(server.archive.path)}
        try:
            render(Result("serve", data=data, lines=(server.url, "Ctrl-C ends it")), view)
            if address.open:
                webbrowser.open(server.url)
            server.serve_forever()
        except KeyboardInterrupt:  # how it is ended
            pass
        finally:
            server.server_close()
        return Result("serve", data={**data, "ended": True}, lines=("ended",))

    run_alone("serve", view, step)
