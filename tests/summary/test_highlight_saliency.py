"""Saliency with no query, against its equations computed one sample at a time."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.ndimage import gaussian_filter1d

from vidsum.results.features import Features
from vidsum.summary.importance import highlights

ROWS = arrays(
    np.float32, st.tuples(st.integers(1, 9), st.integers(1, 3)), elements=st.floats(-4, 4, width=32)
)


def made(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.uniform(0.5, 2, (n, 1)) * (1 + rng.normal(0, 0.5, (n, 8)))


def direct(rows: np.ndarray, fps: float) -> np.ndarray:
    """The equations of docs/highlights.md."""
    lengths = [math.sqrt(sum(float(x) ** 2 for x in row)) for row in rows]
    mean = sum(lengths) / len(lengths)
    between = [
        1 - sum(float(x) * float(y) for x, y in zip(one, other, strict=True)) / (a * b)
        for one, other, a, b in zip(rows[:-1], rows[1:], lengths[:-1], lengths[1:], strict=True)
    ]
    change = [min(between[max(t - 1, 0)], between[min(t, len(between) - 1)]) for t in range(len(rows))]
    total = [0.0] * len(rows)
    for values, least in (([length / mean for length in lengths], 0.1), (change, 0.02)):
        spread = max(max(values) - min(values), least)
        total = [sum_ + (value - min(values)) / spread for sum_, value in zip(total, values, strict=True)]
    return gaussian_filter1d(np.array(total) / 2, 0.5 * fps)


@pytest.mark.parametrize(("n", "fps"), [(2, 2.0), (3, 2.0), (40, 2.0), (40, 5.0), (25, 1.5625)])
def test_saliency_is_its_equations(n: int, fps: float) -> None:
    rows = made(n, seed=n).astype(np.float32)
    np.testing.assert_allclose(highlights(Features.from_array(rows, fps)), direct(rows, fps), atol=1e-5)


@given(ROWS)
def test_saliency_lies_between_0_and_1(rows: np.ndarray) -> None:
    saliency = highlights(Features.from_array(rows))
    assert saliency.shape == (len(rows),)
    assert saliency.dtype == np.float32
    assert ((saliency >= 0) & (saliency <= 1)).all()


@given(st.integers(2, 40), st.floats(0.01, 100))
def test_saliency_ignores_the_unit(n: int, scale: float) -> None:
    rows = made(n)
    np.testing.assert_allclose(
        highlights(Features.from_array(rows * scale)), highlights(Features.from_array(rows)), atol=1e-4
    )


def test_noise_is_not_salient() -> None:
    rng = np.random.default_rng(0)
    rows = np.ones((60, 64)) + rng.normal(0, 0.001, (60, 64))
    assert highlights(Features.from_array(rows)).max() < 0.05


def test_motion_is_salient_and_a_cut_is_not() -> None:
    rng = np.random.default_rng(0)
    first, second = np.abs(rng.normal(size=(2, 64)))
    moving = np.abs(second + rng.normal(0, 0.4, (12, 64)))
    moving *= np.linalg.norm(second) / np.linalg.norm(moving, axis=1, keepdims=True)
    first *= np.linalg.norm(second) / np.linalg.norm(first)
    rows = np.concatenate([np.repeat(first[None], 12, axis=0), np.repeat(second[None], 12, axis=0), moving])
    saliency = highlights(Features.from_array(rows))
    assert saliency[:20].max() < 0.01
    assert saliency[28:].min() > 0.2


def test_strong_features_are_salient() -> None:
    row = np.abs(np.random.default_rng(0).normal(size=64))
    strengths = np.repeat([1.0, 3.0, 0.2], 10)
    saliency = highlights(Features.from_array(strengths[:, None] * row))
    np.testing.assert_allclose(saliency[[4, 14, 25]], [0.5 * (1 - 0.2) / 2.8, 0.5, 0.0], atol=1e-4)


@pytest.mark.parametrize(
    "rows",
    [np.ones((1, 4)), np.zeros((1, 4)), np.zeros((9, 4)), np.ones((9, 4))],
    ids=["one", "one of zeros", "zeros", "ones"],
)
def test_constant_features_are_not_salient(rows: np.ndarray) -> None:
    assert (highlights(Features.from_array(rows)) == 0).all()
