"""How far a video shows live footage: not black, blank, frozen, nearly dark or far out of focus.

The constants were chosen on seven clips and measured on others: docs/benchmarks.md has both, and
`python -m docs.benchmarks.liveness CLIP ... --fit` prints those of other clips.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from vidsum.models.scaling import changes_around, logistic, unit_rows
from vidsum.results.features import Features
from vidsum.types import FloatArray, IntArray

Matrix = npt.NDArray[np.float64]

_READS = "efficientnet_lite0"  # the extractor whose units are known
# fmt: off
DULL_UNITS = (71, 113, 226, 294, 310, 353, 405, 423, 437, 455, 470, 473,
              573, 623, 782, 824, 829, 897, 900, 949, 1105, 1121, 1226)
# fmt: on
"""Units of its feature that nearly dark, blurred and blank pictures raise most, eight each."""
_ENTROPY, _DULL, _INTERCEPT = 6.78, -10.23, -32.66  # regression of "live" on `measures`
_FROZEN, _STEEPNESS = 2e-4, 3.0
"""Change at which a sample is as likely frozen as live, and how fast that turns with the logarithm of change.
On the seven clips frozen pictures changed by up to 6e-5 after H.264, live footage by 6e-4 or more."""

_MOVING = 6  # samples, one after the other, that change in live footage
_MOSTLY, _STILL = 0.5, 0.5
"""Where more than this fraction of a video stands still, its stills are what it shows (slides): each that
gives way to another is this live."""
_BLOCK = 1024  # rows that are measured at a time
_TINY = np.finfo(np.float32).tiny


def liveness(features: Features) -> FloatArray:
    """Return [T] how far each sample is live footage, in [0, 1]; about 1 for ordinary footage.

    The product of two factors, neither of which is scaled to the video:

    - motion: how surely the sample differs from both of its neighbours, by the cosine distance of features;
    - pictures, for features of efficientnet_lite0 only: a logistic function of the entropy of a feature (to a
      dark, blurred or blank picture few units answer) and of the units that answer to such pictures.

    For other extractors a frozen sample is found, a black, dark or blurred one is not.
    """
    live = motion(features).astype(np.float64)
    if features.extractor == _READS and features.array.shape[1] > max(DULL_UNITS):
        live *= logistic(measures(features.array) @ np.array([_ENTROPY, _DULL]) + _INTERCEPT)
    return np.asarray(live, np.float32)


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


def measures(array: FloatArray, units: Sequence[int] = DULL_UNITS) -> Matrix:
    """Return [T, 2] of features that are not negative: the entropy over units, and the sum of the dull units.

    The entropy is of the feature scaled to a sum of 1, in nats; the sum is of the feature scaled to
    length 1. A feature of zeros has 0 and 0.
    """
    rows = list[Matrix]()
    for start in range(0, len(array), _BLOCK):
        positive = np.maximum(array[start : start + _BLOCK], 0).astype(np.float64)
        shares = positive / np.maximum(positive.sum(axis=1, keepdims=True), _TINY)
        entropy = -(shares * np.log(np.where(shares > 0, shares, 1))).sum(axis=1)
        lengths = np.maximum(np.linalg.norm(positive, axis=1), _TINY)
        rows.append(np.stack([entropy, positive[:, list(units)].sum(axis=1) / lengths], axis=1))
    return np.concatenate(rows)
