"""A server that bounds its connections before any authentication."""

import time
from contextlib import suppress
from http.server import ThreadingHTTPServer
from socket import SHUT_RDWR, SHUT_WR, socket
from threading import Lock
from typing import Any

_MAX_WAITING = 64  # maximum number of connections without a whole request; the oldest are closed first
_HEAD_S = 20.0  # time limit for the whole head of the next request
_REST_S, _REST_BYTES = 1.0, 1 << 20  # limits for the rest of a request: unread bytes lose the answer


class BoundedServer(ThreadingHTTPServer):
    """A thread per connection. Handlers call `wait` after an answer, and `begin` when a head is whole."""

    daemon_threads, request_queue_size = True, 128

    def __init__(self, *arguments: Any) -> None:
        self._waiting, self._lock = dict[socket, float](), Lock()
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.wait(request)
        super().process_request(request, client_address)

    def wait(self, connection: socket) -> None:
        """Mark a connection as waiting for a request."""
        with self._lock:
            self._waiting[connection] = time.monotonic()
            excess = [*self._waiting][:-_MAX_WAITING]
        self._hang_up(excess)

    def begin(self, connection: socket) -> None:
        with self._lock:
            self._waiting.pop(connection, None)

    def service_actions(self) -> None:
        """Close connections that wait too long, however often a byte arrives."""
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
