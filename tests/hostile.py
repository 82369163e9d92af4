"""Answers of a server that wastes time, mixes versions, or leads elsewhere (`tests.checkpoints.server`)."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler

Headers = Mapping[str, object]
Responder = Callable[[BaseHTTPRequestHandler], None]


def answer(status: int, headers: Headers, body: bytes = b"") -> Responder:
    """Send a status, headers that may be false, and a body that may not fit them."""

    def respond(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, str(value))
        handler.end_headers()
        with suppress(OSError):
            handler.wfile.write(body)

    return respond


def trickle(head: bytes = b"HTTP/1.0 200 OK\r\n\r\n") -> Responder:
    """Send a head, and then a byte at a time until the client has had enough."""

    def respond(handler: BaseHTTPRequestHandler) -> None:
        with suppress(OSError):
            handler.wfile.write(head)
            while True:
                handler.wfile.write(b"x")
                time.sleep(0.05)

    return respond


def parts(whole: Responder, rest: Responder) -> Responder:
    """Answer a request for a range in another way than one for the whole."""
    return lambda handler: (rest if "Range" in handler.headers else whole)(handler)


def redirect(url: str) -> Responder:
    """Lead elsewhere."""
    return answer(302, {"Location": url, "Content-Length": 0})
