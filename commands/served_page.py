"""Run the server of a page until Ctrl-C: `vidsum serve` and `vidsum edit`."""

import webbrowser
from dataclasses import replace
from typing import TYPE_CHECKING

from vidsum.batch.reply import Reply
from vidsum.batch.settings import CommonOptions
from vidsum.commands.result import render

if TYPE_CHECKING:
    from vidsum.server.page_server import PageServer


def serve_page(server: "PageServer", about: Reply, common: CommonOptions, *, is_opened: bool) -> Reply:
    """Print where a page is, open it in a browser if wanted, and serve it until Ctrl-C.

    Returns the answer at the end, which has the data of `about` too.
    """
    try:
        render(replace(about, lines=(*about.lines, "Ctrl-C stops it")), common)
        if is_opened:
            webbrowser.open(server.url)
        server.serve_forever()
    except KeyboardInterrupt:  # the way to stop it
        pass
    finally:
        server.server_close()
    return Reply(about.command, data={**about.data, "stopped": True}, lines=("stopped",))
