"""A web server on this machine that plays a package index and a publisher's site, and archives to serve."""

import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Answer = bytes | Callable[[BaseHTTPRequestHandler], None]
"""Answer to a request: a body, or a function that writes the whole response."""


class Server:
    """Answers by path, and the requested paths in order."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.index_url = f"{url}/simple/"
        self.answers: dict[str, Answer] = {}
        self.received: list[str] = []

    def serve(self, path: str, answer: Answer) -> str:
        self.answers[path] = answer
        return self.url + path

    def publish(self, project: str, filename: str, archive: bytes, sha256: str | None = None) -> str:
        """Put an archive on the index; returns its path."""
        path = f"/files/{filename}"
        self.serve(path, archive)
        self.serve(f"/simple/{project}/", project_page(filename, path, archive, sha256))
        return path


@contextmanager
def running_server(handler: type["_Handler"] | None = None) -> Iterator[Server]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler or _Handler) as http:
        http.daemon_threads = True
        http.block_on_close = False
        server = Server(f"http://127.0.0.1:{http.server_port}")
        http.vidsum_server = server  # type: ignore[attr-defined]
        thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        http.shutdown()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        server: Server = self.server.vidsum_server  # type: ignore[attr-defined]
        server.received.append(self.path)
        answer = server.answers.get(self.path)
        if answer is None:
            self.send_error(404)
        elif callable(answer):
            answer(self)
        else:
            send(self, answer, "text/html")

    do_HEAD = do_GET  # noqa: N815, by answers that look at the command

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


class KeepAliveHandler(_Handler):
    """Keeps connections open for further requests."""

    protocol_version = "HTTP/1.1"


def send(handler: BaseHTTPRequestHandler, body: bytes, content_type: str = "binary/octet-stream") -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", content_type)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def broken_off(body: bytes, after: int) -> Answer:
    """An answer that promises all of `body`, sends its first `after` bytes and hangs up, every time."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body[:after])

    return answer


def resumable(body: bytes, after: int) -> Callable[[BaseHTTPRequestHandler], None]:
    """An answer that breaks off after `after` bytes, and sends the rest to requests of a range."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        wanted = handler.headers.get("Range", "bytes=0-")
        start = int(wanted.removeprefix("bytes=").removesuffix("-"))
        handler.send_response(206 if start else 200)
        handler.send_header("Content-Length", str(len(body) - start))
        handler.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        handler.end_headers()
        handler.wfile.write(body[start : start + after])

    return answer


def failing(status: int) -> Answer:
    return lambda handler: handler.send_error(status)


def project_page(filename: str, path: str, archive: bytes, sha256: str | None = None) -> bytes:
    """A project's page on an index, in JSON; `sha256` replaces the true one, "" leaves it out."""
    digest = hashlib.sha256(archive).hexdigest() if sha256 is None else sha256
    hashes = {"sha256": digest} if digest else {}
    file = {"filename": filename, "url": path, "hashes": hashes}
    return json.dumps({"meta": {"api-version": "1.0"}, "name": "toy", "files": [file]}).encode()


def wheel(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def sdist(members: Mapping[str, bytes | tarfile.TarInfo]) -> bytes:
    """An sdist with these members: contents, or entries of another kind as they are."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in members.items():
            if isinstance(content, tarfile.TarInfo):
                archive.addfile(content)
                continue
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()
