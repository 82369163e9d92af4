"""Sound after AAC: a little later, and as good in each channel."""

import numpy as np
import pytest

from vidsum.types import FloatArray
from vidsum.video.aac import code_and_decode

RATE, DELAY = 48_000, 1024
NOISE = np.random.default_rng(0).normal(0, 0.2, (2, RATE)).astype(np.float32)


def error_of(samples: FloatArray, layout: str) -> float:
    """Return the deviation of the coded sound as a share of the sound's, of the worst channel."""
    coded = np.concatenate([*code_and_decode(iter([samples]), RATE, layout)], axis=1)
    difference = coded[:, DELAY : DELAY + RATE // 2] - samples[:, : RATE // 2]
    return float((difference.std(axis=1) / samples.std(axis=1)).max())


def test_two_channels_are_coded_as_well_as_one_alone() -> None:
    assert error_of(NOISE, "stereo") == pytest.approx(error_of(NOISE[:1], "mono"), abs=0.05)


def test_coded_sound_has_all_samples_behind_its_delay() -> None:
    coded = np.concatenate([*code_and_decode(iter([NOISE]), RATE, "stereo")], axis=1)
    assert RATE <= coded.shape[1] <= RATE + 2 * DELAY


def test_no_sound_is_no_coded_sound() -> None:
    assert [*code_and_decode(iter([]), RATE, "mono")] == []
