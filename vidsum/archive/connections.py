"""A server whose connections are bounded before anybody knows who asks."""

import time
from contextlib import suppress
from http.server import ThreadingHTTPServer
from socket import SHUT_RDWR, SHUT_WR, socket
from threading import Lock
from typing import Any

_MOST_WAITING = 64
"""Connections without a whole request; beyond that, those that wait longest are closed."""
_HEAD_S = 20.0
"""A request, or the next one, must have begun and its head be whole within this time."""
_REST_S, _REST_BYTES = 1.0, 1 << 20
"""Limits of reading what a client still sends: it would lose the answer otherwise."""


class BoundedServer(ThreadingHTTPServer):
    """A thread per connection. Handlers call `wait` after an answer, and `begin` when a head is whole."""

    daemon_threads, request_queue_size = True, 128

    def __init__(self, *arguments: Any) -> None:
        self._waiting, self._lock = dict[socket, float](), Lock()
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Start a thread for a connection."""
        self.wait(request)
        super().process_request(request, client_address)

    def wait(self, connection: socket) -> None:
        """Count a connection as one that waits for a request."""
        with self._lock:
            self._waiting[connection] = time.monotonic()
            excess = [*self._waiting][:-_MOST_WAITING]
        self._hang_up(excess)

    def begin(self, connection: socket) -> None:
        """Count a connection as one that is answered."""
        with self._lock:
            self._waiting.pop(connection, None)

    def service_actions(self) -> None:
        """Close what waits too long, however often a byte comes."""
        begin_s = time.monotonic() - _HEAD_S
        with self._lock:
            late = [connection for connection, since in self._waiting.items() if since < begin_s]
        self._hang_up(late)

    def _hang_up(self, connections: list[socket]) -> None:
        for connection in connections:
            self.begin(connection)
            with suppress(OSError):
                connection.shutdown(SHUT_RDWR)  # wakes its thread, which closes it

    def shutdown_request(self, request: Any) -> None:
        """Close a connection, after the rest of what a client sends."""
        self.wait(request)
        with suppress(OSError):
            request.shutdown(SHUT_WR)
            end, left = time.monotonic() + _REST_S, _REST_BYTES
            while left > 0 and (rest_s := end - time.monotonic()) > 0:
                request.settimeout(rest_s)
                left -= len(request.recv(1 << 16)) or left
        self.begin(request)
        self.close_request(request)
