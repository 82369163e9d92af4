"""The map in NumPy: against a plain computation, in blocks, and refused where its tensors do not fit."""

import numpy as np
import pytest

from vidsum.models import vse
from vidsum.models.configs import VSEConfig
from vidsum.models.vse import CLASSES, VisualSemanticMap, build_map, tensor_shapes

CONFIG = VSEConfig(dim_in=5, hidden=7, dim_out=3)


def tensors(seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    made = {
        name: rng.standard_normal(shape).astype(np.float32) for name, shape in tensor_shapes(CONFIG).items()
    }
    return {**made, "scale": np.abs(made["scale"]) + 1}


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
    given = tensors()
    features = np.random.default_rng(1).standard_normal((9, 5)).astype(np.float32)
    found = build_map(CONFIG, given)(features)
    np.testing.assert_allclose(found, by_equation(given, features), atol=1e-5)
    monkeypatch.setattr(vse, "_BLOCK", 4)
    np.testing.assert_allclose(build_map(CONFIG, given)(features), found, atol=1e-6)
    assert build_map(CONFIG, given)(features[:0]).shape == (0, 3)
    captions, noise = (
        np.random.default_rng(seed).standard_normal((4, 3)).astype(np.float32) for seed in (2, 3)
    )
    rows = captions @ given["answer.weight"].T + given["answer.bias"] + noise @ given["noise.weight"].T
    found = VisualSemanticMap(CONFIG, given).simulate(captions, noise)
    np.testing.assert_allclose(found, rows / np.linalg.norm(rows, axis=1, keepdims=True), atol=1e-5)
    small = build_map(CONFIG, packed(given))
    for name, tensor in given.items():
        step = np.abs(tensor).max(axis=-1, keepdims=True) / 127 * (tensor.ndim == 2)
        assert (np.abs(small.tensors[name] - tensor) <= step / 2 + 1e-6).all()
    np.testing.assert_allclose(small(features), build_map(CONFIG, given)(features), atol=0.05)


def test_tensors_that_do_not_fit_are_refused() -> None:
    given = tensors()
    with pytest.raises(ValueError, match="shapes"):
        build_map(CONFIG, {**given, "none.steps": np.ones(3, np.float32)})
    assert (
        build_map(CONFIG, {**given, CLASSES: np.ones((2, 4), np.uint8)}).tensors[CLASSES].dtype == np.float32
    )
    for wrong in (
        {**given, "mean": np.zeros(4, np.float32)},
        {name: tensor for name, tensor in given.items() if name != "cohort.mean"},
        {**given, "other": np.zeros(1, np.float32)},
    ):
        with pytest.raises(ValueError, match="shapes"):
            build_map(CONFIG, wrong)
    with pytest.raises(ValueError, match="one step for each row"):
        build_map(CONFIG, {**packed(given), "hidden.weight.steps": np.ones(1, np.float32)})
    with pytest.raises(ValueError, match="finite"):
        build_map(CONFIG, {**given, "mean": np.full(5, np.nan, np.float32)})
