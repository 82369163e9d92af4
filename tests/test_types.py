"""The overlap of intervals."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vidsum.types import iou

ends = st.tuples(st.integers(-5, 20), st.integers(-5, 20))


def one_iou(a: tuple[int, int], b: tuple[int, int]) -> float:
    """By counting the unit steps that both, and that either, covers."""
    first, second = set(range(*a)), set(range(*b))
    return len(first & second) / len(first | second) if first | second else 0.0


@given(a=st.lists(ends, max_size=4), b=st.lists(ends, max_size=4))
def test_each_with_each_is_as_counted(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> None:
    found = iou(a, b)
    assert found.shape == (len(a), len(b))
    assert found.tolist() == [[one_iou(one, other) for other in b] for one in a]


def test_many_sets_at_once_are_as_one_by_one() -> None:
    rng = np.random.default_rng(0)
    a, b = np.sort(rng.random((6, 5, 2))), np.sort(rng.random((6, 3, 2)))
    assert iou(a, b).tolist() == [iou(one, other).tolist() for one, other in zip(a, b, strict=True)]
    draws = np.stack([a, a[::-1]])
    assert iou(draws, b)[1].tolist() == iou(a[::-1], b).tolist()


def test_an_iou_of_a_half_is_a_half() -> None:
    assert iou([(0, 4.95)], [(0, 9.9)]).item() == 0.5
    assert iou([(0, 4.95)], [(0, 9.9)], union="lengths").item() < 0.5


@given(a=st.lists(ends, max_size=4), b=st.lists(ends, max_size=4))
def test_union_of_lengths(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> None:
    assert iou(a, b).tolist() == iou(a, b, union="lengths").tolist()


def test_there_may_be_none() -> None:
    assert iou([], [(0, 1)]).shape == (0, 1)
    assert iou(np.empty((3, 0, 2)), np.empty((3, 2, 2))).shape == (3, 0, 2)
