"""Serve a page over HTTP, and check requests: name, origin and token. docs/serve.md has the rules."""

import errno
import hmac
import io
import ipaddress
import json
import mimetypes
import os
import re
import secrets
import socket
import socketserver
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from importlib.resources import files
from typing import Any, BinaryIO, ClassVar
from urllib.parse import parse_qs, quote, urlsplit

from vidsum.errors import (
    ForeignFileError,
    InputError,
    Mention,
    MissingError,
    StaleError,
    UsageError,
    VidsumError,
)
from vidsum.io.text import parse_json
from vidsum.io.urls import is_loopback
from vidsum.server.connections import BoundedServer

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; img-src 'self' data:; media-src 'self'; "
    "style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
Assets = Mapping[str, tuple[str, str]]
"""The kind of text and the file, in the package, of each fixed path."""


class _ForeignError(Exception):
    """A request that is not allowed."""


_STATUS = (
    *((_ForeignError, 403), (MissingError, 404), (StaleError, 412)),
    *((UsageError, 400), (InputError, 400)),
)


class PageServer(BoundedServer):
    """A page at an address; `warn` gets a message per file that is no longer the expected video.

    Raises UsageError: the port is taken, or the host is no address of this machine.
    """

    allow_reuse_address = os.name != "nt"  # there, it would let two servers share a port

    def __init__(
        self,
        handler: type["PageHandler"],
        host: str,
        port: int,
        token: str | None = None,
        warn: Callable[[str], object] = str,
    ) -> None:
        self._warn, self._warned = warn, set[str]()
        self.host = host.lower()
        self.is_local = is_loopback(self.host)
        self.token = token or ("" if self.is_local else secrets.token_urlsafe(16))
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            super().__init__((host, port), handler)
        except OSError as error:
            fault = f"port {port} of {host} cannot be used ({(error.strerror or str(error)).lower()})"
            is_port = error.errno in (errno.EADDRINUSE, errno.EACCES)
            hint = (Mention("port", 0), " takes a free one") if is_port else Mention("host", "127.0.0.1")
            raise UsageError(fault, hint=hint) from error

    def server_bind(self) -> None:
        """Bind without resolving the name of the address, which may take seconds."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.host, self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors of connections: a browser may go away."""

    def warn_once(self, message: str) -> None:
        if message not in self._warned:
            self._warned.add(message)
            self._warn(message)

    @property
    def url(self) -> str:
        host = socket.gethostname() if self.host in ("0.0.0.0", "::") else self.host
        token = f"?token={quote(self.token)}" if self.token else ""
        return f"http://{f'[{host}]' if ':' in host else host}:{self.server_port}/{token}"

    def is_this_server(self, host: str) -> bool:
        """Return whether a Host header names this server, not a foreign site bound to its address."""
        parts = re.fullmatch(r"(?:\[([0-9a-f:.]+)\]|([^][:/?#@\\\s]+))(?::([0-9]{1,5}))?", host.lower())
        if parts is None:  # with a user, a path or the like, it is no host
            return False
        name, port = parts[1] or parts[2], int(parts[3] or 80)
        is_there = not self.is_local and (_is_number(name) or name == socket.gethostname().lower())
        is_here = name in (self.host, "localhost", "127.0.0.1", "::1")
        return port == self.server_port and (is_here or is_there)


def _is_number(host: str) -> bool:
    try:
        return bool(ipaddress.ip_address(host))
    except ValueError:
        return False


def parse_range(header: str | None, size: int) -> tuple[int, int] | None:
    """Return [start, end) of a Range header's bytes; None for all. Raises ValueError: none are there."""
    match = re.fullmatch(r"(?i:bytes)= *([0-9]{0,18})-([0-9]{0,18}) *", header or "")
    if match is None or not (match[1] or match[2]) or (all(match.groups()) and int(match[2]) < int(match[1])):
        return None
    start = int(match[1]) if match[1] else max(size - int(match[2]), 0)
    end = min(int(match[2]) + 1, size) if all(match.groups()) else size
    if start >= end:
        raise ValueError("the video has no such bytes")
    return start, end


class PageHandler(BaseHTTPRequestHandler):
    """The requests of one connection; a page defines `assets`, `answer_get` and `answer_post`."""

    server: PageServer
    assets: ClassVar[Assets]
    protocol_version, server_version, sys_version = "HTTP/1.1", "vidsum", ""
    timeout, disable_nagle_algorithm = 60, True  # a player that rests asks again
    cookie, has_answered = "", False

    def answer_get(self, path: str, parameters: dict[str, list[str]]) -> None:
        """Answer a checked request; raises MissingError: there is no such page."""
        raise NotImplementedError

    def answer_post(self, path: str) -> None:
        """Answer a checked request that has a body, see `read_document`; raises MissingError."""
        raise NotImplementedError

    def parse_request(self) -> bool:
        """Parse the head of a request; close the connection after a body that is not read."""
        if not super().parse_request():
            return False
        self.server.begin(self.connection)
        names = [name.strip().lower() for name in self.headers]
        n_lengths, is_chunked = names.count("content-length"), "transfer-encoding" in names
        has_body = is_chunked or (n_lengths > 0 and self.headers["Content-Length"] != "0")
        self.close_connection |= self.command not in ("GET", "HEAD") or has_body
        is_broken = (
            self.headers.defects or self.headers.get_payload() or names != [*map(str.lower, self.headers)]
        )
        if is_broken or n_lengths + is_chunked > 1:
            self.send_error(400, "the head of the request is not clear")
            return False
        return True

    def do_GET(self) -> None:
        self.cookie, self.has_answered = "", False
        try:
            path, parameters = self._check_request()
            return self.answer_post(path) if self.command == "POST" else self._get(path, parameters)
        except (ConnectionError, TimeoutError):  # the browser went away
            self.has_answered = True
        except Exception as error:
            status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
            is_known = isinstance(error, VidsumError | _ForeignError)
            message = getattr(error, "message", str(error)) if is_known else f"internal fault: {error!r}"
            self.close_connection |= status == 403
            if isinstance(error, ForeignFileError):
                self.server.warn_once(message)
        if self.has_answered:  # too late for an error
            self.close_connection = True
            return None
        return self.send({"error": " ".join(message.split())}, status=status)

    def handle_one_request(self) -> None:
        super().handle_one_request()
        if not self.close_connection:
            self.server.wait(self.connection)

    do_HEAD = do_POST = do_GET  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Send one line, even without a valid request."""
        self.close_connection, self.request_version = True, self.protocol_version
        self.send({"error": message or "not understood"}, status=code)

    def _check_request(self) -> tuple[str, dict[str, list[str]]]:
        """Return path and parameters of a request that is allowed."""
        hosts, origin = self.headers.get_all("Host", []), self.headers.get("Origin")
        if len(hosts) != 1 or not self.server.is_this_server(hosts[0]):
            raise _ForeignError("not this server's name: open the address that it printed")
        try:
            url = urlsplit(self.path)
            parameters = parse_qs(url.query, max_num_fields=100)
        except ValueError as error:
            raise UsageError("the address cannot be read") from error
        if url.scheme or url.netloc:  # as proxies are asked; the host would be there twice
            raise UsageError("ask for a path, without a host")
        is_visit = url.path == "/" and self.headers.get("Sec-Fetch-Mode") == "navigate"
        is_near = is_visit or self.headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin")
        if origin not in (None, f"http://{hosts[0]}") or not is_near:
            raise _ForeignError("a page of another site asks")
        token = parameters.pop("token", [""])[-1]
        if self.server.token and not self._is_authorised(self.server.token.encode(), token):
            raise _ForeignError("open the address with the token that the server printed")
        return url.path, parameters

    def _is_authorised(self, token: bytes, attempt: str) -> bool:
        name, digest = f"vidsum_{self.server.server_port}", hmac.new(token, b"page", "sha256").hexdigest()
        if hmac.compare_digest(attempt.encode(errors="replace"), token):
            self.cookie = f"{name}={digest}; HttpOnly; SameSite=Lax; Path=/"
            return True
        cookies = re.findall(rf"(?:^|;\s*){name}=([^;\s]*)", self.headers.get("Cookie", ""))
        return any(
            hmac.compare_digest(cookie.encode(errors="replace"), digest.encode()) for cookie in cookies
        )

    def _get(self, path: str, parameters: dict[str, list[str]]) -> None:
        if path == "/" and self.cookie:  # the token goes out of the address
            return self.send(b"", status=303, headers={"Location": "/"})
        if path in self.assets:
            kind, part = self.assets[path]
            return self.send(files("vidsum").joinpath(part).read_bytes(), f"text/{kind}; charset=utf-8")
        return self.answer_get(path, parameters)

    def send_jpeg(self, content: bytes) -> None:
        self.send(content, "image/jpeg", headers={"Cache-Control": "private, max-age=600"})

    def send_video(self, file: BinaryIO, path: str, size: int, version: str) -> None:
        """Send a file of `size` bytes, or the part of it that the request names; `version` is for its tag."""
        tag, kind = f'"{version}"', mimetypes.guess_type(path)[0] or ""
        kind = kind if kind.startswith("video/") else "application/octet-stream"
        headers = {"ETag": tag, "Accept-Ranges": "bytes", "Cache-Control": "private, no-cache"}
        is_part = self.command == "GET" and self.headers.get("If-Range", tag) == tag
        try:
            span = parse_range(self.headers.get("Range"), size) if is_part else None
        except ValueError as error:
            headers["Content-Range"] = f"bytes */{size}"
            return self.send({"error": str(error)}, status=416, headers=headers)
        start, end = span or (0, size)
        if span:
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{size}"
        file.seek(start)
        return self.send(file, kind, 206 if span else 200, headers, end - start)

    def read_document(self) -> Any:
        """Return the JSON of a request. Raises UsageError: it has none."""
        if self.headers.get_content_type() != "application/json":  # pages of other sites must ask to send it
            raise UsageError("send application/json")
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch("[0-9]{1,6}", length):
            raise UsageError("send less than 1,000,000 bytes")
        try:
            return parse_json(self.rfile.read(int(length)).decode(), "the request")
        except (UnicodeDecodeError, InputError) as error:
            raise UsageError("the request is not JSON") from error

    def send(
        self,
        content: dict[str, Any] | bytes | BinaryIO,
        kind: str = "application/json",
        status: int = 200,
        headers: dict[str, str] | None = None,
        length: int = 0,
    ) -> None:
        """Send a document, bytes, or `length` bytes of a file from its position."""
        self.has_answered = True
        content = json.dumps(content).encode() if isinstance(content, dict) else content
        facts = {
            "Content-Type": kind,
            "Content-Length": len(content) if isinstance(content, bytes) else length,
        }
        cookie = {"Set-Cookie": self.cookie} if self.cookie else {}
        closing = {"Connection": "close"} if self.close_connection else {}
        stream, self.wfile = self.wfile, io.BytesIO()  # head and body go out in one packet
        self.send_response(status)
        for name, value in {**_HEADERS, **facts, **cookie, **closing, **(headers or {})}.items():
            self.send_header(name, str(value))
        self.end_headers()
        head, self.wfile = self.wfile.getvalue(), stream
        if isinstance(content, bytes):
            self.wfile.write(head if self.command == "HEAD" else head + content)
            return
        self.wfile.write(head)
        is_sent = self.command != "HEAD" and length
        if is_sent and self.connection.sendfile(content, content.tell(), length) < length:
            self.close_connection = True  # the file has become shorter
