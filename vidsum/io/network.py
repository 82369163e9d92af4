"""Transfers over HTTP: one kind of session, and a limit of time for whatever a server does."""

import os
import re
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from threading import TIMEOUT_MAX, Thread, current_thread
from typing import Any, TypeVar
from urllib.parse import urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

from vidsum.io.urls import is_loopback, split_server
from vidsum.io.urls import is_offline as is_offline

T = TypeVar("T")

TIMEOUTS_S = (10.0, 60.0)  # to connect, and between two reads
ATTEMPTS = 4  # attempts in all at a transfer whose connection breaks
PAUSE_S = 0.5
_CHUNK = 1 << 16
_END_S = 1.0  # time that a transfer has to end once its sockets are shut
_MAX_DIGITS = 18  # digits of a length in bytes: a longer number is beyond any limit, and Python reads 4,300


class TooSlowError(requests.Timeout):
    """A server sends so little that a download would hold up all that waits for it."""


@dataclass(frozen=True)
class Pace:
    """How much a download must gain, from its first request on."""

    least_bytes_s: float = 10_000.0  # over a span: 36 MB in an hour
    span_s: float = 60.0


PACE = Pace()  # of every download

_REASONS: dict[type[Exception], str] = {
    requests.exceptions.SSLError: "has a certificate that is not trusted here",
    requests.exceptions.ProxyError: "cannot be reached through the proxy",
    requests.exceptions.ChunkedEncodingError: "broke off the transfer",
    TooSlowError: f"sends less than {PACE.least_bytes_s / 1000:g} kB per second",
    requests.Timeout: "does not answer in time",
}

OnBytes = Callable[[int, int], None]  # on_bytes(bytes so far, bytes in all, or 0 where unknown)


class Session(requests.Session):
    """A session with the environment's proxies and certificates; offline it reaches nothing.

    With `server`, an address such as `http://localhost:11434/v1`, it reaches nothing else. A server on this
    machine is reached offline too, and never through a proxy.
    """

    def __init__(self, server: str = "") -> None:
        super().__init__()
        root, host = split_server(server) if server else ("", "")
        is_local = is_loopback(host)
        self.trust_env = not is_local
        self._thread: Thread | None = None  # the only one that may connect: an abandoned one must not
        self._n_bytes = 0  # that `write_body` has written
        self._sockets: list[socket.socket] = []  # of all transfers: connections are used again
        self.headers["User-Agent"] = "vidsum"
        # the length and the hash are of the file itself, so it must not come compressed
        self.headers["Accept-Encoding"] = "identity"
        # requests knows REQUESTS_CA_BUNDLE, and prefers it
        self.verify = os.environ.get("PIP_CERT") or os.environ.get("SSL_CERT_FILE") or True
        self.adapters.clear()
        for start in () if is_offline() and not is_local else (root,) if root else ("http://", "https://"):
            self.mount(start, _Adapter(self))

    def within(self, seconds: float, transfer: Callable[[], T], pace: Pace | None = None) -> T:
        """Run `transfer`, which uses this session; shut the sockets if it takes longer than `seconds`.

        It has a thread of its own: nothing interrupts the look-up of a name. Raises TimeoutError, and
        TooSlowError where `write_body` gains less than the pace.
        """
        outcome = Future[T]()
        thread = self._thread = Thread(target=_settle, args=(outcome, transfer), daemon=True)
        ends_s = time.monotonic() + min(seconds, TIMEOUT_MAX)
        thread.start()
        try:
            while not outcome.done():
                n_before, left_s = self._n_bytes, ends_s - time.monotonic()
                if left_s <= 0:
                    raise TimeoutError
                wait([outcome], min(pace.span_s, left_s) if pace else left_s)
                is_slow = pace and self._n_bytes - n_before < pace.least_bytes_s * pace.span_s
                if is_slow and time.monotonic() < ends_s and not outcome.done():
                    raise TooSlowError
            return outcome.result()
        finally:
            if not outcome.done():
                self.abort()
                thread.join(_END_S)
            self._thread = None

    def write_body(
        self,
        response: requests.Response,
        target: Path,
        done: int,
        on_bytes: OnBytes,
        chunks: Iterable[bytes] | None = None,
    ) -> None:
        """Write a response's body to `target`, behind its first `done` bytes; what `on_bytes` raises ends it.

        `chunks` are the chunks of the body, if reading it has begun.
        """
        length = parse_content_length(response.headers)
        total = done + length if length else 0
        on_bytes(done, total)
        with target.open("ab" if done else "wb") as stream:
            for chunk in read_body(response) if chunks is None else chunks:
                stream.write(chunk)
                done += len(chunk)
                self._n_bytes += len(chunk)
                on_bytes(done, total)

    def abort(self) -> None:
        """Shut the sockets, from any thread: the transfer that runs fails."""
        self._thread = None
        for connected in self._sockets:
            with suppress(OSError):  # closed meanwhile
                connected.shutdown(socket.SHUT_RDWR)
        self._sockets.clear()

    def note(self, connection: Any) -> None:
        """Note the socket of a new connection. Raises ConnectionError: its transfer has ended."""
        if current_thread() is not self._thread:
            connection.close()
            raise requests.ConnectionError("the time is over")
        self._sockets.append(connection.sock)


def _settle(outcome: "Future[T]", transfer: Callable[[], T]) -> None:
    try:
        outcome.set_result(transfer())
    except BaseException as error:
        outcome.set_exception(error)


class _Adapter(HTTPAdapter):
    """Notes the sockets of its session's connections."""

    def __init__(self, session: Session) -> None:
        self._session = session
        retries = Retry(
            connect=0,
            read=False,
            redirect=5,
            status=2,
            status_forcelist=(429, 500, 502, 503, 504),
            backoff_factor=PAUSE_S,
            raise_on_status=False,
            respect_retry_after_header=False,
        )
        super().__init__(max_retries=retries)

    def get_connection_with_tls_context(self, *args: Any, **options: Any) -> Any:
        """Return the connections to a host, which note their sockets."""
        pool: Any = super().get_connection_with_tls_context(*args, **options)
        make = type(pool).ConnectionCls
        pool.ConnectionCls = lambda **settings: self._noting(make(**settings))
        return pool

    def _noting(self, connection: Any) -> Any:
        connect = connection.connect

        def connect_and_note() -> None:
            connect()
            self._session.note(connection)

        connection.connect = connect_and_note
        return connection


def transfer(request: Callable[[], None], part: Path) -> None:
    """Repeat `request`, which appends a response to `part`, while the connection breaks after some bytes.

    Raises what `request` raises at the last attempt, for a refusal, or when nothing comes.
    """
    begun = size_of(part)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            request()
            break
        except requests.RequestException as error:
            if attempt == ATTEMPTS or isinstance(error, requests.HTTPError) or size_of(part) == begun:
                raise
        time.sleep(PAUSE_S * attempt)


def size_of(part: Path) -> int | None:
    """Return the bytes of a file; None where there is none."""
    return part.stat().st_size if part.exists() else None


def read_body(response: requests.Response) -> Iterator[bytes]:
    """Yield a response's body as it comes."""
    chunks: Iterator[bytes] = response.iter_content(_CHUNK)
    return chunks


def parse_content_length(headers: Mapping[str, str]) -> int:
    """Return the length of a body that its headers name; 0 if they do not, or it comes compressed."""
    length = headers.get("Content-Length", "").strip()
    is_plain = headers.get("Content-Encoding", "identity").lower() == "identity"
    return int(length[: _MAX_DIGITS + 1]) if is_plain and re.fullmatch("[0-9]+", length) else 0


def parse_content_range(headers: Mapping[str, str]) -> tuple[int, int, int] | None:
    """Return (first byte, last byte, length of the whole) of a part, if its headers name them."""
    number = f"([0-9]{{1,{_MAX_DIGITS}}})"
    match = re.fullmatch(f"bytes {number}-{number}/{number}", headers.get("Content-Range", "").strip())
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def failing_host(error: requests.RequestException, url: str) -> str:
    """Return the name of the host that failed: after a redirection it is not the host of `url`."""
    address = getattr(error.response, "url", None) or getattr(error.request, "url", None) or url
    with suppress(ValueError):
        return urlsplit(address).hostname or "the server"
    return "the server"


def failure_reason(error: requests.RequestException) -> str:
    """Return the reason of a failed request, as words that follow the host's name."""
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"answers {status_text(error.response.status_code)}"
    return next((reason for kind, reason in _REASONS.items() if isinstance(error, kind)), "cannot be reached")


def status_text(status: int) -> str:
    """Return a status with its phrase in the standard: a server's own may hold anything."""
    with suppress(ValueError):
        return f"{status} {HTTPStatus(status).phrase}".rstrip()
    return str(status)
