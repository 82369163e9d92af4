"""Input of a summarizer, against a loop over samples, its recorded switches, and damaged checkpoints."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lab.datasets.made import use_stand_ins
from vidsum.checkpoints.trained import Trained
from vidsum.errors import InputError
from vidsum.results.features import Features
from vidsum.summary.importance_model import FeatureTransform, build_importance_model, read_transform


@settings(deadline=None)
@given(
    st.integers(1, 150), st.sampled_from([0.5, 2.0, 29.97]), st.floats(0, 90), st.booleans(), st.booleans()
)
def test_inputs_are_centred_features_and_seconds_to_both_ends(
    n_samples: int, fps: float, rest_s: float, space: bool, ends: bool
) -> None:
    array = np.random.default_rng(n_samples).normal(2, 1, (n_samples, 3)).astype(np.float32)
    duration_s = n_samples / fps + rest_s
    features = Features.from_array(array, fps, duration_s=duration_s, extractor="minilm")
    inputs = FeatureTransform("vse" if space else None, ends)
    transformed = inputs.of(features)
    assert transformed.dtype == np.float32
    assert transformed.shape == (n_samples, 3 + inputs.n_added)
    means = [sum(float(row[d]) for row in array) / n_samples for d in range(3)]
    expected = []
    for t in range(n_samples):
        row = [float(array[t, d]) - (means[d] if space else 0) for d in range(3)]
        if ends:
            middle_s = (t + 0.5) / fps
            row += [min(middle_s, 60) / 60, min(duration_s - middle_s, 60) / 60]
        expected.append(row)
    np.testing.assert_allclose(transformed, expected, atol=1e-4)


def test_inputs_of_pictures_are_their_centred_embeddings(monkeypatch: pytest.MonkeyPatch) -> None:
    use_stand_ins(monkeypatch)
    rows, mapped = np.random.default_rng(0).random((5, 7)), np.random.default_rng(1).random((5, 4))
    features = replace(Features.from_array(rows, extractor="efficientnet_lite0"), embeddings=mapped)
    transformed = FeatureTransform("vse").of(features)
    np.testing.assert_allclose(transformed, mapped - mapped.mean(axis=0), atol=1e-6)


@pytest.mark.parametrize("extractor", ["minilm", "vse"])
def test_inputs_of_embeddings_are_centred(extractor: str) -> None:
    rows = np.random.default_rng(0).random((5, 7))
    transformed = FeatureTransform("vse").of(Features.from_array(rows, extractor=extractor))
    np.testing.assert_allclose(transformed, rows - rows.mean(axis=0), atol=1e-6)


def test_features_are_not_changed() -> None:
    features = Features.from_array(np.arange(6).reshape(3, 2), extractor="minilm")
    FeatureTransform("vse", ends=True).of(features)
    np.testing.assert_array_equal(features.array, np.arange(6).reshape(3, 2))


def test_inputs_without_switches_are_the_features() -> None:
    features = Features.from_array(np.arange(6).reshape(3, 2), extractor="minilm")
    np.testing.assert_array_equal(FeatureTransform().of(features), features.array)


def test_seconds_to_the_end_are_never_negative() -> None:
    late = Features.from_array(np.ones((3, 1)), fps=1, duration_s=2.2)  # the last middle is after the end
    assert FeatureTransform(ends=True).of(late)[:, 2].tolist() == pytest.approx([1.7 / 60, 0.7 / 60, 0])


ALL = [FeatureTransform(space, ends) for space in (None, "vse") for ends in (False, True)]


@pytest.mark.parametrize("inputs", ALL, ids=str)
def test_recorded_switches_are_read_again(inputs: FeatureTransform) -> None:
    assert read_transform({"extractor": "i3d", **inputs.recorded}, "x.safetensors") == inputs


@pytest.mark.parametrize("inputs", ALL, ids=str)
def test_only_switches_that_are_on_are_recorded(inputs: FeatureTransform) -> None:
    assert all(inputs.recorded.values())
    assert read_transform({"extractor": "i3d", "ends": False, **inputs.recorded}, "x.safetensors") == inputs


@pytest.mark.parametrize(
    ("key", "value"),
    [(key, value) for key in ("space", "ends") for value in (1, 0, "true", [True])] + [("ends", None)],
)
def test_switch_of_another_type_is_refused(key: str, value: Any) -> None:
    with pytest.raises(InputError, match=r"x\.safetensors: does not say what features"):
        read_transform({"extractor": "i3d", key: value}, "x.safetensors")


READS = {"extractor": "minilm", "dim": 3, "fps": 2.0}
ARRAYS = {"weights": np.ones(3, np.float32), "spread": np.array(1.0, np.float32)}


def ridge(training: dict[str, Any], **arrays: Any) -> Trained:
    return Trained("ridge", {"dim_in": 3}, READS, training, {**ARRAYS, **arrays})


def test_slope_of_a_checkpoint_is_read() -> None:
    assert build_importance_model(ridge({"slope": 0.5}), "a.safetensors").slope == 0.5


@pytest.mark.parametrize(
    ("damaged", "fault"),
    [
        (ridge({"slope": "steep"}), "the slope of its scores is not a number"),
        (ridge({"slope": np.inf}), "the slope of its scores is not a number"),
        (ridge({}, weights=np.array([1, np.nan, 1])), "NaN or infinite"),
        (ridge({}, weights=np.ones(4)), "do not fit together"),
        (replace(ridge({}), config={"width": 3}), "do not fit together"),
        (replace(ridge({}), features={"extractor": "minilm"}), "does not say what features it reads"),
    ],
    ids=["slope of letters", "infinite slope", "NaN", "other size", "unknown option", "no size"],
)
def test_damaged_checkpoint_is_refused(damaged: Trained, fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        build_importance_model(damaged, "a.safetensors")
