"""Shots that show about the same: they are as close to each other as the samples of one shot are."""

import numpy as np
import numpy.typing as npt

from vidsum.scaling import unit_rows
from vidsum.types import Features, FloatArray

IntArray = npt.NDArray[np.int64]

_BLOCK = 128
"""Rows of the matrix of distances that are computed at a time."""
_ROUNDING = 1e-5
"""Differences below this are rounding, in quantities of order one that come from float32 products."""


def within_shot_distance(rows: FloatArray, shot_of: IntArray) -> float:
    """Median cosine distance of samples that follow each other in a shot; 0 where no shot has two samples.

    Args:
        rows: [T, D] of unit length.
        shot_of: [T] the number of each sample's shot.
    """
    within = shot_of[1:] == shot_of[:-1]
    if not within.any():
        return 0.0
    cosines = np.einsum("td,td->t", rows[1:], rows[:-1], dtype=np.float64)
    return max(0.0, float(np.median(1 - cosines[within])))


def repetition_groups(features: Features, shot_of: IntArray, n_shots: int) -> IntArray:
    """[S] the first shot that each shot repeats; its own number where it repeats none.

    A shot repeats an earlier one that repeats none itself, if the cosine distance between the means of their
    samples' directions is below the `within_shot_distance`.

    Args:
        features: of the video.
        shot_of: [T] the number of each sample's shot, from 0, never falling.
        n_shots: S; shots without samples repeat none.
    """
    rows = unit_rows(features.array)
    usual = within_shot_distance(rows, shot_of)
    groups = np.arange(n_shots)
    present, first = np.unique(shot_of, return_index=True)
    means = unit_rows(np.add.reduceat(rows, first, axis=0))
    for later, earlier in _repeated(means, usual - _ROUNDING).items():
        groups[present[later]] = present[earlier]
    return groups


def _repeated(means: FloatArray, below: float) -> dict[int, int]:
    """The rows that repeat an earlier one, and the first that they repeat."""
    repeats: dict[int, int] = {}
    for start in range(0, len(means), _BLOCK):
        stop = start + _BLOCK
        distances = 1 - means[start:stop] @ means[:stop].T
        for row, near in enumerate(distances < below, start):
            earlier = next((int(other) for other in np.flatnonzero(near[:row]) if other not in repeats), None)
            if earlier is not None:
                repeats[row] = earlier
    return repeats
