"""The bridge by class names against slow sums, and the embeddings of the names."""

import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import softmax

from vidsum import checkpoints
from vidsum.grounding import spaces as module
from vidsum.grounding.spaces import ClassMixture, class_probabilities, log_likelihood, name_embeddings
from vidsum.models.scaling import unit_rows
from vidsum.types import FloatArray


def random_rows(seed: int, *shape: int) -> FloatArray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def test_probabilities_are_the_softmax_of_the_cooled_logits() -> None:
    logits = random_rows(0, 7, 30) * 20
    np.testing.assert_allclose(class_probabilities(logits), softmax(logits / 2, axis=1), rtol=1e-4, atol=1e-7)
    assert np.isfinite(class_probabilities(logits * 100)).all()


def test_the_likelihood_is_a_sum_over_the_classes() -> None:
    probabilities, names = class_probabilities(random_rows(0, 7, 30) * 5), unit_rows(random_rows(1, 30, 12))
    queries = unit_rows(random_rows(2, 3, 12))
    found = log_likelihood(ClassMixture(probabilities, names), queries)

    def slow(query: FloatArray, row: FloatArray) -> float:
        return math.log(
            sum(p * math.exp(10 * float(query @ name)) for p, name in zip(row, names, strict=True))
        )

    expected = [[slow(query, row) for row in probabilities] for query in queries]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_name_embeddings_are_stored_by_checkpoint(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batches: list[list[str]] = []

    def encode(texts: Sequence[str]) -> FloatArray:
        batches.append(list(texts))
        return np.array([[len(text), 1.0] for text in texts], np.float32)

    monkeypatch.setattr(module, "load_text_encoder", lambda *_: SimpleNamespace(encode=encode))
    first, again = name_embeddings(), name_embeddings()
    assert first.shape == (1000, 2)
    assert first.dtype == again.dtype == np.float32
    assert (first == again).all()
    ((first_name, *others),) = batches
    assert first_name == "there is a tench"
    assert not any("(" in name for name in others)  # no remarks
    monkeypatch.setattr(checkpoints, "sha256_of", lambda _name: "0" * 64)
    name_embeddings()
    files = list((own_home / "class_names").iterdir())
    assert len(batches) == len(files) == 2
    assert {path.suffix for path in files} == {".bin"}
