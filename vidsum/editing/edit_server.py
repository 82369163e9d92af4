"""Serve the page on which a result is corrected. docs/edit.md says what it does, docs/serve.md the rules."""

import re
from collections.abc import Callable
from io import BytesIO
from math import nan
from os import fstat
from threading import Lock, Thread
from typing import Any

from vidsum.editing.reel_session import ReelSession
from vidsum.editing.session import EditSession
from vidsum.errors import InputError, MissingError, UsageError, VidsumError
from vidsum.server.page_server import PageHandler, PageServer

_ASSETS = {
    "/": ("html", "editing/templates/edit.html"),
    "/base.css": ("css", "results/templates/base.css"),
    "/edit.css": ("css", "editing/templates/edit.css"),
    "/player.js": ("javascript", "results/templates/player.js"),
    **{
        f"/{name}.js": ("javascript", f"editing/templates/{name}.js")
        for name in ("edit", "strip", "words", "server", "saving", "acts", "keys")
    },
}
_REEL_ASSETS = {
    **_ASSETS,
    "/": ("html", "editing/templates/reel.html"),
    "/reel.css": ("css", "editing/templates/reel.css"),
    **{f"/{name}.js": ("javascript", f"editing/templates/{name}.js") for name in ("reel", "reel_player")},
}


class EditServer(PageServer):
    """A result at an address; `notify` gets lines about what is saved. Raises errors of `PageServer`."""

    def __init__(
        self,
        session: EditSession | ReelSession,
        port: int,
        token: str | None = None,
        notify: Callable[[str], object] = str,
    ) -> None:
        self.session, self._notify = session, notify
        self._saving, self.saving = Lock(), dict[str, Any](state="none")
        handler = _ReelHandler if isinstance(session, ReelSession) else _FilmHandler
        super().__init__(handler, "127.0.0.1", port, token, notify)

    def start_saving(self, revision: str | None) -> None:
        """Save in a thread of its own. Raises UsageError: it is being saved already, or not what is shown."""
        self.session.require(revision)
        if not self._saving.acquire(blocking=False):
            raise UsageError("it is being saved already")
        self.saving = {"state": "saving", "step": "", "share": 0.0}
        Thread(target=self._save, daemon=True).start()

    def _save(self) -> None:
        def progress(step: str, done: float, total: float) -> None:
            share = min(done / total, 1.0) if total else 0.0
            self.saving = {"state": "saving", "step": step, "share": share}

        try:
            saved, command = self.session.save(progress)
            files = [str(path) for path in saved.files]
            self.saving = {"state": "saved", "files": files, "command": command, "warnings": saved.warnings}
            for line in (*files, f"again: {command}"):
                self._notify(line)
        except VidsumError as error:
            self.saving = {"state": "failed", "error": error.message}
        except Exception as error:
            self.saving = {"state": "failed", "error": f"internal fault: {error!r}"}
        finally:
            self._saving.release()


class _EditHandler(PageHandler):
    """The requests of one connection, about a result of any kind."""

    server: EditServer

    def answer_get(self, path: str, parameters: dict[str, list[str]]) -> None:
        session = self.server.session
        if path == "/api/edit":
            return self.send(session.describe())
        if path == "/api/save":
            return self.send(self.server.saving)
        raise MissingError("no such page")

    def answer_post(self, path: str) -> None:
        session = self.server.session
        if path not in ("/api/decide", "/api/undo", "/api/redo", "/api/save"):
            raise MissingError("no such page")
        document, revision = self.read_document(), self.headers.get("If-Match")
        if path == "/api/decide":
            return self.send(session.decide(document, revision))
        if path == "/api/save":
            self.server.start_saving(revision)
            return self.send(self.server.saving)
        return self.send(session.undo(revision) if path == "/api/undo" else session.redo(revision))


class _FilmHandler(_EditHandler):
    """The requests about a result of one video."""

    assets = _ASSETS

    def answer_get(self, path: str, parameters: dict[str, list[str]]) -> None:
        session = self.server.session
        assert isinstance(session, EditSession)
        if match := re.fullmatch(r"/picture/([0-9]{1,9})\.jpg", path):
            return self.send_jpeg(session.pictures.picture(int(match[1])))
        if path == "/clip":
            span = _seconds(parameters, "start"), _seconds(parameters, "end")
            file, mtime_ns = session.open_clip(*span)
            with file:
                return self.send_video(file, "clip.mp4", fstat(file.fileno()).st_size, f"{mtime_ns:x}")
        if path != "/video":
            return super().answer_get(path, parameters)
        file, mtime_ns = session.open_video()
        with file:
            info = session.video
            return self.send_video(file, info.path, info.bytes, f"{info.bytes:x}-{mtime_ns:x}")

    def answer_post(self, path: str) -> None:
        if path != "/api/plan":
            return super().answer_post(path)
        session = self.server.session
        assert isinstance(session, EditSession)
        limit, revision = _limit_of(self.read_document()), self.headers.get("If-Match")
        return self.send(session.plan(limit, revision))


class _ReelHandler(_EditHandler):
    """The requests about a reel."""

    assets = _REEL_ASSETS

    def answer_get(self, path: str, parameters: dict[str, list[str]]) -> None:
        match = re.fullmatch(r"/(picture|photograph|source|part|video)/([0-9]{1,9})", path)
        if match is None:
            return super().answer_get(path, parameters)
        session, number = self.server.session, int(match[2])
        assert isinstance(session, ReelSession)
        if match[1] == "picture":
            return self.send_jpeg(session.media.picture(number, _seconds(parameters, "at")))
        if match[1] == "photograph":
            return self.send_jpeg(session.media.photograph(number))
        if match[1] == "source":
            return self.send(session.media.describe_video(number))
        if match[1] == "video":
            file, video, mtime_ns = session.media.open_video(number)
            with file:
                return self.send_video(file, video.path, video.bytes, f"{video.bytes:x}-{mtime_ns:x}")
        span = _seconds(parameters, "start"), _seconds(parameters, "end")
        content = session.encoded_part(number, *span)
        return self.send_video(BytesIO(content), "part.mp4", len(content), f"{span[0]:g}-{span[1]:g}")


def _seconds(parameters: dict[str, list[str]], name: str) -> float:
    """Return a time in an address. Raises UsageError: there is none."""
    try:
        time_s = float(parameters[name][-1])
    except (LookupError, ValueError):
        time_s = nan
    if not 0 <= time_s < 1e9:
        raise UsageError(f"{name} must be a time in seconds")
    return time_s


def _limit_of(document: object) -> float:
    limit = document.get("limit") if isinstance(document, dict) else None
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 < limit < 1e9:
        raise InputError("limit must be a number above 0")
    return float(limit)
