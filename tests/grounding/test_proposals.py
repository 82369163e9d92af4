"""Moments of a similarity curve, non-maximum suppression, and edges at cuts."""

from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vidsum.grounding.proposals import find_moments, is_moment, snap_moments, suppress
from vidsum.results.moments import Moment
from vidsum.types import FloatArray, iou

CURVES = arrays(np.float32, st.integers(1, 90), elements=st.floats(-3, 3, width=32))
INTERVALS = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 20)), max_size=25)
SHOTS = np.array([0.0, 4.0, 4.5, 10.0])


def moments_of(curve: FloatArray, top_k: int = 5) -> list[Moment]:
    """The moments of a curve of clips of 2 s."""
    times = np.arange(len(curve)) * 2.0
    return find_moments(curve, times, 2.0, 2.0 * len(curve), top_k)


@given(curve=CURVES, top_k=st.integers(1, 8))
def test_moments_are_best_first_inside_the_video_and_apart(curve: FloatArray, top_k: int) -> None:
    moments = moments_of(curve, top_k)
    assert 1 <= len(moments) <= top_k
    scores = [moment.score for moment in moments]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= moment.start_s < moment.end_s <= 2 * len(curve) for moment in moments)
    assert suppress(moments, 0.0, top_k) == moments


def test_plateaus_flat_curves_and_the_end_of_the_video() -> None:
    curve = np.zeros(75, np.float32)
    curve[10:20], curve[50:56] = 1.0, 0.8
    assert [(moment.start_s, moment.end_s) for moment in moments_of(curve, 2)] == [(20, 40), (100, 112)]
    for n in (1, 2, 75):
        assert moments_of(np.full(n, 0.3, np.float32)) == [Moment(0.0, 2.0 * n, 0.0)]
    curve = np.array([0, 0, 0, 1], np.float32)
    (moment, *_) = find_moments(curve, np.arange(4.0), 1.0, 3.25, 1)
    assert (moment.start_s, moment.end_s) == (3.0, 3.25)


def moments(intervals: list[tuple[int, int]]) -> list[Moment]:
    return [
        Moment(float(start), float(start + length), float(-rank))
        for rank, (start, length) in enumerate(intervals)
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


@given(INTERVALS, st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0]), st.integers(1, 30))
def test_it_is_what_striking_out_gives(intervals: list[tuple[int, int]], max_iou: float, top_k: int) -> None:
    ordered = moments(intervals)
    assert suppress(ordered, max_iou, top_k) == suppress_slowly(ordered, max_iou)[:top_k]


def test_an_overlap_of_exactly_the_limit_stays() -> None:
    ordered = moments([(0, 2), (0, 4)])  # IoU 1/2
    assert len(suppress(ordered, 0.5, 5)) == 2
    assert len(suppress(ordered, 0.49, 5)) == 1


def test_no_more_moments_are_made_than_needed() -> None:
    endless = (Moment(float(start), start + 1.0, 1.0) for start in count())
    assert [moment.start_s for moment in suppress(endless, 0.5, 3)] == [0, 1, 2]
    assert next(endless).start_s == 3


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((3.2, 9.1), (4.0, 10.0)),  # both within a second
        ((5.0, 9.0), (4.5, 10.0)),  # exactly a second away
        ((2.0, 8.0), (2.0, 8.0)),  # both too far
        ((0.4, 7.0), (0.0, 7.0)),  # one of them
        ((3.8, 4.1), (3.8, 4.1)),  # nothing would be left
    ],
)
def test_edges_move_to_the_nearest_edge_within_a_second(
    before: tuple[float, float], after: tuple[float, float]
) -> None:
    assert snap_moments([Moment(*before, 0.5)], SHOTS, 1.0) == [Moment(*after, 0.5)]


@pytest.mark.parametrize(
    ("span", "is_one"),
    [
        ((0.0, 15.0), True),
        ((0.0, 20.0), True),
        ((18.0, 24.0), True),
        ((10.0, 26.0), False),
        ((28.0, 32.0), False),
        ((30.0, 50.0), True),
    ],
    ids=["short", "one shot", "two shots", "long, of two shots", "two scenes", "a whole scene"],
)
def test_moment_is_in_one_scene_and_in_one_shot_if_it_is_long(
    span: tuple[float, float], is_one: bool
) -> None:
    shots_s, scenes_s = np.array([0.0, 20.0, 30.0, 50.0]), np.array([0.0, 30.0, 50.0])
    assert is_moment(span, shots_s, scenes_s) == is_one
    assert is_moment(span, None, None)
