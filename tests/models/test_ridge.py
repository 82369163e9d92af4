"""Ridge regression as a model: windows against a loop."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.errors import UsageError
from vidsum.models.configs import RidgeConfig
from vidsum.models.ridge import build_scorer, moving_average


def slow_average(rows: np.ndarray, window: int) -> np.ndarray:
    """[T, D] each row the mean of the window around it, in which the two ends are repeated."""
    half, last = window // 2, len(rows) - 1
    means = [
        sum(rows[min(max(other, 0), last)] for other in range(t - half, t + half + 1)) / window
        for t in range(len(rows))
    ]
    return np.array(means)


@given(st.integers(1, 30), st.integers(1, 3), st.sampled_from([1, 3, 7, 21]))
def test_moving_average_is_the_mean_of_a_window(n_samples: int, dim: int, window: int) -> None:
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


@pytest.mark.parametrize("wrong", [{"window": 4}, {"window": 0}, {"novelty": -0.5}, {"dim_in": 0}], ids=str)
def test_wrong_option_of_ridge_is_named(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        RidgeConfig(**wrong)  # type: ignore[arg-type]


ARRAYS = {"weights": np.ones(4), "spread": np.array(1.0)}


def test_arrays_of_a_model_are_kept() -> None:
    assert build_scorer(RidgeConfig(dim_in=4), ARRAYS).arrays.keys() == ARRAYS.keys()


@pytest.mark.parametrize(
    "changed",
    [
        {"weights": np.ones(5)},
        {"offset": np.ones(4)},
        {"weights": np.ones(4, complex)},
        {"spread": np.ones(1)},
    ],
    ids=["length", "unknown", "complex", "dimensions"],
)
def test_arrays_that_do_not_fit_are_refused(changed: dict[str, np.ndarray]) -> None:
    with pytest.raises(ValueError, match=r"shapes|complex"):
        build_scorer(RidgeConfig(dim_in=4), ARRAYS | changed)
