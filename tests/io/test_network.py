"""Transfers end within their time, on whichever connection they run."""

import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.checkpoints.server import KeepAliveHandler, running_server
from tests.hostile import trickle
from vidsum.io.network import Session


@pytest.fixture
def url() -> Iterator[str]:
    """A server that answers `/quick` at once, and `/slow` with a byte now and then for ever."""
    with running_server(KeepAliveHandler) as server:
        server.serve("/quick", b"ok")
        server.serve("/slow", trickle(b"HTTP/1.1 200 OK\r\n\r\n"))
        yield server.url


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
