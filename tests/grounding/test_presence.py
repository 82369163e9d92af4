"""How likely a query is true of a video: against a slow computation with a made-up map, and by sentences."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests.conftest import real_weights
from vidsum.grounding import presence
from vidsum.grounding.presence import OFFSET, SLOPE, evidence, largest_means, probabilities
from vidsum.grounding.spaces import ClipEmbeddings, embed_queries
from vidsum.grounding.vse import load_map
from vidsum.scaling import unit_rows
from vidsum.types import FloatArray

DIM = 6


def texts(seed: int, n: int) -> FloatArray:
    return unit_rows(np.random.default_rng(seed).standard_normal((n, DIM)))


@pytest.fixture
def cohort(monkeypatch: pytest.MonkeyPatch) -> FloatArray:
    """[50, 6] rows of pictures, and a map that has their mean and a factor of their covariance."""
    rows = texts(3, 50) + np.float32(0.3)
    mean = rows.mean(axis=0)
    factor = np.linalg.cholesky(np.cov((rows - mean).T, bias=True)).astype(np.float32)
    made = SimpleNamespace(tensors={"cohort.mean": mean, "cohort.weight": factor})
    monkeypatch.setattr(presence, "load_map", lambda: made)
    return rows


@pytest.mark.parametrize("n_clips", [1, 2, 3, 9])
def test_the_evidence_is_the_largest_smoothed_z(cohort: FloatArray, n_clips: int) -> None:
    video, queries = texts(4, n_clips), texts(5, 3)
    for query, found in zip(queries, evidence(video, queries), strict=True):
        others = [float(query @ picture) for picture in cohort]
        z = [(float(query @ clip) - np.mean(others)) / np.std(others) for clip in video]
        width = min(3, n_clips)
        assert found == pytest.approx(
            max(np.mean(z[start : start + width]) for start in range(n_clips - width + 1)), abs=1e-4
        )


@pytest.mark.usefixtures("cohort")
def test_the_probability_is_a_logistic_curve_of_it() -> None:
    rows, queries = texts(6, 5), texts(7, 4)
    video = ClipEmbeddings(rows, np.arange(5.0), 1.0, 5.0)
    found = probabilities("vse", video, queries)
    assert found is not None
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-SLOPE * evidence(rows, queries) - OFFSET)), atol=1e-5)
    assert probabilities("clip", video, queries) is None


def test_a_short_video_has_the_mean_of_all() -> None:
    assert largest_means(np.array([[1.0, 2.0]])).tolist() == [1.5]
    assert largest_means(np.array([[0.0, 3.0, 3.0, 3.0, 0.0]])).tolist() == [3]


@pytest.mark.weights
def test_what_is_shown_is_likelier_than_what_is_not() -> None:
    real_weights("minilm")
    shown = ["a dog runs through the snow", "two children jump on a bed", "a man climbs a rock face"]
    others = ["a plate of sushi", "an aeroplane lands at night", "a woman plays the violin"]
    rows = load_map().seen(embed_queries("vse", shown, "cpu"), np.zeros((3, 384), np.float32))
    found = evidence(np.repeat(rows, 3, axis=0), embed_queries("vse", [*shown, *others], "cpu"))
    assert found[:3].min() > found[3:].max()
