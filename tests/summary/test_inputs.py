"""What a summarizer reads of features: against a loop over samples, and the switches that a file records."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.errors import InputError
from vidsum.summary.inputs import Inputs, inputs_of
from vidsum.types import Features


@given(
    st.integers(1, 150), st.sampled_from([0.5, 2.0, 29.97]), st.floats(0, 90), st.booleans(), st.booleans()
)
def test_input_is_that_of_a_loop_over_the_samples(
    n_samples: int, fps: float, rest_s: float, centred: bool, ends: bool
) -> None:
    array = np.random.default_rng(n_samples).normal(2, 1, (n_samples, 3)).astype(np.float32)
    duration_s = n_samples / fps + rest_s
    features = Features.from_array(array, fps, duration_s=duration_s)
    inputs = Inputs(centred=centred, ends=ends)
    found = inputs.of(features)
    assert found.dtype == np.float32
    assert found.shape == (n_samples, 3 + inputs.n_added)
    means = [sum(float(row[d]) for row in array) / n_samples for d in range(3)]
    for t in range(n_samples):
        wanted = [float(array[t, d]) - (means[d] if centred else 0) for d in range(3)]
        if ends:
            middle_s = (t + 0.5) / fps
            wanted += [min(middle_s, 60) / 60, min(duration_s - middle_s, 60) / 60]
        np.testing.assert_allclose(found[t], wanted, atol=1e-4)


def test_a_minute_from_both_ends_time_says_nothing() -> None:
    ends = Inputs(ends=True).of(Features.from_array(np.ones((400, 1)), fps=2))[:, 1:]
    np.testing.assert_array_equal(ends[120:280], np.ones((160, 2)))
    assert (ends[:120, 0] < 1).all()
    assert (ends[280:, 1] < 1).all()
    np.testing.assert_allclose(ends[:, 0], ends[::-1, 1], atol=1e-6)


def test_time_after_the_end_of_a_video_is_none() -> None:
    """A last sample may lie at the very end, its middle after it."""
    features = Features.from_array(np.ones((3, 1)), fps=1, duration_s=2.2)
    assert Inputs(ends=True).of(features)[:, 2].tolist() == pytest.approx([1.7 / 60, 0.7 / 60, 0])


def test_the_features_themselves_are_left_as_they_are() -> None:
    features = Features.from_array(np.arange(6).reshape(3, 2))
    Inputs(centred=True, ends=True).of(features)
    np.testing.assert_array_equal(features.array, np.arange(6).reshape(3, 2))
    np.testing.assert_array_equal(Inputs().of(features), features.array)


@pytest.mark.parametrize(
    ("recorded", "wanted"),
    [
        ({}, Inputs()),
        ({"extractor": "i3d", "ends": True}, Inputs(ends=True)),
        ({"centred": True, "ends": False}, Inputs(centred=True)),
    ],
)
def test_switches_that_are_not_recorded_are_off(recorded: dict[str, Any], wanted: Inputs) -> None:
    assert inputs_of(recorded, "x.safetensors") == wanted


@pytest.mark.parametrize("value", [1, 0, "true", None, [True]])
@pytest.mark.parametrize("key", ["centred", "ends"])
def test_switches_that_are_none_are_refused(key: str, value: Any) -> None:
    with pytest.raises(InputError, match=r"x\.safetensors: does not say what features"):
        inputs_of({"extractor": "i3d", key: value}, "x.safetensors")
