"""The windows that a summary may take, against plain loops."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.summary.constraints import VideoFrames
from vidsum.summary.units import (
    Unit,
    WindowFinder,
    allowed_cuts,
    frame_curve,
    shot_windows,
    window_lengths,
)

FPS = 10.0


def sums_of(curve: np.ndarray) -> np.ndarray:
    return np.concatenate([[0.0], np.cumsum(curve)])


def test_size_of_a_unit_is_the_number_of_its_frames() -> None:
    assert Unit(3, 8, 0).size == 5


@given(st.data())
def test_window_has_the_highest_sum(data: st.DataObject) -> None:
    curve = np.array(data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=30)), np.float64)
    n = len(curve)
    places = data.draw(st.sets(st.integers(0, n)))
    start, end = sorted(data.draw(st.tuples(st.integers(0, n), st.integers(0, n))))
    shortest, size = sorted(data.draw(st.tuples(st.integers(1, 12), st.integers(1, 12))))
    least = data.draw(st.integers(0, 3))
    windows = WindowFinder(sums_of(curve), np.array(sorted(places), np.int64), shortest, least)
    unit = windows.best(7, (start, end), size)
    allowed = [
        (first, last)
        for first, last in itertools.product(sorted(places), repeat=2)
        if start <= first
        and last <= end
        and shortest <= last - first <= size
        and curve[first] >= least
        and curve[last - 1] >= least
    ]
    if not allowed:
        assert unit is None
        return
    assert unit is not None
    assert (unit.start, unit.end) in allowed
    assert unit.cell == 7
    assert curve[unit.start : unit.end].sum() == max(curve[first:last].sum() for first, last in allowed)


def test_of_equal_windows_the_middle_one_is_the_best() -> None:
    still = WindowFinder(sums_of(np.full(100, 0.5)), np.arange(101), 5)
    assert still.best(0, (20, 80), 10) == Unit(45, 55, 0)


def test_no_window_begins_or_ends_in_black() -> None:
    curve = np.concatenate([np.zeros(10), np.ones(10), np.zeros(10)])
    windows = WindowFinder(sums_of(curve), np.arange(31), 5, least=0.05)
    assert windows.best(0, (0, 30), 20) == Unit(10, 20, 0)


SPANS = st.lists(st.tuples(st.floats(-1, 9), st.floats(0.05, 1.5)), max_size=8).map(
    lambda spans: [(start, start + length) for start, length in spans]
)


@given(SPANS)
def test_no_cut_is_allowed_inside_a_word(words: list[tuple[float, float]]) -> None:
    places = allowed_cuts(words, FPS, 100)
    for place in range(1, 100):
        is_inside = any(start + 1e-9 < place / FPS < end - 1e-9 for start, end in words)
        assert place not in places if is_inside else True


@given(SPANS)
def test_cuts_are_allowed_at_the_ends_and_outside_words(words: list[tuple[float, float]]) -> None:
    places = allowed_cuts(words, FPS, 100)
    assert {0, 100} <= set(places.tolist())
    for place in set(range(1, 100)) - set(places.tolist()):
        assert any(start - 1e-6 <= place / FPS <= end + 1e-6 for start, end in words)


def test_frames_have_the_value_of_the_sample_nearest_in_their_shot() -> None:
    curve = frame_curve(np.array([0.1, 0.5, 0.9], np.float32), np.array([0, 4, 8]), np.array([0, 3, 10, 12]))
    assert curve.tolist() == pytest.approx([0.1] * 3 + [0.5] * 5 + [0.9] * 4)


def test_frames_before_the_first_sample_have_its_value() -> None:
    curve = np.array([0.1, 0.5, 0.9], np.float32)
    assert frame_curve(curve, np.array([2, 4, 8]), np.array([0, 12]))[0] == pytest.approx(0.1)


@given(st.integers(1, 100), st.integers(0, 300))
def test_lengths_rise_from_the_shortest_to_the_longest(shortest: int, more: int) -> None:
    lengths = window_lengths(shortest, shortest + more)
    assert (lengths[0], lengths[-1]) == (shortest, shortest + more)
    assert lengths == sorted(set(lengths))


def film(*edges: int) -> VideoFrames:
    none = np.zeros(edges[-1], np.bool_)
    return VideoFrames(np.array(edges), none, none.copy(), edges[-1], FPS)


@given(st.integers(0, 999), st.lists(st.integers(1, 60), min_size=1, max_size=6))
def test_best_window_of_a_shot_is_a_unit(seed: int, lengths: list[int]) -> None:
    edges = np.cumsum([0, *lengths]).tolist()
    windows = WindowFinder(
        sums_of(np.random.default_rng(seed).random(edges[-1])), np.arange(edges[-1] + 1), 5
    )
    units = shot_windows(film(*edges), windows, 12)
    for number, span in enumerate(itertools.pairwise(edges)):
        best = windows.best(number, span, 5)
        assert best is None or best in units


def test_windows_lie_in_shots_within_the_limits() -> None:
    windows = WindowFinder(np.arange(101.0), np.arange(101), 20)
    for unit in shot_windows(film(0, 45, 70, 100), windows, 30):
        assert 20 <= unit.size <= 30
        assert any(start <= unit.start and unit.end <= end for start, end in ((0, 45), (45, 70), (70, 100)))


def test_shots_that_are_too_short_are_windows_together() -> None:
    windows = WindowFinder(np.arange(101.0), np.arange(101), 20)
    units = shot_windows(film(0, 10, 19, 33, 100), windows, 30)
    assert any(unit.end <= 33 for unit in units)
