"""The optimiser: its constraints, and its choice against all choices of small films."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docs.benchmarks.optimum import best_choice
from tests.summary.test_objective import random_objective
from vidsum.summary.objective import Objective
from vidsum.summary.optimise import Excluded, maximise
from vidsum.types import IntArray


def exclude(pairs: set[tuple[int, int]]) -> Excluded:
    """Units exclude themselves and their pairs."""
    both = pairs | {(second, first) for first, second in pairs}

    def excluded(chosen: Sequence[int], unit: int) -> IntArray:
        return np.array([unit, *(second for first, second in both if first == unit)])

    return excluded


@dataclass(frozen=True)
class Problem:
    """Units of a small film."""

    objective: Objective
    sizes: IntArray
    room: int
    pairs: set[tuple[int, int]]

    def solve(self) -> list[int]:
        return maximise(self.objective, self.sizes, self.room, exclude(self.pairs))


def test_unit_takes_its_size_of_the_room() -> None:
    nothing = np.zeros((3, 1), np.float32)
    objective = Objective(np.array([3.0, 2.0, 1.0]), nothing, nothing[0])
    assert maximise(objective, np.array([6, 6, 4], np.int64), 10, exclude(set())) == [0, 2]


def test_each_of_a_few_units_is_tried_as_the_first() -> None:
    """Greedy takes the long one, or per frame the short one: neither leaves room for both others."""
    values, nothing = np.array([10.0, 6.9, 6.9, 3.0]), np.zeros((4, 1), np.float32)
    objective = Objective(values, nothing, nothing[0])
    sizes = np.array([9, 6, 6, 2], np.int64)
    assert maximise(objective, sizes, 12, exclude(set()), range(4)) == [1, 2]


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    n_units = draw(st.integers(1, 9))
    numbers = st.integers(0, n_units - 1)
    pairs = {(a, b) for a, b in draw(st.sets(st.tuples(numbers, numbers), max_size=6)) if a != b}
    sizes = np.array(draw(st.lists(st.integers(1, 20), min_size=n_units, max_size=n_units)), np.int64)
    objective = random_objective(draw(st.integers(0, 9999)), n_units)
    return Problem(objective, sizes, draw(st.integers(0, 40)), pairs)


@given(problems())
def test_budget_is_never_exceeded(problem: Problem) -> None:
    assert problem.sizes[problem.solve()].sum() <= problem.room


@given(problems())
def test_units_that_exclude_each_other_are_not_both_chosen(problem: Problem) -> None:
    chosen = problem.solve()
    assert len(set(chosen)) == len(chosen)
    assert not {(a, b) for a, b in itertools.product(chosen, repeat=2)} & problem.pairs


@given(problems())
def test_no_further_unit_fits(problem: Problem) -> None:
    chosen = problem.solve()
    left = problem.room - problem.sizes[chosen].sum()
    excluded = exclude(problem.pairs)
    are_out = {other for unit in chosen for other in excluded(chosen, unit).tolist()}
    assert all(size > left or unit in are_out for unit, size in enumerate(problem.sizes.tolist()))


@given(problems())
def test_choice_is_near_the_best_of_all(problem: Problem) -> None:
    chosen = problem.objective.value(problem.solve())
    best = best_choice(problem.objective, problem.sizes, problem.room, exclude(problem.pairs))
    assert 0.75 * best - 1e-5 <= chosen <= best + 1e-5


@pytest.mark.parametrize("order", [lambda values: values, lambda values: values[::-1]])
def test_exchange_finds_what_greedy_misses(order: Callable[[list[float]], list[float]]) -> None:
    # the first by value per frame leaves no room for the two that are best together
    values, sizes = order([1.2, 2.0, 2.0]), order([1.0, 2.0, 2.0])
    nothing = np.zeros((3, 1), np.float32)
    objective = Objective(np.array(values), nothing, np.zeros(1, np.float32))
    chosen = maximise(objective, np.array(sizes, np.int64), 4, exclude(set()))
    assert objective.value(chosen) == 4.0


def test_choice_is_improved_by_exchanging_units() -> None:
    # the last unit is the best by value, and the third by value per frame; the first two are better together
    values, sizes = np.array([5.0, 5.0, 3.0, 7.0]), np.array([4, 2, 2, 5])
    objective = Objective(values, np.zeros((4, 1), np.float32), np.zeros(1, np.float32))
    assert maximise(objective, sizes, 6, exclude(set())) == [0, 1]
