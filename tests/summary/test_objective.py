"""The objective: its definition written out, and that what a unit adds only falls."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.summary.objective import WEIGHTS, Objective, representation, unit_values


def random_objective(seed: int, n_units: int = 6, n_shown: int = 5) -> Objective:
    rng = np.random.default_rng(seed)
    shows = rng.uniform(0, 1, (n_units, n_shown)).astype(np.float32)
    return Objective(rng.uniform(0, 2, n_units), shows, np.zeros(n_shown, np.float32))


@given(st.integers(0, 9999), st.sets(st.integers(0, 5)))
def test_value_is_the_sum_of_values_and_of_what_is_shown_best(seed: int, chosen: set[int]) -> None:
    objective = random_objective(seed)
    best = [max((objective.shows[unit, j] for unit in chosen), default=0.0) for j in range(5)]
    expected = sum(objective.values[unit] for unit in chosen) + sum(best)
    assert objective.value([*chosen]) == pytest.approx(expected, rel=1e-5)


@given(st.integers(0, 9999), st.sets(st.integers(0, 5)), st.sets(st.integers(0, 5)), st.integers(0, 5))
def test_what_a_unit_adds_falls_as_others_join(seed: int, few: set[int], more: set[int], unit: int) -> None:
    objective, many = random_objective(seed), few | more

    def gain(chosen: set[int]) -> float:
        return objective.value([*(chosen | {unit})]) - objective.value([*chosen])

    if unit not in many:
        assert gain(few) >= gain(many) - 1e-5


def test_what_is_shown_anyway_counts_for_nobody() -> None:
    objective = Objective(np.zeros(1), np.array([[1.0, 0.5]], np.float32), np.array([0.5, 1.0], np.float32))
    assert objective.value([0]) == 0.5
    assert objective.value([]) == 0


def test_unit_is_worth_its_seconds_less_its_cuts() -> None:
    values = unit_values(np.array([4.0, 4.0]), np.array([0.5, -0.5]), [1, 2], [0.0, 0.0])
    assert values.tolist() == pytest.approx([4 * 2 - WEIGHTS.cut, 4 - 2 * WEIGHTS.cut])


def test_every_unit_is_worth_something() -> None:
    assert unit_values(np.array([0.2]), np.zeros(1), [3], [0.0])[0] > 0


def test_speech_is_worth_more_than_silence() -> None:
    said, silent = unit_values(np.full(2, 3.0), np.zeros(2), [1, 1], [1.0, 0.0])
    assert said - silent == pytest.approx(3 * WEIGHTS.speech)


def test_film_that_is_shown_in_full_has_the_full_weight() -> None:
    looks, quarters = np.array([[0.25, 0.75]], np.float32), np.ones((1, 4), np.bool_)
    shows = representation(looks, quarters, np.ones((1, 2), np.float32), 10.0)
    assert shows.sum() == pytest.approx(10 * (WEIGHTS.look + WEIGHTS.time) + 2)
