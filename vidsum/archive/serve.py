"""Serve the page of an archive. docs/serve.md has the rules."""

import io
import mimetypes
import os
import re
from collections.abc import Callable
from threading import Lock
from typing import Any
from urllib.parse import quote

from vidsum.archive import answers
from vidsum.archive.archive import Archive
from vidsum.archive.settings import SearchOptions
from vidsum.errors import MissingError, VidsumError
from vidsum.server.page_server import PageHandler, PageServer

_ASSETS = {
    "/": ("html", "archive/templates/page.html"),
    "/base.css": ("css", "results/templates/base.css"),
    "/page.css": ("css", "archive/templates/page.css"),
    "/player.js": ("javascript", "results/templates/player.js"),
    "/page.js": ("javascript", "archive/templates/page.js"),
}

_BY_NUMBER: dict[str, Callable[[Archive, int], Any]] = {
    "video": answers.find_video,
    "thumb": answers.read_picture,
    "api/video": answers.video,
}


class Server(PageServer):
    """An archive at an address; see `PageServer`.

    Raises InputError, OutputError, WeightsError: the archive cannot be searched.
    """

    def __init__(
        self,
        archive: str | os.PathLike[str] | None,
        host: str,
        port: int,
        token: str | None = None,
        warn: Callable[[str], object] = str,
    ) -> None:
        self.searching, self.writing = Lock(), Lock()
        self.archive = Archive(archive, create=False)  # stays open: others open it faster
        try:
            self.archive.find("a video", SearchOptions(top_k=1))  # loads what a search needs
            super().__init__(_Handler, host, port, token, warn)
        except VidsumError:
            self.archive.close()
            raise

    def server_close(self) -> None:
        super().server_close()
        self.archive.close()


class _Handler(PageHandler):
    """The requests of one connection."""

    server: Server
    assets = _ASSETS

    def answer_get(self, path: str, parameters: dict[str, list[str]]) -> None:
        match = re.fullmatch(r"/(api/video|thumb|video)/([0-9]{1,17})(?:[.]jpg)?", path)
        with Archive(self.server.archive.path, create=False) as archive:
            content: dict[str, Any] | bytes | answers.VideoFile
            if path == "/api/archive":
                content = answers.describe_archive(archive)
            elif path == "/api/search":
                with self.server.searching:
                    content = answers.search(archive, parameters)
            elif match:
                content = _BY_NUMBER[match[1]](archive, int(match[2]))
            else:
                raise MissingError("no such page")
        if isinstance(content, answers.VideoFile):
            with content.open() as file:
                version = f"{content.sha256[:32]}-{content.mtime_ns:x}"
                return self.send_video(file, content.path, content.bytes, version)
        if isinstance(content, bytes):
            return self.send_jpeg(content)
        return self.send(content)

    def answer_post(self, path: str) -> None:
        if path not in ("/api/clip", "/api/timeline"):
            raise MissingError("no such page")
        document = self.read_document()
        with Archive(self.server.archive.path, create=False) as archive, self.server.writing:
            moments = answers.parse_moments(archive, document)
            if path == "/api/clip":
                file, name = answers.write_clips(archive, moments)
            else:
                text, name = answers.render_timeline(moments, document)
                file = io.BytesIO(text.encode())
        with file:
            size, _ = file.seek(0, os.SEEK_END), file.seek(0)
            filename = quote(name.encode(errors="replace"))
            headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{filename}"}
            self.send(file, mimetypes.guess_type(name)[0] or "text/plain", 200, headers, size)
