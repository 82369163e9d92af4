"""Choices about a run that make no sense are refused where they are made."""

import numpy as np
import pytest

from vidsum.errors import UsageError
from vidsum.summary.settings import Selection


@pytest.mark.parametrize("name", ["keep", "drop"])
@pytest.mark.parametrize("stretch", ["0:01-0:02", "ab", ("1", "2"), (1,), (1, 2, 3), 5, None])
def test_stretches_are_pairs_of_numbers(name: str, stretch: object) -> None:
    with pytest.raises(UsageError, match=f"{name} takes pairs"):
        Selection(**{name: (stretch,)})  # type: ignore[arg-type]


def test_any_kind_of_number_will_do() -> None:
    Selection(keep=((0, 1.5), (np.float32(2), np.int64(3))))


def test_the_shortest_segment_is_not_longer_than_the_longest() -> None:
    with pytest.raises(UsageError, match="--max-segment 5 s is less than --min-segment 6 s"):
        Selection(min_segment_s=6.0)
    Selection(min_segment_s=6.0, max_segment_s=None)
