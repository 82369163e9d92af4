"""Connections that wait for a request: how long, and how many."""

import socket
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest

from vidsum.server import connections
from vidsum.server.connections import BoundedServer

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def server() -> Iterator[BoundedServer]:
    with BoundedServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as made:
        yield made


@pytest.fixture
def pair() -> Iterator[Pair]:
    """The end of the server, and that of a client."""
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    with ours, theirs:
        yield ours, theirs


def is_open(client: socket.socket) -> bool:
    """Whether the server has not hung up."""
    try:
        return client.recv(1) != b""
    except BlockingIOError:
        return True


def let_pass(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    monkeypatch.setattr(connections.time, "monotonic", lambda: now + seconds)


def test_connection_may_wait_twenty_seconds(
    server: BoundedServer, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.wait(pair[0])
    let_pass(19, monkeypatch)
    server.service_actions()
    assert is_open(pair[1])


def test_connection_that_waits_longer_is_closed(
    server: BoundedServer, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.wait(pair[0])
    let_pass(21, monkeypatch)
    server.service_actions()
    assert not is_open(pair[1])


def test_connection_whose_head_is_whole_is_not_closed(
    server: BoundedServer, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.wait(pair[0])
    server.begin(pair[0])
    let_pass(21, monkeypatch)
    server.service_actions()
    assert is_open(pair[1])


def test_oldest_of_too_many_connections_is_closed(
    server: BoundedServer, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_MAX_WAITING", 1)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setblocking(False)
        server.wait(pair[0])
        server.wait(ours)
        assert (is_open(pair[1]), is_open(theirs)) == (False, True)
