"""Segmentations that know nothing of the video: how much of an F-measure comes from the lengths of shots.

Otani et al., "Rethinking the Evaluation of Video Summaries", CVPR 2019: with shots of very different lengths
the knapsack prefers the short ones whatever the scores are, so that random scores come near to annotators.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]

Segmentation = Callable[[int, np.random.Generator], IntArray]
"""segmentation(n_frames, rng) -> [S, 2] first and last frame of each shot, both inside it."""

CHANGE_POINTS: Final = "change-points"
"""Name of the segmentation that comes with the data."""


def uniform_60(n_frames: int, rng: np.random.Generator) -> IntArray:
    """Shots of 60 frames; the last has what is left."""
    return _change_points(np.arange(0, n_frames, 60), n_frames)


def one_peak(n_frames: int, rng: np.random.Generator) -> IntArray:
    """Shots of Poisson(60) frames."""
    return _poisson((60,), n_frames, rng)


def two_peak(n_frames: int, rng: np.random.Generator) -> IntArray:
    """Shots of Poisson(30) or Poisson(90) frames, one as likely as the other."""
    return _poisson((30, 90), n_frames, rng)


def two_peak_30_300(n_frames: int, rng: np.random.Generator) -> IntArray:
    """Shots of Poisson(30) or Poisson(300) frames, one as likely as the other: an extreme of `two_peak`."""
    return _poisson((30, 300), n_frames, rng)


SEGMENTATIONS: Final[dict[str, Segmentation]] = {
    "uniform-60": uniform_60,
    "one-peak": one_peak,
    "two-peak": two_peak,
    "two-peak-30-300": two_peak_30_300,
}

DRAWN: Final = frozenset({"one-peak", "two-peak", "two-peak-30-300"})
"""Segmentations that differ from seed to seed."""


def _poisson(means: tuple[int, ...], n_frames: int, rng: np.random.Generator) -> IntArray:
    starts = [0]
    while starts[-1] < n_frames:
        starts.append(starts[-1] + int(rng.poisson(means[rng.integers(len(means))])))
    return _change_points(np.unique(starts[:-1]), n_frames)  # unique: a Poisson draw may be 0


def _change_points(starts: npt.NDArray[np.signedinteger], n_frames: int) -> IntArray:
    return np.stack([starts, np.append(starts[1:], n_frames) - 1], axis=1).astype(np.int64)
