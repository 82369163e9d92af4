"""The bridge by class names, against direct slow sums."""

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from vidsum.grounding.conse import ClassMixture, class_probabilities, conse, log_likelihood
from vidsum.models.scaling import unit_rows
from vidsum.types import FloatArray


def random_rows(seed: int, *shape: int) -> FloatArray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.fixture
def probabilities() -> FloatArray:
    """[7, 30]"""
    return class_probabilities(random_rows(0, 7, 30) * 5)


@pytest.fixture
def names() -> FloatArray:
    """[30, 12]"""
    return unit_rows(random_rows(1, 30, 12))


def test_probabilities_are_the_softmax_of_the_cooled_logits() -> None:
    logits = random_rows(0, 7, 30) * 20
    np.testing.assert_allclose(
        class_probabilities(logits, 2.0), softmax(logits / 2, axis=1), rtol=1e-4, atol=1e-7
    )
    assert np.isfinite(class_probabilities(logits * 100)).all()


def test_an_embedding_is_the_mean_of_the_names_by_probability(
    probabilities: FloatArray, names: FloatArray
) -> None:
    found = conse(ClassMixture(probabilities, names))
    for row, chance in zip(found, probabilities, strict=True):
        mean = sum(float(p) * name.astype(np.float64) for p, name in zip(chance, names, strict=True))
        np.testing.assert_allclose(row, mean / np.linalg.norm(mean), atol=1e-5)


def test_the_likelihood_is_a_sum_over_the_classes(probabilities: FloatArray, names: FloatArray) -> None:
    queries = unit_rows(random_rows(2, 3, 12))
    found = log_likelihood(ClassMixture(probabilities, names), queries, 10.0)
    expected = [
        [
            math.log(
                sum(float(p) * math.exp(10 * float(query @ name)) for p, name in zip(row, names, strict=True))
            )
            for row in probabilities
        ]
        for query in queries
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_with_little_sharpness_it_is_the_mean_cosine_of_the_classes(
    probabilities: FloatArray, names: FloatArray
) -> None:
    queries = unit_rows(random_rows(2, 3, 12))
    found = log_likelihood(ClassMixture(probabilities, names), queries, 0.01) / 0.01
    np.testing.assert_allclose(found, queries @ (probabilities @ names).T, atol=0.01)


@given(seed=st.integers(0, 1000), sharpness=st.floats(0.1, 30))
def test_the_likelihood_lies_between_the_nearest_and_the_farthest_name(seed: int, sharpness: float) -> None:
    mixture = ClassMixture(
        class_probabilities(random_rows(seed, 5, 9)), unit_rows(random_rows(seed + 1, 9, 4))
    )
    queries = unit_rows(random_rows(seed + 2, 2, 4))
    found: npt.NDArray[np.float32] = log_likelihood(mixture, queries, sharpness) / sharpness
    cosines = queries @ mixture.names.T
    assert (found <= cosines.max(axis=1, keepdims=True) + 1e-3).all()
    assert (found >= cosines.min(axis=1, keepdims=True) - 1e-3).all()


def test_an_unfitting_class_beside_the_right_one_does_less_harm_than_in_the_mean() -> None:
    names = np.eye(3, dtype=np.float32)
    query = unit_rows(np.array([[1.0, 0.3, 0.0]], np.float32))
    half_right, akin = [0.5, 0.0, 0.5], [0.0, 1.0, 0.0]
    sure = ClassMixture(np.array([half_right, akin], np.float32), names)
    gap = np.diff(log_likelihood(sure, query, 10.0) / 10)
    assert gap < np.diff(query @ (sure.probabilities @ names).T) < 0
