"""Requests for parts of a file, and names of the server; tests/archive and tests/editing ask for pages."""

import socket
from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.server.serving import ask, running
from vidsum.server.page_server import Assets, PageHandler, PageServer, parse_range


def bytes_of(text: str, size: int) -> list[int] | None:
    """Return the bytes of a file that a range means, byte by byte; None: it means nothing."""
    first, last = text.split("-")
    if not first and not last:
        return None
    if not first:
        return [number for number in range(size) if size - number <= int(last)]
    if not last:
        return [number for number in range(size) if number >= int(first)]
    if int(last) < int(first):
        return None
    return [number for number in range(size) if int(first) <= number <= int(last)]


@given(st.from_regex(r"[0-9]{0,3}-[0-9]{0,3}", fullmatch=True), st.integers(0, 100) | st.integers(0, 1000))
def test_range_means_the_bytes_that_it_names(text: str, size: int) -> None:
    try:
        span = parse_range(f"bytes={text}", size)
    except ValueError:
        assert bytes_of(text, size) == []
    else:
        assert (span and list(range(*span))) == bytes_of(text, size)


@given(st.text(max_size=30), st.integers(0, 100))
def test_any_range_is_within_the_file_or_refused(text: str, size: int) -> None:
    for header in (text, f"bytes={text}"):
        try:
            span = parse_range(header, size)
        except ValueError:
            continue
        assert span is None or 0 <= span[0] < span[1] <= size


@pytest.fixture
def open_to_all() -> Iterator[PageServer]:
    """A server on all addresses of this machine."""
    with PageServer(PageHandler, "0.0.0.0", 0) as server:
        yield server


@pytest.mark.parametrize("name", ["192.0.2.7", "[2001:db8::7]", "localhost", "this machine"])
def test_open_server_answers_to_addresses_and_its_own_name(open_to_all: PageServer, name: str) -> None:
    name = socket.gethostname() if name == "this machine" else name
    assert open_to_all.is_this_server(f"{name}:{open_to_all.server_port}")


@pytest.mark.parametrize("name", ["evil.example", "192.0.2.7.evil.example"])
def test_open_server_does_not_answer_to_names_of_others(open_to_all: PageServer, name: str) -> None:
    assert not open_to_all.is_this_server(f"{name}:{open_to_all.server_port}")


def test_local_server_answers_to_no_other_address() -> None:
    with PageServer(PageHandler, "127.0.0.1", 0) as server:
        assert server.is_this_server(f"127.0.0.1:{server.server_port}")
        assert not server.is_this_server(f"192.0.2.7:{server.server_port}")
        assert not server.is_this_server(f"127.0.0.1:{server.server_port + 1}")


class FilePage(PageHandler):
    """Sends ten bytes as a video."""

    assets: ClassVar[Assets] = {}

    def answer_get(self, path: str, parameters: dict[str, list[str]]) -> None:
        with TemporaryFile() as file:
            file.write(b"0123456789")
            file.flush()
            self.send_video(file, "film.mp4", 10, "v1")


@pytest.fixture
def pages() -> Iterator[PageServer]:
    with running(PageServer(FilePage, "127.0.0.1", 0)) as server:
        yield server


def test_request_without_a_range_gets_the_whole_file(pages: PageServer) -> None:
    answer = ask(pages, "/video")
    assert (answer.status, answer.body) == (200, b"0123456789")


def test_request_for_a_range_gets_those_bytes(pages: PageServer) -> None:
    answer = ask(pages, "/video", Range="bytes=2-4")
    assert (answer.status, answer.body) == (206, b"234")
    assert answer.headers["Content-Range"] == "bytes 2-4/10"


def test_range_of_another_version_gets_the_whole_file(pages: PageServer) -> None:
    answer = ask(pages, "/video", Range="bytes=2-4", If_Range='"v0"')
    assert (answer.status, answer.body) == (200, b"0123456789")


def test_range_of_the_same_version_gets_those_bytes(pages: PageServer) -> None:
    assert ask(pages, "/video", Range="bytes=2-4", If_Range='"v1"').status == 206


def test_range_behind_the_end_is_refused_with_the_size(pages: PageServer) -> None:
    answer = ask(pages, "/video", Range="bytes=10-")
    assert (answer.status, answer.headers["Content-Range"]) == (416, "bytes */10")
