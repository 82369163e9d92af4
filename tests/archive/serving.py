"""A server over an archive of colours, and a client that sends what it is told to."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from vidsum.archive.serve import Server


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@contextmanager
def serving(archive: str | Path, token: str | None = None, host: str = "127.0.0.1") -> Iterator[Server]:
    """A server in a thread, at a free port."""
    server = Server(archive, host, 0, token)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def ask(server: Server, path: str, method: str = "GET", body: Any = None, **headers: str) -> Answer:
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
