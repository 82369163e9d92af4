"""A server on this machine that answers as Ollama, llama.cpp and vLLM do, or as a test scripts it."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any


@dataclass(frozen=True)
class Reply:
    """An answer of the server, which never comes if it `hangs`."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    hangs: bool = False
    breaks: bool = False  # half the body, then the end of the connection


def completion(text: Any) -> Reply:
    """Return a chat completion with this content."""
    body = {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]}
    return Reply(body=json.dumps(body).encode())


class VLMServer:
    """Counts requests from 1, and answers each as `script` says."""

    def __init__(self, script: Callable[[int], Reply]) -> None:
        self.script, self.over = script, Event()
        self.requests: list[tuple[str, dict[str, str], Any]] = []  # path, headers, JSON
        self.n_open = self.most_open = 0
        self.lock = Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with outer.lock:
                    outer.requests.append((self.path, dict(self.headers), body))
                    number = len(outer.requests)
                    outer.n_open += 1
                    outer.most_open = max(outer.most_open, outer.n_open)
                reply = outer.script(number)
                with outer.lock:
                    outer.n_open -= 1
                if reply.hangs:
                    outer.over.wait(120)
                    self.close_connection = True
                    return
                self.send_response(reply.status)
                for name, value in {"Content-Length": str(len(reply.body)), **reply.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(reply.body[: len(reply.body) // 2] if reply.breaks else reply.body)
                self.close_connection = reply.breaks

            def log_message(self, *_: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_: object) -> None:
                """Say nothing of clients that went away."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02})
        self.thread.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/v1"

    def end(self) -> None:
        """Stop listening: later connections are refused."""
        self.over.set()
        if self.thread.is_alive():
            self.server.shutdown()
            self.thread.join()
            self.server.server_close()


@contextmanager
def serving(script: Callable[[int], Reply]) -> Iterator[VLMServer]:
    """Run a server."""
    server = VLMServer(script)
    try:
        yield server
    finally:
        server.end()
