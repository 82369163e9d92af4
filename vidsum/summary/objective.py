"""The objective of a summary: how important it is, and how much of the film it represents.

A summary S of units u has the value

    F(S) = sum over u in S of value(u)  +  sum over j of max over u in S of shows(u, j)

What there is to show, j, are the samples of the film, its quarters and its scenes: see `unit_values` and
`representation`. All is in seconds times deviations of people's scores. F is submodular: what a unit adds
only falls as others join. docs/algorithms/selection.md says why, and how the weights were chosen.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from vidsum.types import FloatArray, TimeArray


@dataclass(frozen=True)
class Weights:
    """The weights of the objective, in deviations of people's scores over a video."""

    look: float = 0.5  # a film whose looks are all shown is worth as much as this importance
    time: float = 5.0  # likewise a film of which no quarter is left out: it comes first
    scene: float = 1.0  # times seconds: a scene that is shown
    slide: float = 3.0  # likewise, a slide that is shown
    cut: float = 1.25  # times seconds: a shot that begins, which those who watch have to take in
    speech: float = 1.5  # what is said, over silence, if it is worth 1


WEIGHTS: Final = Weights()
_LEAST: Final = 0.01  # value of a second: what is left of the budget is used
QUARTER: Final = 0.245
"""Fraction of the film that should not be without a unit: a quarter, less the space between places."""


@dataclass(frozen=True, eq=False)
class Objective:
    """F in numbers: the values [N] of units, and how much each shows [N, J]."""

    values: TimeArray
    shows: FloatArray
    base: FloatArray  # [J] what is shown by parts that are in anyway

    def value(self, chosen: Sequence[int]) -> float:
        """Return F of the units with these numbers, less what is shown anyway."""
        added = (self.represented(chosen) - self.base).sum(dtype=np.float64)
        return float(self.values[[*chosen]].sum() + added)

    def represented(self, chosen: Sequence[int]) -> FloatArray:
        """Return [J] what is shown with the units that are chosen."""
        return np.asarray(np.maximum(self.shows[[*chosen]].max(axis=0, initial=0), self.base))


def unit_values(
    seconds: TimeArray, importance: TimeArray, n_shots: npt.ArrayLike, spoken: npt.ArrayLike
) -> TimeArray:
    """Return [N] the values of units: seconds (1 + importance - the lowest + speech) - cut n_shots, and more
    than nothing.

    `importance` [N] is in deviations. `spoken` [N] in [0, 1] is what the speech is worth, 0 for silence.
    """
    above = importance - importance.min(initial=np.inf)
    spoken, n_shots = np.asarray(spoken), np.asarray(n_shots)
    values = seconds * (1 + above + WEIGHTS.speech * spoken) - WEIGHTS.cut * n_shots
    return np.asarray(np.maximum(values, _LEAST * seconds))


def representation(
    looks: FloatArray, quarters: npt.NDArray[np.bool_], scenes: FloatArray, budget_s: float
) -> FloatArray:
    """Return [N, J] how much units show, for a budget in seconds.

    `looks` [N, T] is the likeness to each sample times its share of the film, `quarters` [N, Q] whether a
    unit lies in a quarter of the film, `scenes` [N, K] the weights of scenes times how much it shows of them.
    """
    parts = [
        WEIGHTS.look * budget_s * looks,
        WEIGHTS.time * budget_s / max(quarters.shape[1], 1) * quarters,
        scenes,
    ]
    return np.hstack([np.asarray(part, np.float32) for part in parts])
