"""The bridge by class names against slow sums, and the embeddings of the names."""

import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from vidsum import checkpoints
from vidsum.grounding import spaces as module
from vidsum.grounding.spaces import (
    ClassMixture,
    class_probabilities,
    class_sentences,
    log_likelihood,
    name_embeddings,
)
from vidsum.models.scaling import unit_rows
from vidsum.types import FloatArray


def random_rows(seed: int, *shape: int) -> FloatArray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def test_probabilities_are_the_softmax_of_the_cooled_logits() -> None:
    logits = random_rows(0, 7, 30) * 20
    np.testing.assert_allclose(
        class_probabilities(logits, 2.0), softmax(logits / 2, axis=1), rtol=1e-4, atol=1e-7
    )
    assert np.isfinite(class_probabilities(logits * 100)).all()


def test_the_likelihood_is_a_sum_over_the_classes() -> None:
    probabilities, names = class_probabilities(random_rows(0, 7, 30) * 5), unit_rows(random_rows(1, 30, 12))
    queries = unit_rows(random_rows(2, 3, 12))
    found = log_likelihood(ClassMixture(probabilities, names), queries, 10.0)

    def slow(query: FloatArray, row: FloatArray) -> float:
        return math.log(
            sum(p * math.exp(10 * float(query @ name)) for p, name in zip(row, names, strict=True))
        )

    expected = [[slow(query, row) for row in probabilities] for query in queries]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


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
    assert len(batches) == 1
    monkeypatch.setattr(checkpoints, "sha256_of", lambda _name: "0" * 64)
    name_embeddings()
    files = list((own_home / "class_names").iterdir())
    assert len(batches) == len(files) == 2
    assert {path.suffix for path in files} == {".bin"}


def test_class_sentences_are_the_names_without_remarks() -> None:
    objects = class_sentences()
    assert len(objects) == 1000
    assert objects[0] == "there is a tench"
    assert not any("(" in sentence for sentence in objects)
