"""Requests for parts of a file; tests/archive and tests/editing have those that a page answers."""

from hypothesis import given
from hypothesis import strategies as st

from vidsum.server.page_server import parse_range


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
def test_bytes_of_a_range(text: str, size: int) -> None:
    try:
        span = parse_range(f"bytes={text}", size)
    except ValueError:
        assert bytes_of(text, size) == []
    else:
        assert (span and list(range(*span))) == bytes_of(text, size)


@given(st.text(max_size=30), st.integers(0, 100))
def test_parse_range_bounds(text: str, size: int) -> None:
    for header in (text, f"bytes={text}"):
        try:
            span = parse_range(header, size)
        except ValueError:
            continue
        assert span is None or 0 <= span[0] < span[1] <= size
