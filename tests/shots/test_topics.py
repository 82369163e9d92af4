"""The dynamic programme of chapters against all cuts, and what it costs."""

from collections.abc import Iterator
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.shots.topics import cut_topics
from vidsum.types import FloatArray, TimeArray


def scatter(rows: FloatArray, weights: TimeArray) -> float:
    """The weighted sum of squared distances to the mean, by its definition."""
    mean = np.average(rows, axis=0, weights=weights)
    return float(sum(weight * ((row - mean) ** 2).sum() for row, weight in zip(rows, weights, strict=True)))


def cost(starts: list[int], rows: FloatArray, weights: TimeArray, prices: TimeArray) -> float:
    spans = pairwise([*starts, len(rows)])
    return sum(float(prices[low]) + scatter(rows[low:high], weights[low:high]) for low, high in spans)


def all_cuts(starts_s: TimeArray, end_s: float, min_s: float, fewest: int, most: int) -> Iterator[list[int]]:
    """All lists of first rows that obey the limits."""
    n = len(starts_s)
    for count in range(fewest, min(most, n) + 1):
        for inner in combinations(range(1, n), count - 1):
            edges_s = [min(0.0, starts_s[0]), *(starts_s[row] for row in inner), end_s]
            if all(after - before >= min_s for before, after in pairwise(edges_s)):
                yield [0, *inner]


@given(
    n=st.integers(1, 8),
    seed=st.integers(0, 10_000),
    price=st.sampled_from([0.0, 0.05, 0.5, 2.0, 100.0]),
    min_s=st.sampled_from([0.0, 3.0, 10.0]),
    count=st.integers(1, 4),
    or_more=st.booleans(),
    free=st.booleans(),
    levels=st.sampled_from([2, 1000]),
)
def test_topics_are_the_cheapest_of_all_cuts(
    n: int, seed: int, price: float, min_s: float, count: int, or_more: bool, free: bool, levels: int
) -> None:
    rng = np.random.default_rng(seed)
    rows = (rng.integers(0, levels, (n, 3)) / levels).astype(np.float32)  # two levels: many ties
    weights = rng.integers(1, 4, n).astype(np.float64)
    starts_s = np.sort(rng.integers(0, 40, n)).astype(np.float64)
    end_s = float(starts_s[-1] + rng.integers(1, 12))
    prices = np.where(rng.random(n) < 0.5, 0.0, price) if free else np.full(n, price)
    cuts = list(all_cuts(starts_s, end_s, min_s, count, n if or_more else count))
    found = cut_topics(
        rows, starts_s, end_s, prices, weights=weights, min_s=min_s, count=count, or_more=or_more
    )
    if not cuts:
        assert found is None
        return
    assert found in cuts
    least = min(cost(cut, rows, weights, prices) for cut in cuts)
    assert cost(found, rows, weights, prices) == pytest.approx(least, abs=1e-9)


def test_small_difference_far_into_a_film_is_found() -> None:
    """Sums of thousands of rows, more than a block of them, keep the digits of differences far from 0."""
    rng = np.random.default_rng(0)
    rows = 1e6 + 0.01 * rng.standard_normal((3000, 4))
    rows[2500:] += 0.01
    cut = cut_topics(rows, np.arange(3000.0), 3000.0, 0.005, min_s=10)
    assert cut == [0, pytest.approx(2500, abs=5)]


def test_a_higher_price_makes_fewer_topics() -> None:
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((200, 5))
    starts_s = np.arange(200) * 4.0
    counts = [len(cut_topics(rows, starts_s, 800.0, price) or ()) for price in (0.0, 1.0, 5.0, 20.0, 1e4)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] == 200
    assert counts[-1] == 1


def test_limits_that_no_cut_obeys_give_no_topics() -> None:
    starts_s = np.array([0.0, 4.0, 8.0])
    assert cut_topics(np.eye(3, dtype=np.float32), starts_s, 12.0, 0.1, min_s=10, count=2) is None
