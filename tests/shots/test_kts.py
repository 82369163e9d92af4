"""Change points of KTS against brute force and a direct implementation; the scatter of every segment."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import deep, deep_but
from tests.shots.conftest import Rows, sequence
from tests.shots.direct import direct_change_points, penalty_of, scatters
from vidsum.shots.kts import change_points, cost_band


@pytest.mark.parametrize("seed", [*range(40), *(deep(seed) for seed in range(40, 160))])
def test_change_points_are_those_of_the_direct_implementation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 301)) if seed % 4 == 0 else int(rng.integers(1, 121))
    rows = sequence(rng, n, int(rng.integers(1, 65)), int(rng.integers(1, 30)), rng.choice([0, 0.1, 0.5, 3]))
    penalty = rng.choice([0.1, 0.3, 1.0, 3.0])
    assert change_points(rows, penalty=penalty).tolist() == direct_change_points(rows, penalty)


@pytest.mark.deep
@pytest.mark.shared
@pytest.mark.parametrize("seed", deep_but(range(3), range(12)))
def test_change_points_of_real_films_are_those_of_the_direct_implementation(
    real_rows: Rows, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    n = min(len(real_rows), int(rng.integers(100, 301)))
    start = int(rng.integers(0, len(real_rows) - n + 1))
    rows, penalty = real_rows[start : start + n], rng.choice([0.1, 0.3, 1.0])
    assert change_points(rows, penalty=penalty).tolist() == direct_change_points(rows, penalty)


def random_limits(seed: int) -> tuple[Rows, dict[str, int]]:
    """Rows, and limits of the lengths of shots, of their number, or of both."""
    rng = np.random.default_rng(2000 + seed)
    n = int(rng.integers(30, 150)) if seed else 300  # more than a block of `_fill_layer`
    rows, limits = sequence(rng, n, 16, int(rng.integers(2, 40)), 0.3), dict[str, int]()
    if seed % 3:
        shortest = int(rng.integers(1, 8))
        limits = {"shortest": shortest, "longest": 2 * shortest + int(rng.integers(0, 20))}
    if seed % 3 != 1:
        limits["max_shots"] = -(-n // limits.get("longest", n)) + int(rng.integers(0, 20))
    return rows, limits


@pytest.mark.parametrize("seed", range(60))
def test_change_points_with_limits_are_those_of_the_direct_implementation(seed: int) -> None:
    rows, limits = random_limits(seed)
    assert change_points(rows, penalty=0.4, **limits).tolist() == direct_change_points(rows, 0.4, **limits)


@pytest.mark.parametrize("seed", range(60))
def test_shots_obey_limits_of_length_and_number(seed: int) -> None:
    rows, limits = random_limits(seed)
    lengths = np.diff([0, *change_points(rows, penalty=0.4, **limits), len(rows)])
    assert len(lengths) <= limits.get("max_shots", len(rows))
    assert limits.get("shortest", 1) <= lengths.min()
    assert lengths.max() <= limits.get("longest", len(rows))


@pytest.mark.parametrize("seed", range(60))
def test_equal_rows_are_cut_no_more_than_the_limits_demand(seed: int) -> None:
    rows, limits = random_limits(seed)
    n_shots = -(-len(rows) // limits.get("longest", len(rows)))
    assert len(change_points(np.ones((len(rows), 3)), **limits)) == n_shots - 1


@pytest.mark.parametrize("seed", range(30))
def test_weighted_rows_count_as_repeated_ones(seed: int) -> None:
    rng = np.random.default_rng(3000 + seed)
    rows = sequence(rng, int(rng.integers(1, 60)), 16, 5, 0.3)
    counts = rng.integers(1, 6, len(rows))
    edges, repeated = np.cumsum(counts), np.repeat(rows, counts, axis=0)
    shortest = int(rng.integers(1, 4))
    weights = counts.astype(float)
    points = change_points(rows, penalty=0.3, shortest=shortest, weights=weights, lengths=weights)
    plain = direct_change_points(repeated, 0.3, shortest=shortest)
    starts = edges[points - 1].tolist()
    if set(plain) <= set(edges.tolist()):  # a limit may make the direct one cut inside equal rows
        assert starts == plain
    assert np.diff([0, *starts, len(repeated)]).min() >= min(shortest, len(repeated))


@given(
    values=st.lists(st.integers(0, 2), min_size=1, max_size=9),
    penalty=st.sampled_from([0.05, 0.5, 2.0]),
    shortest=st.integers(1, 2),
)
def test_of_equal_choices_the_fewest_and_earliest_shots_win(
    values: list[int], penalty: float, shortest: int
) -> None:
    rows, n = np.array(values, float)[:, None], len(values)
    cost = scatters(rows @ rows.T)
    ranked = []
    for m in range(n):
        for starts in combinations(range(1, n), m):
            edges = (0, *starts, n)
            if m == 0 or np.diff(edges).min() >= shortest:
                total = sum(cost[a, b] for a, b in pairwise(edges))
                ranked.append((round(total / n + penalty_of(m, n, penalty), 9), m, starts[::-1]))
    expected = min(ranked)[2][::-1]
    assert tuple(change_points(rows, penalty=penalty, shortest=min(shortest, n))) == expected


@pytest.mark.parametrize("offset", [0.0, 1e4, -1e6])
def test_change_points_do_not_depend_on_an_offset(offset: float) -> None:
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.standard_normal((10, 16)), 20, axis=0) + 0.05 * rng.standard_normal((200, 16))
    assert change_points(rows + offset).tolist() == list(range(20, 200, 20))


def test_change_points_of_thousands_of_rows_are_exact() -> None:
    rng = np.random.default_rng(0)
    starts = np.cumsum(rng.integers(4, 60, 300))
    labels = np.searchsorted(starts, np.arange(starts[-1]), side="right")
    rows = rng.standard_normal((len(starts), 8))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows[labels] + 0.01 * rng.standard_normal((len(labels), 8)) + 100
    assert change_points(rows, longest=120, penalty=0.1).tolist() == starts[:-1].tolist()


def test_a_higher_penalty_makes_fewer_shots() -> None:
    rows = sequence(np.random.default_rng(3), 200, 16, 8, 0.5)
    counts = [len(change_points(rows, penalty=penalty)) for penalty in (0.01, 0.1, 1.0, 10.0, 100.0)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] == 199
    assert counts[-1] == 0


@pytest.mark.parametrize(
    "limits",
    [{"longest": 4, "max_shots": 2}, {"shortest": 6, "longest": 7}, {"shortest": 11}],
    ids=["too few shots allowed", "no multiple fits", "shorter than one shot"],
)
def test_impossible_limits_are_refused(limits: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="10 rows do not fit"):
        change_points(np.ones((10, 2)), **limits)


@pytest.mark.parametrize(
    ("n", "longest", "shortest"), [(1, 1, 1), (7, 7, 1), (40, 6, 3), (300, 20, 1), (530, 4, 4), (130, 130, 1)]
)
def test_cost_of_every_segment_is_its_scatter(n: int, longest: int, shortest: int) -> None:
    rows = np.random.default_rng(n).standard_normal((n, 5)).astype(np.float32)
    band = np.full((n + 1, longest), np.inf)
    for end in range(1, n + 1):
        for start in range(max(0, end - longest), end - shortest + 1):
            segment = rows[start:end].astype(np.longdouble)
            band[end, start - end + longest] = ((segment - segment.mean(axis=0)) ** 2).sum()
    np.testing.assert_allclose(cost_band(rows, longest, shortest), band, rtol=1e-10, atol=1e-12)


def test_cost_does_not_depend_on_an_offset() -> None:
    near = np.random.default_rng(0).integers(0, 8, (600, 3)).astype(np.float64)
    np.testing.assert_allclose(cost_band(near + 2.0**24, 30), cost_band(near, 30), rtol=1e-9, atol=1e-9)


def test_cost_of_equal_rows_is_nothing() -> None:
    band = cost_band(np.full((400, 7), 0.1, np.float32), 50)
    assert np.abs(band[np.isfinite(band)]).max() < 1e-12
