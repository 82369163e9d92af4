"""The choice of the benchmarks of importance, by hand; and what counts as an event."""

import numpy as np
import pytest

from docs.benchmarks.fixed_cameras import n_events
from docs.benchmarks.trade import Units, make_units

SAME = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]], np.float32)  # two units of one look, and another


def units(*expected: float) -> Units:
    return Units(np.array([2.0, 2.0, 2.0]), np.array(expected), SAME)


def test_without_a_weight_the_highest_scores_are_chosen() -> None:
    assert units(0.9, 0.8, 0.1).choose(4.0, 0.0).tolist() == [True, True, False]


def test_with_a_weight_another_look_comes_before_the_same_again() -> None:
    assert units(0.9, 0.8, 0.1).choose(4.0, 1.0).tolist() == [True, False, True]


def test_choice_is_no_longer_than_the_budget() -> None:
    assert units(0.9, 0.8, 0.1).choose(3.9, 1.0).sum() == 1


def test_likeness_of_a_choice_is_the_mean_over_the_film() -> None:
    assert units(0, 0, 0).coverage(np.array([True, False, False])) == pytest.approx(2 / 3)


def test_unit_has_the_mean_of_its_samples() -> None:
    times, rows = np.arange(4.0), np.eye(4, 2, dtype=np.float32)
    made = make_units([(0.0, 2.0), (2.0, 4.0)], times, rows, np.array([1, 3, 5, 7], np.float32))
    assert made.expected.tolist() == [2, 6]
    assert made.seconds.tolist() == [2, 2]


def test_segment_shows_an_event_if_half_of_it_is_one() -> None:
    assert n_events([(0.0, 4.0), (4.0, 8.0), (9.0, 10.0)], [(2.0, 5.0)]) == 1
