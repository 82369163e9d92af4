"""Transfers end within their time, on whichever connection they run."""

import time
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from vidsum.io.network import Session


class _Handler(BaseHTTPRequestHandler):
    """Answers `/quick` at once, and `/slow` with a byte now and then for ever; keeps connections open."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2" if self.path == "/quick" else "1000000")
        self.end_headers()
        self.wfile.write(b"ok")
        try:
            while self.path == "/slow":
                self.wfile.write(b".")
                time.sleep(0.05)
        except OSError:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("paths", [["/slow"], ["/quick", "/slow"]])
def test_session_within(url: str, paths: list[str]) -> None:
    """A transfer ends when its time is over, on an older connection too."""
    with closing(Session()) as session:
        for path in paths[:-1]:
            assert session.within(10, lambda path=path: session.get(url + path).text) == "ok"
        received = list[float]()

        def receive() -> None:
            with session.get(url + "/slow", stream=True) as response:
                for _ in response.iter_content(1):
                    received.append(time.monotonic())

        with pytest.raises(TimeoutError):
            session.within(0.3, receive)
        ended = time.monotonic()
        time.sleep(0.3)
        assert received
        assert max(received) <= ended + 0.1
