"""How queries compare with photographs: against a slow computation with a made-up map."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from vidsum.grounding import presence
from vidsum.grounding.presence import compare_named, compare_with_usual
from vidsum.grounding.spaces import MIXTURE_WEIGHT_LINE, ClassMixture
from vidsum.grounding.spaces import log_likelihood as likelihood_of
from vidsum.models.scaling import softmax, unit_rows
from vidsum.models.vse import CLASSES
from vidsum.types import FloatArray

DIM = 6


def texts(seed: int, n: int) -> FloatArray:
    return unit_rows(np.random.default_rng(seed).standard_normal((n, DIM)))


NAMES = texts(8, 7)  # of classes


@dataclass(frozen=True)
class Photographs:
    """Photographs as the map and the network see them."""

    rows: FloatArray  # [50, 6]
    probabilities: FloatArray  # [9, 7]


@pytest.fixture
def photographs(monkeypatch: pytest.MonkeyPatch) -> Photographs:
    """Photographs, and a map that has what is needed of them."""
    rows, probabilities = texts(3, 50) + np.float32(0.3), classes(2, 9)
    mean = rows.mean(axis=0)
    factor = np.linalg.cholesky(np.cov((rows - mean).T, bias=True)).astype(np.float32)
    levels = np.round(np.sqrt(probabilities) * 255).astype(np.float32)
    tensors = {"cohort.mean": mean, "cohort.weight": factor, CLASSES: levels}
    monkeypatch.setattr(presence, "load_map", lambda: SimpleNamespace(tensors=tensors))
    return Photographs(rows, probabilities)


def classes(seed: int, n: int) -> FloatArray:
    """[n, 7] probabilities."""
    return softmax(3 * np.random.default_rng(seed).standard_normal((n, 7)).astype(np.float32))


def log_likelihood(query: FloatArray, mixture: FloatArray) -> float:
    return float(np.log(sum(p * np.exp(10 * query @ name) for p, name in zip(mixture, NAMES, strict=True))))


def evidence_named(query: FloatArray, mixture: FloatArray, photographs: Photographs) -> float:
    """The evidence by what a network names, written out."""
    usual = [log_likelihood(query, other) for other in photographs.probabilities]
    slope, offset = MIXTURE_WEIGHT_LINE
    weight = max(0.0, slope * max(float(query @ name) for name in NAMES) + offset)
    return float(weight * (log_likelihood(query, mixture) - np.mean(usual)) / np.std(usual))


def test_z_is_the_deviation_from_photographs_and_phrases(photographs: Photographs) -> None:
    rows, queries, phrases = texts(4, 5), texts(5, 3), texts(6, 4)
    objects = ClassMixture(classes(1, 5), NAMES)

    def deviation(text: FloatArray, clip: FloatArray) -> float:
        cosines = [float(text @ picture) for picture in photographs.rows]
        return float((text @ clip - np.mean(cosines)) / np.std(cosines))

    named = compare_named(NAMES, queries)(likelihood_of(objects, queries))
    curves = compare_with_usual(queries, phrases).along(rows) + named
    for query, curve in zip(queries, curves, strict=True):
        expected = [
            deviation(query, clip)
            - 0.75 * np.mean([deviation(phrase, clip) for phrase in phrases])
            + evidence_named(query, mixture, photographs)
            for clip, mixture in zip(rows, objects.probabilities, strict=True)
        ]
        np.testing.assert_allclose(curve, expected, atol=0.02)
