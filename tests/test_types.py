"""The overlap of intervals, and what they have in common."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.types import intersect, iou

ends = st.tuples(st.integers(-5, 20), st.integers(-5, 20))


def one_iou(a: tuple[int, int], b: tuple[int, int]) -> float:
    """By counting the unit steps that both, and that either, covers."""
    first, second = set(range(*a)), set(range(*b))
    return len(first & second) / len(first | second) if first | second else 0.0


@pytest.mark.parametrize("union", ["hull", "lengths"])
def test_iou_is_what_two_spans_share_over_what_they_cover(union: Any) -> None:
    assert iou([(0, 4)], [(2, 8), (0, 4), (4, 6)], union).tolist() == [[0.25, 1.0, 0.0]]


@given(a=st.lists(ends, max_size=4), b=st.lists(ends, max_size=4))
def test_overlap_of_each_pair_is_shared_over_covered_steps(
    a: list[tuple[int, int]], b: list[tuple[int, int]]
) -> None:
    result = iou(a, b)
    assert result.shape == (len(a), len(b))
    assert result.tolist() == [[one_iou(item, other) for other in b] for item in a]


def test_overlap_of_many_sets_is_computed_set_by_set() -> None:
    rng = np.random.default_rng(0)
    a, b = np.sort(rng.random((6, 5, 2))), np.sort(rng.random((6, 3, 2)))
    assert iou(a, b).tolist() == [iou(item, other).tolist() for item, other in zip(a, b, strict=True)]


def test_sets_of_overlaps_may_have_further_dimensions() -> None:
    rng = np.random.default_rng(0)
    a, b = np.sort(rng.random((6, 5, 2))), np.sort(rng.random((6, 3, 2)))
    assert iou(np.stack([a, a[::-1]]), b)[1].tolist() == iou(a[::-1], b).tolist()


def test_overlap_of_a_half_is_exactly_a_half() -> None:
    assert iou([(0, 4.95)], [(0, 9.9)]).item() == 0.5


def test_overlap_by_lengths_rounds_as_the_published_code() -> None:
    assert iou([(0, 4.95)], [(0, 9.9)], union="lengths").item() < 0.5


@given(a=st.lists(ends, max_size=4), b=st.lists(ends, max_size=4))
def test_overlap_by_lengths_is_the_same_for_whole_numbers(
    a: list[tuple[int, int]], b: list[tuple[int, int]]
) -> None:
    assert iou(a, b).tolist() == iou(a, b, union="lengths").tolist()


def test_overlaps_of_no_intervals_are_empty() -> None:
    assert iou([], [(0, 1)]).shape == (0, 1)
    assert iou(np.empty((3, 0, 2)), np.empty((3, 2, 2))).shape == (3, 0, 2)


@given(spans=st.lists(ends, max_size=4), part=ends)
def test_what_spans_have_in_common_with_a_part_are_the_steps_of_both(
    spans: list[tuple[int, int]], part: tuple[int, int]
) -> None:
    common = [sorted({*range(*span)} & {*range(*part)}) for span in spans]
    assert intersect(spans, part) == [(steps[0], steps[-1] + 1) for steps in common if steps]
