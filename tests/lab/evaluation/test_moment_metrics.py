"""Measures of moment retrieval compared with a direct loop, and the baselines."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vidsum.errors import UsageError
from vidsum.lab.evaluation.moments import (
    CURVE,
    THRESHOLDS,
    TOP,
    best_ious,
    measure,
    random_moments,
    whole_video,
)
from vidsum.lab.evaluation.settings import Comparison
from vidsum.types import Interval, stack_intervals

# tenths of seconds, which floats do not hold: IoU that are thresholds are rounded
windows = st.tuples(st.integers(0, 9), st.integers(1, 6)).map(lambda w: (w[0] / 10, sum(w) / 10))
answers = windows | st.integers(0, 15).map(lambda at: (at / 10, at / 10))
queries = st.lists(
    st.tuples(st.lists(answers, max_size=7), st.lists(windows, min_size=1, max_size=3)),
    min_size=1,
    max_size=6,
)


def slow_iou(a: Interval, b: Interval) -> float:
    """Of two intervals of which the second is not empty."""
    common = max(0.0, min(a[1], b[1]) - max(a[0], b[0]))
    return common / (max(a[1], b[1]) - min(a[0], b[0]))


def slow_recall(
    given: Sequence[Sequence[Interval]],
    right: Sequence[Sequence[Interval]],
    top: int,
    at: float,
    strict: bool,
) -> float:
    """Query by query, moment by moment."""
    found = 0
    for moments, truths in zip(given, right, strict=True):
        overlaps = [slow_iou(moment, truth) for moment in moments[:top] for truth in truths]
        found += any(overlap > at if strict else overlap >= at for overlap in overlaps)
    return found / len(right)


@settings(max_examples=40)
@given(cases=queries, comparison=st.sampled_from(["mmn", "2d-tan"]))
def test_measures_are_those_of_a_direct_loop(
    cases: list[tuple[list[Interval], list[Interval]]], comparison: Comparison
) -> None:
    given_, right = [case[0] for case in cases], [case[1] for case in cases]
    found = measure(best_ious(stack_intervals(given_, max(TOP)), stack_intervals(right)), comparison)
    strict = comparison == "2d-tan"
    assert found.recall == {
        (top, at): pytest.approx(slow_recall(given_, right, top, at, strict))
        for top in TOP
        for at in THRESHOLDS
    }
    assert found.curve == pytest.approx([slow_recall(given_, right, 1, at, strict) for at in CURVE])
    best = [
        max((slow_iou(moment, truth) for moment in moments[:1] for truth in truths), default=0.0)
        for moments, truths in cases
    ]
    assert found.miou == pytest.approx(np.mean(best))


@pytest.mark.parametrize(("comparison", "fraction"), [("mmn", 1.0), ("2d-tan", 0.0)])
def test_the_comparisons_differ_at_the_threshold_itself(comparison: Comparison, fraction: float) -> None:
    half = best_ious(stack_intervals([[(0.0, 1.0)]]), stack_intervals([[(0.0, 2.0)]]))
    assert measure(half, comparison).recall[1, 0.5] == fraction


def test_what_cannot_be_measured() -> None:
    with pytest.raises(UsageError, match="comparison 'ge'"):
        measure(np.ones((2, 5)), "ge")
    with pytest.raises(UsageError, match="no query"):
        measure(np.ones((0, 5)), "mmn")


def test_random_moments_are_inside_and_as_long_as_expected() -> None:
    durations = np.array([10.0, 600.0])
    drawn = random_moments(durations, 4000)
    assert drawn.shape == (4000, 2, 5, 2)
    assert (drawn[..., 0] >= 0).all()
    assert (drawn[..., 1] <= durations[:, None]).all()
    lengths = (drawn[..., 1] - drawn[..., 0]).mean(axis=(0, 2))
    assert lengths == pytest.approx(durations / 3, rel=0.02)  # of two uniform points on a line
    assert random_moments(durations, 2).tolist() == drawn[:2].tolist()
    rows = random_moments(np.array([1.0, 1.0]), 2).reshape(4, 10).tolist()
    assert len(set(map(tuple, rows))) == 4  # of queries and seeds
    assert whole_video(durations).tolist() == [[[0.0, 10.0]], [[0.0, 600.0]]]
