"""The published averaging of features into clips, against a direct loop in PyTorch."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from vidsum.grounding.windows import resample


def slowly(features: np.ndarray, n_clips: int) -> np.ndarray:
    """Clip by clip, with the borders computed as the published code does."""
    last = len(features) - 1
    shares = torch.arange(0, n_clips + 1, 1.0) / n_clips
    borders = [min(int(border), last) for border in torch.round(shares * len(features)).tolist()]
    clips = []
    for i in range(n_clips):
        start, end = borders[i], borders[i + 1]
        clips.append(features[start:end].mean(axis=0) if end > start else features[start])
    return np.stack(clips)


@given(n=st.integers(1, 700), n_clips=st.sampled_from([1, 16, 64, 75, 128, 256]), seed=st.integers(0, 99))
def test_it_is_the_published_rule(n: int, n_clips: int, seed: int) -> None:
    features = np.random.default_rng(seed).normal(size=(n, 3)).astype(np.float32)
    made = resample(features, n_clips)
    assert made.dtype == np.float32
    np.testing.assert_allclose(made, slowly(features, n_clips), atol=1e-5)


def test_twice_as_many_features_are_averaged_by_twos_and_fewer_are_repeated() -> None:
    assert resample([[0.0], [2.0], [4.0], [8.0]], 2).tolist() == [[1.0], [4.0]]  # the last is dropped
    assert resample([[1.0], [5.0]], 4).tolist() == [[1.0], [1.0], [5.0], [5.0]]
