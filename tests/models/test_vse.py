"""The map in NumPy: against a plain computation, in blocks, and with matrices in 8 bits."""

import numpy as np
import pytest

from tests.untrained import map_tensors
from vidsum.models import vse
from vidsum.models.vse import UnpackedTensors, VisualSemanticMap


def packed(given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The tensors as they ship: matrices in 8 bits, each row with a scale."""
    scales = {name: np.abs(t).max(axis=1) / 127 for name, t in given.items() if t.ndim == 2}
    small = {name: np.round(given[name] / scale[:, None]).astype(np.int8) for name, scale in scales.items()}
    return {**given, **small, **{f"{name}.steps": scale for name, scale in scales.items()}}


def by_equation(tensors: dict[str, np.ndarray], features: np.ndarray) -> np.ndarray:
    x = (np.sign(features) * np.sqrt(np.abs(features)) - tensors["mean"]) / tensors["scale"]
    hidden = np.maximum(x @ tensors["hidden.weight"].T + tensors["hidden.bias"], 0)
    y = hidden @ tensors["output.weight"].T + tensors["output.bias"]
    return y / np.linalg.norm(y, axis=1, keepdims=True)


def test_rows_are_those_of_a_plain_computation(monkeypatch: pytest.MonkeyPatch) -> None:
    given = map_tensors(np.random.default_rng(0), 5, 7, 3)
    features = np.random.default_rng(1).standard_normal((9, 5)).astype(np.float32)
    found = VisualSemanticMap(given)(features)
    np.testing.assert_allclose(found, by_equation(given, features), atol=1e-5)
    monkeypatch.setattr(vse, "_BLOCK", 4)
    np.testing.assert_allclose(VisualSemanticMap(given)(features), found, atol=1e-6)
    assert VisualSemanticMap(given)(features[:0]).shape == (0, 3)
    captions, noise = (
        np.random.default_rng(seed).standard_normal((4, 3)).astype(np.float32) for seed in (2, 3)
    )
    rows = captions @ given["answer.weight"].T + given["answer.bias"] + noise @ given["noise.weight"].T
    found = VisualSemanticMap(given).simulate(captions, noise)
    np.testing.assert_allclose(found, rows / np.linalg.norm(rows, axis=1, keepdims=True), atol=1e-5)
    small = VisualSemanticMap(UnpackedTensors(packed(given)))
    for name, tensor in given.items():
        step = np.abs(tensor).max(axis=-1, keepdims=True) / 127 * (tensor.ndim == 2)
        assert (np.abs(small.tensors[name] - tensor) <= step / 2 + 1e-6).all()
    np.testing.assert_allclose(small(features), VisualSemanticMap(given)(features), atol=0.05)
