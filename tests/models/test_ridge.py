"""Ridge regression as a model: windows against a loop, random features against their kernel."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vidsum.errors import UsageError
from vidsum.models.configs import RidgeConfig
from vidsum.models.ridge import RidgeScorer, averaged


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
    rows = np.random.default_rng(n_samples).normal(size=(2, n_samples, dim))
    found = averaged(torch.from_numpy(rows), window).numpy()
    for one, wanted in zip(found, rows, strict=True):
        np.testing.assert_allclose(one, slow_average(wanted, window), atol=1e-9)


@pytest.mark.parametrize("n_samples", [1, 2, 40])
def test_scores_are_averages_before_and_after_the_weights(n_samples: int) -> None:
    rng = np.random.default_rng(0)
    model = RidgeScorer(RidgeConfig(dim_in=4, window=5)).eval()
    weights = rng.normal(size=4)
    model.load_state_dict({"weights": torch.tensor(weights), "spread": torch.tensor(0.5)})
    features = rng.normal(size=(3, n_samples, 4))
    found = model(torch.tensor(features, dtype=torch.float32)).detach().numpy()
    assert found.shape == (3, n_samples)
    for scores, rows in zip(found, features, strict=True):
        wanted = slow_average(slow_average(rows, 5) @ weights, 5)
        np.testing.assert_allclose(scores, (wanted - wanted.mean()) / 0.5, atol=1e-5)


@given(st.integers(0, 1000), st.floats(-50, 50))
def test_linear_scores_are_blind_to_a_constant_of_the_features(seed: int, constant: float) -> None:
    model = RidgeScorer(RidgeConfig(dim_in=3, window=3))
    torch.nn.init.normal_(model.weights, generator=torch.Generator().manual_seed(seed))
    features = torch.randn(1, 9, 3, generator=torch.Generator().manual_seed(seed))
    shifted = features + constant * torch.tensor([1.0, -2.0, 0.5])
    torch.testing.assert_close(model(shifted), model(features), atol=1e-4, rtol=0)


@pytest.mark.parametrize("gamma", [0.05, 0.5])
def test_products_of_random_features_are_the_gaussian_kernel(gamma: float) -> None:
    """With rows of P of deviation sqrt(2 gamma): phi(x) phi(y) is exp(-gamma |x - y|^2) in expectation."""
    n_components = 20_000
    rng = np.random.default_rng(0)
    model = RidgeScorer(RidgeConfig(dim_in=3, window=1, components=n_components))
    model.get_buffer("projection").copy_(
        torch.from_numpy(math.sqrt(2 * gamma) * rng.normal(size=(n_components, 3)))
    )
    model.get_buffer("offset").copy_(torch.from_numpy(rng.uniform(0, 2 * np.pi, n_components)))
    points = rng.normal(0, 1.5, (12, 3))
    phi = model.expand(torch.tensor(points, dtype=torch.float32)[None])[0].numpy()
    assert phi.shape == (12, n_components)
    distances = np.array([[((x - y) ** 2).sum() for y in points] for x in points])
    np.testing.assert_allclose(phi @ phi.T, np.exp(-gamma * distances), atol=0.04)


def test_a_config_is_checked() -> None:
    for wrong in ({"window": 4}, {"window": 0}, {"components": -1}, {"novelty": -0.5}, {"dim_in": 0}):
        with pytest.raises(UsageError, match=next(iter(wrong))):
            RidgeConfig(**wrong)
