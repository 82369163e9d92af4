"""What a model of moments and saliency reads of a window."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.features.resample import resample
from vidsum.grounding.clips import clips_of


@given(st.integers(1, 300), st.sampled_from([0.5, 1.0, 2.0]), st.sampled_from([0.5, 1.0, 2.0, 3.0]))
def test_clips_are_as_long_as_asked_unless_there_would_be_too_many(
    n_rows: int, step_s: float, clip_s: float
) -> None:
    rows = np.random.default_rng(0).random((n_rows, 3), np.float32)
    clips = clips_of(rows, step_s, clip_s, most=40)
    n_clips = len(clips)
    assert n_clips == 40 or (n_clips - 1) * clip_s < n_rows * step_s <= n_clips * clip_s
    np.testing.assert_array_equal(clips[:, :3], resample(rows, n_clips))
    np.testing.assert_allclose(clips[:, 3], np.arange(n_clips) / n_clips, atol=1e-6)
    np.testing.assert_allclose(clips[:, 4] - clips[:, 3], 1 / n_clips, atol=1e-6)


def test_rows_of_a_clip_s_length_stay_as_they_are() -> None:
    rows = np.random.default_rng(0).random((75, 4), np.float32)
    assert clips_of(rows, 2.0, 2.0, 75)[:, :4] == pytest.approx(rows)
