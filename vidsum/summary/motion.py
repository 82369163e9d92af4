"""Motion of a video: frozen footage has none.

The constants were chosen on seven clips and measured on others: docs/benchmarks.md has both.
"""

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from vidsum.models.scaling import changes_around, unit_rows
from vidsum.results.features import Features
from vidsum.types import FloatArray, IntArray

Matrix = npt.NDArray[np.float64]

_FROZEN, _STEEPNESS = 2e-4, 3.0
"""Change at which a sample is as likely frozen as live, and how fast that turns with the logarithm of change.
On the seven clips frozen pictures changed by up to 6e-5 after H.264, live footage by 6e-4 or more."""

_MOVING = 6  # samples, one after the other, that change in live footage
_MOSTLY, _STILL = 0.5, 0.5
"""Where more than this fraction of a video stands still, its stills are what it shows (slides): each that
gives way to another is this live."""


def motion(features: Features) -> FloatArray:
    """Return [T] how surely each sample is not frozen, in [0, 1]; 1 for a single sample.

    The lesser of the changes from and to its neighbours counts: a cut does not make a picture live. Nor do
    fewer than `_MOVING` samples that change: an encoder draws a still picture anew from time to time. In a
    video that is mostly stills, the change of a still is that to the next one.
    """
    rows = features.array
    if len(rows) == 1:
        return np.ones(1, np.float32)
    change = changes_around(rows)
    width = min(_MOVING, len(change))
    least = np.pad(sliding_window_view(change, width).min(axis=1), width - 1)
    live = _change_liveness(sliding_window_view(least, width).max(axis=1))
    counts = np.diff(features.picture_starts, append=len(rows))
    if counts[counts > 1].sum() > _MOSTLY * len(rows):
        stills = _still_liveness(rows, features.picture_starts, counts)
        live = np.maximum(live, _STILL * np.repeat(stills, counts))
    return live


def _still_liveness(rows: FloatArray, starts: IntArray, counts: IntArray) -> FloatArray:
    """Return [P] how surely each picture that stays is replaced by another that stays; 0 for the rest.

    The last sample of one and the first of the next are compared: a slow drift is no replacement.
    """
    live, stays = np.zeros(len(starts), np.float32), np.flatnonzero(counts > 1)
    if len(stays) > 1:
        change = unit_rows(rows[(starts + counts)[stays[:-1]] - 1]) - unit_rows(rows[starts[stays[1:]]])
        steps = np.einsum("td,td->t", change, change, dtype=np.float64) / 2
        live[stays] = _change_liveness(np.append(steps, steps[-1]))
    return live


def _change_liveness(change: Matrix) -> FloatArray:
    return np.asarray(change**_STEEPNESS / (change**_STEEPNESS + _FROZEN**_STEEPNESS), np.float32)
