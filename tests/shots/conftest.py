"""Feature sequences that the tests of shots share."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from vidsum.video.frames import Exact, Sampling
from vidsum.video.probe import probe
from vidsum.video.read import read_frames

Rows = npt.NDArray[np.float32]

CLIPS = ("basketball.mp4", "bikes.mp4", "dog_in_snow.mp4", "jesse_dance.mp4", "making_cake.mp4", "yoga.mp4")


def sequence(rng: np.random.Generator, n: int, dim: int, shot: int, noise: float) -> Rows:
    """Unit rows that stay alike for about `shot` rows, then become others: what features of a video do."""
    changes = rng.random(n) < 1 / shot
    rows = rng.gamma(0.5, 1.0, (n, dim))[np.cumsum(changes) % n]
    rows = rows + noise * rng.standard_normal((n, dim))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


@pytest.fixture(scope="session")
def real_rows(shared_videos: Path) -> Rows:
    """[T, 192] histograms of the three colours, 64 bins each, of real clips one after the other, at 5 fps."""
    rows = [
        np.concatenate([np.bincount(frame.image[..., c].ravel() >> 2, minlength=64) for c in range(3)])
        for name in CLIPS
        for _, frame in read_frames(probe(shared_videos / name), [Sampling(5.0, Exact(64, 36))])
    ]
    counts = np.array(rows, np.float32)
    return np.asarray(counts / np.linalg.norm(counts, axis=1, keepdims=True), np.float32)
