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


TENSORS = map_tensors(np.random.default_rng(0), 5, 7, 3)
FEATURES = np.random.default_rng(1).standard_normal((9, 5)).astype(np.float32)


def test_map_is_its_equation() -> None:
    rows = VisualSemanticMap(TENSORS)(FEATURES)
    np.testing.assert_allclose(rows, by_equation(TENSORS, FEATURES), atol=1e-5)


def test_rows_are_the_same_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = VisualSemanticMap(TENSORS)(FEATURES)
    monkeypatch.setattr(vse, "_BLOCK", 4)
    np.testing.assert_allclose(VisualSemanticMap(TENSORS)(FEATURES), whole, atol=1e-6)


def test_no_features_have_no_rows() -> None:
    assert VisualSemanticMap(TENSORS)(FEATURES[:0]).shape == (0, 3)


def test_simulated_pictures_are_captions_with_noise_of_unit_length() -> None:
    captions, noise = (
        np.random.default_rng(seed).standard_normal((4, 3)).astype(np.float32) for seed in (2, 3)
    )
    rows = captions @ TENSORS["answer.weight"].T + TENSORS["answer.bias"] + noise @ TENSORS["noise.weight"].T
    simulated = VisualSemanticMap(TENSORS).simulate(captions, noise)
    np.testing.assert_allclose(simulated, rows / np.linalg.norm(rows, axis=1, keepdims=True), atol=1e-5)


@pytest.mark.parametrize("name", TENSORS)
def test_tensor_in_8_bits_is_within_half_a_step(name: str) -> None:
    tensor = TENSORS[name]
    step = np.abs(tensor).max(axis=-1, keepdims=True) / 127 * (tensor.ndim == 2)
    unpacked = UnpackedTensors(packed(TENSORS))[name]
    assert (np.abs(unpacked - tensor) <= step / 2 + 1e-6).all()


def test_map_in_8_bits_is_near_the_map() -> None:
    small = VisualSemanticMap(UnpackedTensors(packed(TENSORS)))
    np.testing.assert_allclose(small(FEATURES), VisualSemanticMap(TENSORS)(FEATURES), atol=0.05)
