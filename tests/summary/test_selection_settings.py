"""Limits on the length of a summary's segments."""

import pytest

from vidsum.errors import UsageError
from vidsum.summary.settings import Selection


def test_longest_segment_may_be_as_long_as_the_shortest() -> None:
    assert Selection(min_segment_s=3.0, max_segment_s=3.0).max_segment_s == 3


def test_longest_segment_shorter_than_the_shortest_is_refused() -> None:
    with pytest.raises(UsageError, match="max_segment_s 2 s is less than min_segment_s 3 s"):
        Selection(min_segment_s=3.0, max_segment_s=2.0)
