"""Simulated evidence: its noise against a covariance by hand, its gain, and what a seed decides."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

from tests.captioned.made import DIM, WORDS, classifier, encode, unit, video
from tests.conftest import real_weights
from vidsum.captioned.classes import EVIDENCE, RESPONSES, Classifier, evidence_of, load_classifier, simulated

MADE = classifier(n_classes=20, dim=64)


def covariance(of: Classifier) -> np.ndarray:
    """Of the evidence of noise, step by step: features of noise, their scores of deviation 1, the names.

    Features have the covariance ((W - mean)^T (W - mean))^sharpness.
    """
    weights, names = of.weights.astype(np.float64), of.names.astype(np.float64)
    centre = np.eye(len(names)) - 1 / len(names)
    of_features = scipy.linalg.fractional_matrix_power(weights.T @ centre @ weights, of.response.sharpness)
    of_scores = weights @ of_features.real @ weights.T
    of_scores /= np.trace(of_scores) / len(names)
    return names.T @ centre @ of_scores @ centre @ names / of.response.scale**2


@pytest.mark.parametrize("network", RESPONSES)
def test_noise_has_the_covariance_of_a_mixture_of_weights_seen_through_the_last_layer(network: str) -> None:
    made = replace(classifier(n_classes=80, dim=64), response=RESPONSES[network])
    wanted = covariance(made)
    np.testing.assert_allclose(made.noise.T @ made.noise, wanted, atol=1e-3 * np.abs(wanted).max())


@pytest.mark.parametrize("n_classes", [20, 500])
def test_gain_is_symmetric_and_shrinks_by_the_spread_of_the_noise(n_classes: int) -> None:
    """In another form: with S the root of the covariance, 0.7 S (I + 0.2 S)^-1."""
    made = classifier(n_classes, dim=64)
    root = scipy.linalg.sqrtm(covariance(made)).real
    wanted = np.linalg.solve(np.eye(DIM) + 0.2 * root, 0.7 * root)
    np.testing.assert_allclose(made.gain, made.gain.T, atol=1e-5)
    np.testing.assert_allclose(made.gain, wanted, atol=2e-3 * np.abs(wanted).max())


def test_evidence_is_a_third_of_the_names_weighted_by_scores_less_their_mean() -> None:
    scores = np.random.default_rng(0).normal(3, 2, (4, 20))
    for row, of_scores in zip(MADE.evidence(scores), scores, strict=True):
        wanted = sum((s - of_scores.mean()) * name for s, name in zip(of_scores, MADE.names, strict=True)) / 3
        np.testing.assert_allclose(row, wanted, atol=1e-4)


@given(st.integers(0, 100), st.floats(-3, 3), st.floats(-3, 3))
def test_evidence_is_linear_and_blind_to_a_constant(seed: int, a: float, b: float) -> None:
    one, other = np.random.default_rng(seed).normal(size=(2, 3, 20))
    wanted = a * MADE.evidence(one) + b * MADE.evidence(other)
    np.testing.assert_allclose(MADE.evidence(a * one + b * other + 7), wanted, atol=1e-4)


def test_to_evidence_is_what_the_last_layer_and_the_names_make_of_features() -> None:
    rng = np.random.default_rng(0)
    features, bias = rng.normal(size=(5, 64)), rng.normal(size=20)
    evidence = MADE.evidence(features @ MADE.weights.T + bias)
    direct = features @ MADE.to_evidence.T
    np.testing.assert_allclose(np.diff(evidence, axis=0), np.diff(direct, axis=0), atol=1e-4)


def test_without_a_caption_evidence_is_noise_that_lasts_as_long_as_a_shot() -> None:
    """Captions that no class name is like give all classes one score: what is left is noise.

    Of its variance one part lasts for the shot, and of the other a fraction goes on to the next frame;
    nothing goes on to the next shot.
    """
    basis = np.linalg.svd(MADE.names)[2]  # rows after the 20th are at right angles to all names
    captions = basis[[30, 30, 31]].astype(np.float32)
    rng = np.random.default_rng(0)
    draws = np.stack([evidence_of(captions, MADE, rng) for _ in range(3000)])
    unit_variance = np.trace(covariance(MADE))
    products = np.einsum("nid,njd->ij", draws, draws) / len(draws) / unit_variance
    lasting, passing = MADE.response.lasting**2, MADE.response.passing**2
    variance, within = lasting + passing, lasting + MADE.response.persistence * passing
    wanted = [[variance, within, 0], [within, variance, 0], [0, 0, variance]]
    np.testing.assert_allclose(products, wanted, atol=0.06)


def test_a_class_has_more_evidence_from_its_own_caption_than_from_any_other() -> None:
    rng = np.random.default_rng(0)
    mean = np.mean([evidence_of(encode(WORDS), MADE, rng) for _ in range(300)], axis=0)
    fit = mean @ MADE.names[: len(WORDS)].T
    assert fit.argmax(axis=0).tolist() == fit.argmax(axis=1).tolist() == list(range(len(WORDS)))


def test_evidence_of_a_video_depends_on_seed_and_name_and_has_mean_0() -> None:
    one, other = (video(name, encode(["a dog", "a dog", "the sea", "a cat"])) for name in ("x/1", "x/2"))
    drawn = simulated(one, [MADE], 0, 1)
    assert drawn.features.extractor == EVIDENCE
    assert drawn.features.array.dtype == np.float32
    np.testing.assert_allclose(drawn.features.array.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_array_equal(drawn.features.array, simulated(one, [MADE], 0, 1).features.array)
    for different in (
        simulated(one, [MADE], 0, 2),
        simulated(one, [MADE], 1, 1),
        simulated(other, [MADE], 0, 1),
    ):
        assert np.abs(different.features.array - drawn.features.array).max() > 0.1
    assert drawn.features.timestamps is one.features.timestamps
    assert (drawn.name, drawn.gtscore is one.gtscore) == (one.name, True)


def test_evidence_of_two_classifiers_stands_side_by_side() -> None:
    one = video("x/1", encode(["a dog", "the sea", "a cat"]))
    motion = replace(classifier(n_classes=30, dim=64, seed=1), response=RESPONSES["i3d"])
    both = simulated(one, [MADE, motion], 0, 1).features
    assert both.array.shape == (3, 2 * DIM)
    np.testing.assert_array_equal(both.array[:, :DIM], simulated(one, [MADE], 0, 1).features.array)
    assert both.extractor != EVIDENCE


@pytest.mark.weights
def test_the_real_classifier_has_a_name_and_a_row_of_weights_for_each_class() -> None:
    for name in ("efficientnet_lite0", "minilm"):
        real_weights(name)
    real = load_classifier("cpu")
    assert (real.names.shape, real.weights.shape) == ((1000, DIM), (1000, 1280))
    np.testing.assert_allclose(real.names, unit(real.names), atol=1e-5)
    wanted = covariance(real)
    np.testing.assert_allclose(real.noise.T @ real.noise, wanted, atol=1e-3 * np.abs(wanted).max())
