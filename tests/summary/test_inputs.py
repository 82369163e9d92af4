"""Input of a summarizer, against a loop over samples, and its recorded switches."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lab.datasets.made import use_stand_ins
from vidsum.errors import InputError
from vidsum.results.features import Features
from vidsum.summary.importance_model import FeatureTransform, read_transform


@given(
    st.integers(1, 150), st.sampled_from([0.5, 2.0, 29.97]), st.floats(0, 90), st.booleans(), st.booleans()
)
def test_feature_transform(n_samples: int, fps: float, rest_s: float, space: bool, ends: bool) -> None:
    array = np.random.default_rng(n_samples).normal(2, 1, (n_samples, 3)).astype(np.float32)
    duration_s = n_samples / fps + rest_s
    features = Features.from_array(array, fps, duration_s=duration_s, extractor="minilm")
    inputs = FeatureTransform("vse" if space else None, ends)
    transformed = inputs.of(features)
    assert transformed.dtype == np.float32
    assert transformed.shape == (n_samples, 3 + inputs.n_added)
    means = [sum(float(row[d]) for row in array) / n_samples for d in range(3)]
    for t in range(n_samples):
        wanted = [float(array[t, d]) - (means[d] if space else 0) for d in range(3)]
        if ends:
            middle_s = (t + 0.5) / fps
            wanted += [min(middle_s, 60) / 60, min(duration_s - middle_s, 60) / 60]
        np.testing.assert_allclose(transformed[t], wanted, atol=1e-4)


def test_feature_transform_of_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    use_stand_ins(monkeypatch)
    inputs, rows = FeatureTransform("vse"), np.random.default_rng(0).random((5, 7))
    mapped = np.random.default_rng(1).random((5, 4))
    transformed = inputs.of(
        replace(Features.from_array(rows, extractor="efficientnet_lite0"), embeddings=mapped)
    )
    np.testing.assert_allclose(transformed, mapped - mapped.mean(axis=0), atol=1e-6)
    for extractor in ("minilm", "vse"):
        transformed = inputs.of(Features.from_array(rows, extractor=extractor))
        np.testing.assert_allclose(transformed, rows - rows.mean(axis=0), atol=1e-6)
    features = Features.from_array(np.arange(6).reshape(3, 2), extractor="minilm")
    FeatureTransform("vse", ends=True).of(features)
    np.testing.assert_array_equal(features.array, np.arange(6).reshape(3, 2))
    np.testing.assert_array_equal(FeatureTransform().of(features), features.array)
    late = Features.from_array(np.ones((3, 1)), fps=1, duration_s=2.2)  # the last middle is after the end
    assert FeatureTransform(ends=True).of(late)[:, 2].tolist() == pytest.approx([1.7 / 60, 0.7 / 60, 0])


@pytest.mark.parametrize(
    "inputs", [FeatureTransform(space, ends) for space in (None, "vse") for ends in (False, True)]
)
def test_read_transform(inputs: FeatureTransform) -> None:
    assert all(inputs.recorded.values())
    assert read_transform({"extractor": "i3d", **inputs.recorded}, "x.safetensors") == inputs
    assert read_transform({"extractor": "i3d", "ends": False, **inputs.recorded}, "x.safetensors") == inputs


@pytest.mark.parametrize("value", [1, 0, "true", None, [True]])
@pytest.mark.parametrize("key", ["space", "ends"])
def test_read_transform_errors(key: str, value: Any) -> None:
    if (key, value) != ("space", None):
        with pytest.raises(InputError, match=r"x\.safetensors: does not say what features"):
            read_transform({"extractor": "i3d", key: value}, "x.safetensors")
