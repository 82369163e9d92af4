"""Settings of a reel that are refused."""

import pytest

from vidsum.errors import UsageError
from vidsum.summary.settings import ReelSettings


def test_less_of_a_clip_than_the_shortest_part() -> None:
    with pytest.raises(UsageError, match="at least 2s, the shortest part"):
        ReelSettings(max_clip_s=0.1)
    assert ReelSettings(max_clip_s=2.0).max_clip_s == 2
    assert ReelSettings(max_clip_s=None).max_clip_s is None
