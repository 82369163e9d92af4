"""Fixed cameras: what differs from the usual picture comes before the usual picture.

docs/algorithms/importance.md has the test and what it was measured on.
"""

from dataclasses import replace
from typing import Final

import numpy as np

from vidsum.models.scaling import logistic, logit, unit_rows
from vidsum.results.features import Features
from vidsum.summary.score import ScoredVideo
from vidsum.summary.settings import BASELINES
from vidsum.types import BoolArray, FloatArray

_READS: Final = "efficientnet_lite0"  # the extractor whose cosines are known
_STEP, _HALF_SECOND = 0, 2  # columns of changes
_NEXT_S: Final = 1.0  # between pictures that are compared, at most: key frames alone tell too little
_STILL: Final = 5.0  # levels of 255: half of the pictures of a fixed camera change by less in half a second
_CUT: Final = 5.0  # times the change around it: a step from picture to picture that is a cut, or a light
_ALIKE: Final = 0.95  # cosine of two samples of the same picture
_APART_S: Final = 3.0  # time from a sample to others that count: its neighbours are always alike
_USUAL: Final = 0.15  # least fraction of the samples that show the usual picture
_RETURNS: Final = 2  # least number of times that the film shows it, for a second or more
_CANDIDATES: Final = 512  # samples that may be the usual picture, evenly spread: a long film has thousands
_SPREAD: Final = 0.9  # quantile of the distances of the usual picture's samples from their mean
_FAR: Final = 2.0  # times that is what may differ, at most the distance of `_ALIKE`
_OTHER: Final = 3.0  # times what may differ: what surely does
_STRENGTH: Final = 10.0  # logit between the two: the usual picture is then worth next to nothing


def prefer_events(scored: ScoredVideo, features: Features, changes: Features | None) -> ScoredVideo:
    """Return the scores with what differs from the usual picture of a fixed camera first; else as they are.

    `changes` are of the film's pictures (`vidsum.video.changes`); without them, nothing is changed.
    """
    if scored.model in BASELINES or features.extractor != _READS or changes is None or not is_fixed(changes):
        return scored
    usual = usual_picture(features)
    if usual is None:
        return scored
    distances = 1 - unit_rows(features.array) @ usual
    near = distances[distances <= 1 - _ALIKE]
    # small things change the picture little: as much as is rare where nothing happens, in this film
    may_differ = min(1 - _ALIKE, _FAR * float(np.quantile(near, _SPREAD)))
    events = np.clip((distances / may_differ - 1) / (_OTHER - 1), 0, 1)
    importance = logistic(logit(scored.importance) + _STRENGTH * (events - 0.5))
    reason = f"{scored.reason}; the camera is fixed: what differs from its usual picture comes first"
    return replace(scored, importance=importance, reason=reason)


def is_fixed(changes: Features) -> bool:
    """Return whether the background stays: most pictures are as half a second before, and none is cut to."""
    times, steps = changes.timestamps, changes.array[1:, _STEP]
    if len(times) < 2 or np.median(np.diff(times)) > _NEXT_S:
        return False
    # of less than two pictures a second, the picture before is the nearest to half a second before
    recent = np.maximum(changes.array[1:, _HALF_SECOND], steps)
    return bool(np.median(recent) <= _STILL) and not has_cut(steps)


def has_cut(steps: FloatArray) -> bool:
    """Return whether one of the steps [N] is large, and far larger than the two before and the two after.

    What enters a picture takes several steps; the next slide of a talk takes a single one.
    """
    padded = np.pad(steps, 2)
    around = np.max([padded[:-4], padded[1:-3], padded[3:-1], padded[4:]], axis=0)
    return bool(((steps > _STILL) & (steps > _CUT * around)).any())


def usual_picture(features: Features) -> FloatArray | None:
    """Return [D] the unit feature of the picture that a film shows most and returns to; None without one."""
    rows, count = unit_rows(features.array), len(features)
    candidates = np.unique(np.linspace(0, count - 1, min(count, _CANDIDATES)).round().astype(int))
    is_alike: BoolArray = rows[candidates] @ rows.T >= _ALIKE
    is_apart = np.abs(candidates[:, None] - np.arange(count)) * features.step_s >= _APART_S
    alike = is_alike[(is_alike & is_apart).sum(axis=1).argmax()]
    if alike.mean() < _USUAL or _count_runs(alike, round(1 / features.step_s)) < _RETURNS:
        return None
    mean: FloatArray = unit_rows(rows[alike].mean(axis=0, keepdims=True))[0]
    return mean


def _count_runs(is_in: BoolArray, shortest: int) -> int:
    """Return how many runs of at least `shortest` marked samples there are."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], is_in, [False]]).astype(np.int8)))
    return int((edges[1::2] - edges[::2] >= shortest).sum())
