"""How likely a query is true of a video: against a slow computation with a made-up map, and by sentences."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from tests.conftest import real_weights
from vidsum.grounding import presence
from vidsum.grounding.conse import ClassMixture, name_embeddings
from vidsum.grounding.presence import OFFSET, SLOPE, evidence, max_means, probabilities
from vidsum.grounding.spaces import MIXTURE_WEIGHT_LINE, ClipEmbeddings, embed_queries
from vidsum.grounding.vse import load_map
from vidsum.models.scaling import softmax, unit_rows
from vidsum.models.vse import CLASSES, LEVELS
from vidsum.types import FloatArray

DIM = 6


def texts(seed: int, n: int) -> FloatArray:
    return unit_rows(np.random.default_rng(seed).standard_normal((n, DIM)))


NAMES = texts(8, 7)
"""Of classes."""


@dataclass(frozen=True)
class Cohort:
    """Photographs as the map and the network see them."""

    rows: FloatArray
    """[50, 6]"""
    probabilities: FloatArray
    """[9, 7]"""


@pytest.fixture
def cohort(monkeypatch: pytest.MonkeyPatch) -> Cohort:
    """Photographs, and a map that has what is needed of them."""
    rows, probabilities = texts(3, 50) + np.float32(0.3), classes(2, 9)
    mean = rows.mean(axis=0)
    factor = np.linalg.cholesky(np.cov((rows - mean).T, bias=True)).astype(np.float32)
    levels = np.round(np.sqrt(probabilities) * LEVELS).astype(np.float32)
    tensors = {"cohort.mean": mean, "cohort.weight": factor, CLASSES: levels}
    monkeypatch.setattr(presence, "load_map", lambda: SimpleNamespace(tensors=tensors))
    return Cohort(rows, probabilities)


def classes(seed: int, n: int) -> FloatArray:
    """[n, 7] probabilities."""
    return softmax(3 * np.random.default_rng(seed).standard_normal((n, 7)).astype(np.float32))


def video_of(n_clips: int) -> ClipEmbeddings:
    mixture = ClassMixture(classes(1, n_clips), NAMES)
    return ClipEmbeddings(texts(4, n_clips), np.arange(float(n_clips)), 1.0, n_clips, (mixture,))


@pytest.mark.parametrize("n_clips", [1, 2, 3, 9])
def test_the_evidence_is_the_largest_smoothed_z(cohort: Cohort, n_clips: int) -> None:
    video, queries = video_of(n_clips), texts(5, 3)
    for query, found in zip(queries, evidence(video, queries), strict=True):

        def likelihood(mixture: FloatArray, query: FloatArray = query) -> float:
            return float(
                np.log(sum(p * np.exp(10 * query @ name) for p, name in zip(mixture, NAMES, strict=True)))
            )

        cosines = [float(query @ picture) for picture in cohort.rows]
        usual = [likelihood(mixture) for mixture in cohort.probabilities]
        slope, offset = MIXTURE_WEIGHT_LINE
        weight = max(0.0, slope * max(float(query @ name) for name in NAMES) + offset)
        z = [
            (float(query @ clip) - np.mean(cosines)) / np.std(cosines)
            + weight * (likelihood(mixture) - np.mean(usual)) / np.std(usual)
            for clip, mixture in zip(video.rows, video.mixtures[0].probabilities, strict=True)
        ]
        width = min(3, n_clips)
        assert found == pytest.approx(
            max(np.mean(z[start : start + width]) for start in range(n_clips - width + 1)), abs=0.02
        )


@pytest.mark.usefixtures("cohort")
def test_many_queries_are_those_of_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    video, queries = video_of(9), texts(6, 11)
    found = evidence(video, queries)
    monkeypatch.setattr(presence, "_QUERIES_PER_BATCH", 4)
    np.testing.assert_allclose(evidence(video, queries), found, atol=1e-5)
    assert evidence(video, queries[:0]).shape == (0,)


@pytest.mark.usefixtures("cohort")
def test_the_probability_is_a_logistic_curve_of_it() -> None:
    video, queries = video_of(5), texts(7, 4)
    found = probabilities("vse", video, queries)
    assert found is not None
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-SLOPE * evidence(video, queries) - OFFSET)), atol=1e-5)
    assert probabilities("clip", video, queries) is None


def test_a_short_video_has_the_mean_of_all() -> None:
    assert max_means(np.array([[1.0, 2.0]])).tolist() == [1.5]
    assert max_means(np.array([[0.0, 3.0, 3.0, 3.0, 0.0]])).tolist() == [3]


@pytest.mark.deep
@pytest.mark.weights
def test_what_is_shown_is_likelier_than_what_is_not() -> None:
    real_weights("minilm")
    shown = ["a dog runs through the snow", "two children jump on a bed", "a man climbs a rock face"]
    others = ["a plate of sushi", "an aeroplane lands at night", "a woman plays the violin"]
    rows = load_map().simulate(embed_queries("vse", shown, "cpu"), np.zeros((3, 384), np.float32))
    named = np.full((9, 1000), 1 / 1000, np.float32)
    mixture = ClassMixture(named, name_embeddings("efficientnet_lite0", "cpu"))
    video = ClipEmbeddings(np.repeat(rows, 3, axis=0), np.arange(9.0), 1.0, 9.0, (mixture,))
    found = evidence(video, embed_queries("vse", [*shown, *others], "cpu"))
    assert found[:3].min() > found[3:].max()
