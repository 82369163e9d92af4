"""Requests for parts of a file; tests/archive and tests/editing have those that a page answers."""

from hypothesis import given
from hypothesis import strategies as st

from vidsum.server.page_server import parse_range


@given(st.text(max_size=30), st.integers(0, 100))
def test_parse_range_bounds(text: str, size: int) -> None:
    for header in (text, f"bytes={text}"):
        try:
            span = parse_range(header, size)
        except ValueError:
            continue
        assert span is None or 0 <= span[0] < span[1] <= size
