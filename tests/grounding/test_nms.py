"""Greedy temporal non-maximum suppression."""

from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.errors import UsageError
from vidsum.grounding.nms import suppress
from vidsum.intervals import iou
from vidsum.types import Moment

STRETCHES = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 20)), max_size=25)


def moments(stretches: list[tuple[int, int]]) -> list[Moment]:
    return [
        Moment(float(start), float(start + length), float(-rank))
        for rank, (start, length) in enumerate(stretches)
    ]


def suppress_slowly(ordered: list[Moment], max_iou: float) -> list[Moment]:
    """By the table of all overlaps: strike out what the best one left overlaps, again and again."""
    if not ordered:
        return []
    table = iou(*[[(moment.start_s, moment.end_s) for moment in ordered]] * 2)
    left, kept = np.ones(len(ordered), bool), []
    for rank, moment in enumerate(ordered):
        if left[rank]:
            kept.append(moment)
            left &= table[rank] <= max_iou
    return kept


@given(STRETCHES, st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0]), st.integers(1, 30))
def test_it_is_what_striking_out_gives(stretches: list[tuple[int, int]], max_iou: float, top_k: int) -> None:
    ordered = moments(stretches)
    assert suppress(ordered, max_iou, top_k) == suppress_slowly(ordered, max_iou)[:top_k]


def test_an_overlap_of_exactly_the_limit_stays() -> None:
    ordered = moments([(0, 2), (0, 4)])  # IoU 1/2
    assert len(suppress(ordered, 0.5, 5)) == 2
    assert len(suppress(ordered, 0.49, 5)) == 1


def test_no_more_moments_are_made_than_needed() -> None:
    endless = (Moment(float(start), start + 1.0, 1.0) for start in count())
    assert [moment.start_s for moment in suppress(endless, 0.5, 3)] == [0, 1, 2]
    assert next(endless).start_s == 3


@pytest.mark.parametrize(("max_iou", "top_k"), [(-0.1, 5), (1.1, 5), (float("nan"), 5), (0.5, 0)])
def test_limits_that_make_no_sense_are_refused(max_iou: float, top_k: int) -> None:
    with pytest.raises(UsageError):
        suppress([], max_iou, top_k)
