"""Transfers end within their time, on whichever connection they run."""

import time
from collections.abc import Iterator
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
import requests

from tests.checkpoints.server import KeepAliveHandler, Server, running_server
from tests.hostile import Responder, trickle
from vidsum.io.network import Pace, Session, TooSlowError, failing_host


@pytest.fixture
def url() -> Iterator[str]:
    """A server that answers `/quick` at once, and `/slow` with a byte now and then for ever."""
    with running_server(KeepAliveHandler) as server:
        server.serve("/quick", b"ok")
        server.serve("/slow", trickle(b"HTTP/1.1 200 OK\r\n\r\n"))
        yield server.url


@pytest.mark.parametrize("is_connected", [False, True], ids=["new connection", "older connection"])
def test_transfer_ends_when_its_time_is_over(url: str, is_connected: bool) -> None:
    with closing(Session()) as session:
        if is_connected:
            assert session.within(10, lambda: session.get(f"{url}/quick").text) == "ok"
        received = list[float]()

        def receive() -> None:
            with session.get(f"{url}/slow", stream=True) as response:
                for _ in response.iter_content(1):
                    received.append(time.monotonic())

        with pytest.raises(TimeoutError):
            session.within(0.3, receive)
        ended = time.monotonic()
        time.sleep(0.3)
        assert received
        assert max(received) <= ended + 0.1


def fast_then(n_bytes: int, pause_s: float, n_more: int) -> Responder:
    """Send bytes at once, then further ones with a pause before each."""

    def respond(handler: BaseHTTPRequestHandler) -> None:
        with suppress(OSError):
            handler.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n" + bytes(n_bytes))
            for _ in range(n_more):
                time.sleep(pause_s)
                handler.wfile.write(b"x")

    return respond


def save(server: Server, respond: Responder, target: Path, pace: Pace) -> int:
    """Download within a minute at a pace; return the bytes."""
    url = server.serve("/file", respond)
    with closing(Session()) as session:

        def receive() -> None:
            with session.get(url, stream=True) as response:
                session.write_body(response, target, 0, lambda *_: None)

        session.within(60.0, receive, pace)
    return target.stat().st_size


@pytest.fixture
def server() -> Iterator[Server]:
    with running_server() as running:
        yield running


@pytest.mark.parametrize(
    "respond",
    [
        trickle(),
        trickle(b"HTTP/1.0 200 OK\r\nContent-Length: 1000000\r\n\r\n"),
        trickle(b"HTTP/1.0 200 OK\r\nX: "),
        trickle(b""),
        fast_then(2_000_000, 0.1, 1000),
    ],
    ids=["body", "long body", "header", "status", "body that was fast"],
)
def test_slow_server_does_not_hold_a_download(server: Server, respond: Responder, tmp_path: Path) -> None:
    with pytest.raises(TooSlowError):
        save(server, respond, tmp_path / "part", Pace(10_000, 0.5))


def test_short_pause_is_no_slow_download(server: Server, tmp_path: Path) -> None:
    assert save(server, fast_then(1000, 0.2, 2), tmp_path / "part", Pace(10_000, 2.0)) == 1002


def test_small_file_may_come_slowly(server: Server, tmp_path: Path) -> None:
    """The pace is that of a span, in which a small file has ended."""
    assert save(server, fast_then(0, 0.05, 5), tmp_path / "part", Pace(10_000, 5.0)) == 5


def request_error(requested: str | None, responding: str | None) -> requests.RequestException:
    """Return the error of a request to one address, with a response from another."""
    request = requests.Request("GET", requested) if requested else None
    response = None
    if responding:
        response = requests.Response()
        response.url = responding
    return requests.RequestException(request=request, response=response)


@pytest.mark.parametrize(
    ("requested", "responding", "host"),
    [
        (None, None, "first.example"),
        ("https://second.example/x", None, "second.example"),
        ("https://second.example/x", "https://third.example/x", "third.example"),
        ("https:///x", None, "the server"),
        ("https://[bad/x", None, "the server"),
    ],
    ids=["no request", "no response", "redirected", "no host", "no address"],
)
def test_error_names_the_last_host(requested: str | None, responding: str | None, host: str) -> None:
    assert failing_host(request_error(requested, responding), "https://first.example/x") == host
