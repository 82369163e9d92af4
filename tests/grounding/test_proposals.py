"""Grouping a similarity curve into moments, non-maximum suppression, and snapping to shots."""

from itertools import count

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vidsum.grounding.proposals import Grouping, find_moments, snap_moments, suppress
from vidsum.models.scaling import unit_range
from vidsum.results.moments import Moment
from vidsum.types import FloatArray, iou

CURVES = arrays(np.float32, st.integers(1, 90), elements=st.floats(-3, 3, width=32))
INTERVALS = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 20)), max_size=25)
SHOTS = np.array([0.0, 4.0, 4.5, 10.0])


POWERS: dict[Grouping, float] = {"contrast": 0.3, "hybrid": 0.5}
GROUPINGS: tuple[Grouping, ...] = (*POWERS, "shots")


def found(
    curve: FloatArray, top_k: int = 5, max_iou: float = 0.5, grouping: Grouping = "contrast"
) -> list[Moment]:
    """The moments of a curve of clips of 2 s."""
    times = np.arange(len(curve)) * 2.0
    return find_moments(curve, times, 2.0, 2.0 * len(curve), top_k, grouping=grouping, max_iou=max_iou)


def clips_of(moment: Moment) -> tuple[int, int]:
    return round(moment.start_s / 2), round(moment.end_s / 2)


def joined(passing: list[int], apart: int) -> list[tuple[int, int]]:
    """Runs (first clip, one past the last) of clips that are at most `apart` from each other."""
    runs: list[list[int]] = []
    for clip in passing:
        if runs and clip - runs[-1][1] <= apart:
            runs[-1][1] = clip
        else:
            runs.append([clip, clip])
    return [(first, last + 1) for first, last in runs]


def first_slowly(curve: FloatArray) -> tuple[int, int]:
    """The first moment of 75 clips, step by step."""
    level = 9
    while sum(value >= level / 10 for value in curve.tolist()) < 8:
        level -= 1
    runs = joined([clip for clip, value in enumerate(curve.tolist()) if value >= level / 10], 6)
    return max(runs, key=lambda run: 0.5 * (run[1] - run[0]) / 75 + 0.5 * float(curve[slice(*run)].mean()))


def contrast_slowly(curve: FloatArray, first: int, end: int, grouping: Grouping) -> float:
    inside, outside = curve[first:end], np.concatenate([curve[:first], curve[end:]])
    if not len(outside):
        return 0.0
    return float((inside.mean() - outside.mean()) * (len(inside) / len(curve)) ** POWERS[grouping])


@given(arrays(np.float32, 75, elements=st.integers(0, 40).map(lambda value: value / 8)))
def test_with_75_clips_the_first_moment_of_hybrid_is_that_of_a_slow_computation(curve: FloatArray) -> None:
    assert clips_of(found(curve, 1, grouping="hybrid")[0]) == first_slowly(unit_range(curve))


@pytest.mark.parametrize("grouping", POWERS)
@given(curve=CURVES)
@example(curve=np.array([3, -3, 0.25, 0], np.float32))  # its last clip is at .5, which a threshold is too
def test_moments_are_runs_of_some_threshold_by_how_far_they_stand_out(
    grouping: Grouping, curve: FloatArray
) -> None:
    saliency = unit_range(curve)
    moments = found(curve, 1000, max_iou=1.0, grouping=grouping)
    values = list(enumerate(saliency.tolist()))
    allowed = {
        run
        for threshold in np.arange(2, 20) / 20
        for run in joined([clip for clip, value in values if value >= threshold], 2)
    }
    own = moments[1:] if grouping == "hybrid" else moments  # the first of hybrid has a rule of its own
    assert {clips_of(moment) for moment in own} <= allowed | {clips_of(moments[0])}
    for moment in own:
        expected = contrast_slowly(saliency, *clips_of(moment), grouping)
        assert moment.score == pytest.approx(expected, abs=1e-5)
    best = max((contrast_slowly(saliency, *run, grouping) for run in allowed), default=0.0)
    assert moments[0].score == pytest.approx(best, abs=1e-5) or grouping == "hybrid"


@pytest.mark.parametrize("grouping", GROUPINGS)
@given(curve=CURVES, top_k=st.integers(1, 8))
def test_moments_are_best_first_inside_the_video_and_apart(
    grouping: Grouping, curve: FloatArray, top_k: int
) -> None:
    moments = found(curve, top_k, grouping=grouping)
    assert 1 <= len(moments) <= top_k
    scores = [moment.score for moment in moments]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= moment.start_s < moment.end_s <= 2 * len(curve) for moment in moments)


@pytest.mark.parametrize("grouping", ["shots", "contrast"])
def test_plateaus_flat_curves_and_the_end_of_the_video(grouping: Grouping) -> None:
    curve = np.zeros(75, np.float32)
    curve[10:20], curve[50:56] = 1.0, 0.8
    assert [clips_of(moment) for moment in found(curve, 2, grouping=grouping)] == [(10, 20), (50, 56)]
    for n in (1, 2, 75):
        flat = np.full(n, 0.3, np.float32)
        assert found(flat, grouping=grouping) == [Moment(0.0, 2.0 * n, 0.0)]
    curve = np.array([0, 0, 0, 1], np.float32)
    (moment, *_) = find_moments(curve, np.arange(4.0), 1.0, 3.25, 1, grouping=grouping)
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
    assert snap_moments([Moment(*before, 0.5)], SHOTS) == [Moment(*after, 0.5)]
