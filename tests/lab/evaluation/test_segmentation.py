"""Shots that know nothing of the video."""

import numpy as np
import pytest

from vidsum.lab.evaluation.reference import DRAWN, SEGMENTATIONS


@pytest.mark.parametrize("name", SEGMENTATIONS)
@pytest.mark.parametrize("n_frames", [1, 59, 60, 61, 5000])
def test_shots_fill_the_video(name: str, n_frames: int) -> None:
    shots = SEGMENTATIONS[name](n_frames, np.random.default_rng(n_frames))
    assert shots[0, 0] == 0
    assert shots[-1, 1] == n_frames - 1
    assert (shots[1:, 0] == shots[:-1, 1] + 1).all()
    assert (shots[:, 1] >= shots[:, 0]).all()


@pytest.mark.parametrize(
    ("name", "mean", "deviation"),
    [
        ("uniform-60", 60, 0),
        ("one-peak", 60, 60**0.5),
        # of a mixture: the mean of the variances, and the square of half the distance of the means
        ("two-peak", 60, (60 + 30**2) ** 0.5),
        ("two-peak-30-300", 165, (165 + 135**2) ** 0.5),
    ],
)
def test_lengths_are_distributed_as_named(name: str, mean: float, deviation: float) -> None:
    shots = SEGMENTATIONS[name](1_000_000, np.random.default_rng(0))[:-1]
    lengths = shots[:, 1] - shots[:, 0] + 1
    assert lengths.mean() == pytest.approx(mean, rel=0.02)
    assert lengths.std() == pytest.approx(deviation, rel=0.02)


def test_two_peaks_leave_nothing_between_them() -> None:
    shots = SEGMENTATIONS["two-peak-30-300"](100_000, np.random.default_rng(0))[:-1]
    lengths = shots[:, 1] - shots[:, 0] + 1
    assert ((lengths < 60) | (lengths > 220)).all()


@pytest.mark.parametrize("name", SEGMENTATIONS)
def test_only_the_drawn_ones_depend_on_the_seed(name: str) -> None:
    one, other = (SEGMENTATIONS[name](5000, np.random.default_rng(seed)) for seed in (0, 1))
    assert np.array_equal(one, other) == (name not in DRAWN)
