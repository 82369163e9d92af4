"""Importance scores against their equations, computed the slow way."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import gaussian_filter1d

from vidsum.results.features import Features
from vidsum.summary import importance
from vidsum.summary.importance import SCORERS, contrastive


def made(n: int, dim: int = 8, seed: int = 0) -> Features:
    return Features.from_array(np.random.default_rng(seed).normal(size=(n, dim)))


def direct_contrastive(features: Features) -> np.ndarray:
    """The equations of docs/algorithms/importance.md, one sample at a time."""
    rows = [row / np.linalg.norm(row) for row in features.array.astype(np.float64)]
    n = len(rows)
    local, consistency = [], []
    for t in range(n):
        distances = [float(np.sum((rows[t] - rows[j]) ** 2)) for j in range(n)]
        n_near = max(2, int(0.1 * n))
        local.append(sum(sorted(distances)[:n_near]) / n_near)
        consistency.append(math.log(sum(math.exp(-2 * d) for d in distances) / n))
    product = np.ones(n)
    for values in (local, consistency):
        product *= (np.array(values) - min(values)) / (max(values) - min(values))
    return gaussian_filter1d(product, 1.0)


@pytest.mark.parametrize("n", [3, 15, 60, 150])
def test_contrastive_is_its_equations(n: int) -> None:
    features = made(n, seed=n)
    np.testing.assert_allclose(contrastive(features), direct_contrastive(features), atol=2e-5)


def test_contrastive_in_blocks_is_contrastive_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    features = made(100)
    whole = contrastive(features)
    monkeypatch.setattr(importance, "_BLOCK", 7)
    np.testing.assert_allclose(contrastive(features), whole, atol=1e-6)


def test_contrastive_prefers_varied_pictures_of_the_theme() -> None:
    rng = np.random.default_rng(0)
    theme = rng.normal(size=32)
    still = np.repeat(theme[None] + rng.normal(0, 0.6, 32), 40, axis=0)
    varied = theme + rng.normal(0, 0.5, (40, 32))
    alone = -theme + rng.normal(0, 0.1, (6, 32))
    scores = contrastive(Features.from_array(np.concatenate([still, varied, alone])))
    assert scores[45:75].mean() > scores[5:35].mean()
    assert scores[45:75].mean() > scores[82:].mean()


SEEDED = {"n": st.integers(1, 50), "dim": st.integers(1, 5), "seed": st.integers(0, 9)}


@pytest.mark.parametrize("name", SCORERS)
@settings(max_examples=25, deadline=None)
@given(**SEEDED)
def test_scores_lie_between_0_and_1(name: str, n: int, dim: int, seed: int) -> None:
    scores = SCORERS[name](made(n, dim, seed), seed)
    assert scores.shape == (n,)
    assert scores.dtype == np.float32
    assert ((scores >= 0) & (scores <= 1)).all()


@pytest.mark.parametrize("name", SCORERS)
@settings(max_examples=10, deadline=None)
@given(**SEEDED)
def test_scores_of_a_seed_are_the_same_again(name: str, n: int, dim: int, seed: int) -> None:
    features = made(n, dim, seed)
    np.testing.assert_array_equal(SCORERS[name](features, seed), SCORERS[name](features, seed))


@settings(max_examples=10, deadline=None)
@given(**SEEDED)
def test_random_scores_of_another_seed_differ(n: int, dim: int, seed: int) -> None:
    features = made(n, dim, seed)
    assert (SCORERS["random"](features, seed) != SCORERS["random"](features, seed + 1)).any()


@pytest.mark.parametrize("name", ["contrastive", "uniform"])
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_video_of_one_picture_is_important_throughout(name: str, value: float) -> None:
    assert (SCORERS[name](Features.from_array(np.full((50, 4), value)), 0) == 1).all()


def test_differences_by_rounding_alone_are_none() -> None:
    rows = np.ones((50, 4)) + np.random.default_rng(0).normal(0, 1e-7, (50, 4))
    assert (contrastive(Features.from_array(rows)) == 1).all()
