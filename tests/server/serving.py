"""A page's server in a thread, and a client that sends any request."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any, TypeVar

from vidsum.server.page_server import PageServer

Started = TypeVar("Started", bound=PageServer)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@contextmanager
def running(server: Started) -> Iterator[Started]:
    """The server in a thread, until the end of the block."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def ask(server: PageServer, path: str, method: str = "GET", body: Any = None, **headers: str) -> Answer:
    """The answer to a request of its own connection; `body` is sent as JSON."""
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    content = None if body is None else json.dumps(body)
    sent = {"Content-Type": "application/json"} if content else {}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        connection.request(method, path, content, sent)
        response = connection.getresponse()
        return Answer(response.status, dict(response.headers), response.read())
    finally:
        connection.close()
