"""The knapsack against trying every choice, and against a plain dynamic programme."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.summary.knapsack import SCORE_STEPS, knapsack, values_of

Instance = tuple[np.ndarray, np.ndarray, int]


def every_choice(values: np.ndarray, weights: np.ndarray, capacity: int) -> list[bool]:
    """The best choice by trial of all; of several, the one that takes the earlier items."""
    choices = np.array(list(itertools.product([1, 0], repeat=len(values))))
    allowed = choices[(choices @ weights <= capacity) & ((choices * (values == 0)).sum(axis=1) == 0)]
    best = allowed[(allowed @ values).argmax()]  # the choices begin with those that take the first item
    return [bool(take) for take in best]


def plain_best(values: np.ndarray, weights: np.ndarray, capacity: int) -> int:
    best = np.zeros(capacity + 1, np.int64)
    for value, weight in zip(values, weights, strict=True):
        if weight <= capacity:
            best[weight:] = np.maximum(best[weight:], best[: capacity + 1 - weight] + value)
    return int(best[-1])


@st.composite
def instances(draw: st.DrawFn, most_items: int) -> Instance:
    n = draw(st.integers(0, most_items))
    largest_value = draw(st.sampled_from([1, 3, 100, SCORE_STEPS]))
    largest_weight = draw(st.sampled_from([1, 4, 30, 1000]))
    values = draw(st.lists(st.integers(0, largest_value), min_size=n, max_size=n))
    weights = draw(st.lists(st.integers(1, largest_weight), min_size=n, max_size=n))
    capacity = draw(st.integers(0, sum(weights) + 1))
    return np.array(values, np.int64), np.array(weights, np.int64), capacity


@given(instances(most_items=12))
def test_knapsack_is_the_best_choice_and_of_equals_the_earlier(instance: Instance) -> None:
    assert knapsack(*instance).tolist() == every_choice(*instance)


@pytest.mark.parametrize("seed", range(8))
def test_knapsack_of_large_values_is_the_best_choice(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 50, 12) * 2**18  # with a common divisor, so that the capacities stay few
    values = values_of(rng.random(12)) * weights
    capacity = int(weights.sum() * rng.uniform(0.1, 0.9))
    assert knapsack(values, weights, capacity).tolist() == every_choice(values, weights, capacity)


@pytest.mark.parametrize("kind", ["unrelated", "equal values", "equal weights", "strongly correlated"])
@pytest.mark.parametrize("share", [0.01, 0.15, 0.5, 0.97])
def test_knapsack_of_hundreds_has_the_highest_value(kind: str, share: float) -> None:
    rng = np.random.default_rng(0)
    weights = np.full(300, 60) if kind == "equal weights" else rng.integers(20, 100, 300)
    known = {"equal values": np.ones(300), "strongly correlated": (weights + 10) / 110}
    scores = known.get(kind, rng.random(300))
    values, capacity = values_of(scores), int(share * weights.sum())
    taken = knapsack(values, weights, capacity)
    assert weights[taken].sum() <= capacity
    assert values[taken].sum() == plain_best(values, weights, capacity)


def test_scores_become_whole_numbers() -> None:
    assert values_of([0.0, 0.25, 1.0]).tolist() == [0, SCORE_STEPS // 4, SCORE_STEPS]


@pytest.mark.parametrize(("capacity", "taken"), [(9, [False, False]), (30, [True, True])])
def test_knapsack_takes_none_or_all(capacity: int, taken: list[bool]) -> None:
    assert knapsack(np.array([5, 6]), np.array([10, 20]), capacity).tolist() == taken


def test_knapsack_of_nothing_is_empty() -> None:
    nothing = np.empty(0, np.int64)
    assert knapsack(nothing, nothing, 30).tolist() == []
