"""How queries compare with photographs: against a slow computation with a made-up map."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from vidsum.evidence import match_probability
from vidsum.evidence.match_probability import compare_named
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

    probabilities: FloatArray  # [9, 7]


@pytest.fixture
def photographs(monkeypatch: pytest.MonkeyPatch) -> Photographs:
    """Photographs, and a map that has what is needed of them."""
    probabilities = classes(2, 9)
    levels = np.round(np.sqrt(probabilities) * 255).astype(np.float32)
    tensors = {CLASSES: levels}
    monkeypatch.setattr(match_probability, "load_map", lambda: SimpleNamespace(tensors=tensors))
    return Photographs(probabilities)


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
    return float(weight * ((log_likelihood(query, mixture) - np.mean(usual)) / np.std(usual) - 4.6))


def test_what_is_named_is_compared_with_photographs(photographs: Photographs) -> None:
    queries, objects = texts(5, 3), ClassMixture(classes(1, 5), NAMES)
    named = compare_named(NAMES, queries)(likelihood_of(objects, queries))
    for query, curve in zip(queries, named, strict=True):
        expected = [evidence_named(query, mixture, photographs) for mixture in objects.probabilities]
        np.testing.assert_allclose(curve, expected, atol=0.02)
