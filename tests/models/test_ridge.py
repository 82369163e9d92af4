"""Ridge regression as a model: windows against a loop."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.errors import UsageError
from vidsum.models.configs import RidgeConfig
from vidsum.models.ridge import build_scorer, moving_average
from vidsum.models.scaling import unit_range, unit_rows


def slow_average(rows: np.ndarray, window: int) -> np.ndarray:
    """[T, D] each row the mean of the window around it, in which the two ends are repeated."""
    half, last = window // 2, len(rows) - 1
    means = [
        sum(rows[min(max(other, 0), last)] for other in range(t - half, t + half + 1)) / window
        for t in range(len(rows))
    ]
    return np.array(means)


@given(st.integers(1, 30), st.integers(1, 3), st.sampled_from([1, 3, 7, 21]))
def test_windows_are_those_of_a_loop(n_samples: int, dim: int, window: int) -> None:
    rows = np.random.default_rng(n_samples).normal(size=(n_samples, dim))
    np.testing.assert_allclose(moving_average(rows, window), slow_average(rows, window), atol=1e-6)


@pytest.mark.parametrize("n_samples", [1, 2, 40])
def test_scores_are_averages_before_and_after_the_weights(n_samples: int) -> None:
    rng = np.random.default_rng(0)
    weights = rng.normal(size=4)
    model = build_scorer(RidgeConfig(dim_in=4, window=5), {"weights": weights, "spread": np.array(0.5)})
    rows = rng.normal(size=(n_samples, 4)).astype(np.float32)
    wanted = slow_average(slow_average(rows, 5) @ weights, 5)
    np.testing.assert_allclose(model(rows), (wanted - wanted.mean()) / 0.5, atol=1e-5)


def test_a_config_is_checked() -> None:
    for wrong in ({"window": 4}, {"window": 0}, {"novelty": -0.5}, {"dim_in": 0}):
        with pytest.raises(UsageError, match=next(iter(wrong))):
            RidgeConfig(**wrong)
    rows = unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32))
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0.0, 0.0]], rtol=1e-6)
    assert rows.dtype == np.float32


@pytest.mark.parametrize(
    "changed",
    [
        {"weights": np.ones(5)},
        {"offset": np.ones(4)},
        {"weights": np.ones(4, complex)},
        {"spread": np.ones(1)},
    ],
)
def test_arrays_that_do_not_fit_are_refused(changed: dict[str, np.ndarray]) -> None:
    arrays = {"weights": np.ones(4), "spread": np.array(1.0)}
    config = RidgeConfig(dim_in=4)
    assert build_scorer(config, arrays).arrays.keys() == arrays.keys()
    with pytest.raises(ValueError, match=r"shapes|complex"):
        build_scorer(config, arrays | changed)


@pytest.mark.parametrize("flat", [0.0, 0.5, 1.0])
def test_a_curve_reaches_from_0_to_1_unless_it_is_flat(flat: float) -> None:
    assert unit_range(np.array([2, 4, 3], np.float32), flat).tolist() == [0.0, 1.0, 0.5]
    assert unit_range(np.full(3, 7, np.float32), flat).tolist() == [flat] * 3
