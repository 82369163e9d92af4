"""Rank correlation against SciPy, pair by pair."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr

from vidsum.lab.evaluation.summary_metrics import kendall_tau_b, spearman_rho


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), n_samples=st.integers(2, 40), levels=st.sampled_from([2, 5, 1000]))
def test_every_pair_of_rows_is_as_scipy_has_it(seed: int, n_samples: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    first = rng.integers(0, levels, (3, n_samples)).astype(np.float32)
    second = rng.random((2, n_samples), np.float32)
    second[:, :2] = 0, 1  # never constant
    first[:, :2] = 1, 0
    taus, rhos = kendall_tau_b(first, second), spearman_rho(first, second)
    for a in range(3):
        for b in range(2):
            assert taus[a, b] == pytest.approx(kendalltau(first[a], second[b]).statistic, abs=1e-9)
            assert rhos[a, b] == pytest.approx(spearmanr(first[a], second[b]).statistic, abs=1e-9)


def test_an_order_and_its_reverse() -> None:
    scores = np.arange(10.0)
    assert kendall_tau_b(scores, -scores) == pytest.approx(-1)
    assert spearman_rho(scores, -scores) == pytest.approx(-1)


@pytest.mark.parametrize("correlation", [kendall_tau_b, spearman_rho])
def test_a_constant_row_agrees_with_nothing(correlation: Callable[..., np.ndarray]) -> None:
    assert correlation(np.ones(5), [np.arange(5.0), np.ones(5)]).tolist() == [[0, 0]]
