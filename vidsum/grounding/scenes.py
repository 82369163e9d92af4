"""Scenes: shots, and runs of shots that look alike. No highlight or moment of a query crosses their edges.

docs/highlights.md and docs/algorithms/grounding.md have the rule.
"""

from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from vidsum.types import FloatArray, TimeArray

SAME_LOOK: Final = {"efficientnet_lite0": 0.65, "vse": 0.7}
"""Cosine of mean features, or rows of a space, from which two parts look alike. In three joined films, 99 %
of the shots of two clips were below .60, and three quarters of the neighbouring shots of one take above .65;
in `vse`, 98 % are below .70, and 45 % of the shots of one clip above."""
ELSEWHERE: Final = 0.9  # the cosine for other extractors and spaces, which were not measured
_SLACK: Final = 0.1  # by which shots of a scene may look less alike than parts of a summary


def look_cosine(name: str) -> float:
    """Return the cosine from which two parts look alike, in the features of an extractor, or in a space."""
    return SAME_LOOK.get(name, ELSEWHERE)


def scene_cosine(name: str) -> float:
    """Return the least cosine of a shot and all shots before it in a scene."""
    return look_cosine(name) - _SLACK


def find_scenes(rows: FloatArray, times: TimeArray, edges_s: TimeArray, min_cosine: float) -> TimeArray:
    """Return [K + 1] edges of scenes: runs of shots, each of which looks like all before it together.

    Args:
        rows: [N, D] features, of any length.
        times: [N] seconds of the features.
        edges_s: [S + 1] edges of the shots.
        min_cosine: of the mean features of a shot and of the shots before it.
    """
    starts = [float(edges_s[0])]
    scene = np.zeros(rows.shape[1])
    for start_s, end_s in pairwise(edges_s.tolist()):
        shot = _unit_sum(rows[samples_between(times, start_s, end_s)])
        if start_s > starts[-1] and _cosine(scene, shot) < min_cosine:
            starts.append(start_s)
            scene = np.zeros_like(scene)
        scene += shot
    return np.array([*starts, float(edges_s[-1])])


def samples_between(times: npt.NDArray[np.number], start: float, end: float) -> slice:
    """Return the samples of a part, by their increasing `times` [N]; between two samples, the one before."""
    first, stop = np.searchsorted(times, (start, end)).tolist()
    first = first if first < stop else max(first - 1, 0)
    return slice(first, max(stop, first + 1))


def _unit_sum(rows: FloatArray) -> npt.NDArray[np.float64]:
    """Return [D] the sum of rows [n, D], each of length 1."""
    lengths = np.sqrt(np.einsum("td,td->t", rows, rows, dtype=np.float64))
    lengths[lengths == 0] = 1
    return np.asarray((1 / lengths) @ rows)


def _cosine(first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]) -> float:
    product = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(first @ second) / product if product else 0.0
