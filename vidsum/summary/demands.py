"""Demands on a summary: no quarter of a film left out, no scene twice, if a unit can give way to another."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from vidsum.summary.objective import Objective
from vidsum.summary.optimise import Excluded, excluded_by, gains_of
from vidsum.types import BoolArray, FloatArray, IntArray

_LEAST: Final = 3  # units: fewer leave a quarter out wherever they lie
_FAIR: Final = 0.5  # a different scene of this fraction of the importance comes before a repeated one


@dataclass(frozen=True, eq=False)
class Demands:
    """Quarters of the film with something important in them, and scenes, by unit."""

    frames: IntArray  # [N, 2] start and end of each unit
    quarters: BoolArray  # [N, Q] in which quarters it lies
    scenes: BoolArray  # [N, K] which scenes it shows in full
    importance: FloatArray  # [K] of each scene, in [0, 1]
    has_quarters: BoolArray  # [Q] those in which parts lie that are in anyway
    has_scenes: BoolArray  # [K] the scenes that such parts show

    def missing(self, chosen: Sequence[int]) -> BoolArray:
        """Return [Q] the quarters in which no unit lies."""
        return ~(self.quarters[[*chosen]].any(axis=0) | self.has_quarters)

    def left_out(self, chosen: Sequence[int]) -> BoolArray:
        """Return [K] the scenes that no unit shows."""
        return ~(self.scenes[[*chosen]].any(axis=0) | self.has_scenes)

    def repeated(self, chosen: Sequence[int]) -> dict[int, float]:
        """Return the units of a choice whose scene it shows once more elsewhere, and the scene's importance.

        Units that touch are one piece.
        """
        repeats = dict[int, float]()
        for scene in np.flatnonzero(self.scenes[[*chosen]].sum(axis=0) + self.has_scenes > 1).tolist():
            units = sorted((unit for unit in chosen if self.scenes[unit, scene]), key=self._start)
            spans = self.frames[units]
            n_pieces = 1 + int((spans[1:, 0] > spans[:-1, 1]).sum()) + int(self.has_scenes[scene])
            if n_pieces > 1:
                repeats |= dict.fromkeys(units, float(self.importance[scene]))
        return repeats

    def _start(self, unit: int) -> int:
        return int(self.frames[unit, 0])


def meet_demands(
    objective: Objective,
    demands: Demands,
    sizes: IntArray,
    room: int,
    excluded: Excluded,
    chosen: Sequence[int],
) -> list[int]:
    """Return a choice in which units gave way to others, one for one, as long as the demands need it.

    First no quarter is left out that one other unit would fill; then no scene is shown twice while another
    unit shows a different one of at least half of its importance, and neither leaves out a further quarter,
    nor more scenes. Of the units that would do, those with the highest value are taken.
    """
    best = [*chosen]

    def exchange(giving: Sequence[int], wanted: Callable[[int, list[int]], BoolArray]) -> list[int]:
        """Return the best choice in which a unit gave way; an empty one if there is none."""
        choices = [list[int]()]
        for unit in giving:
            others = [other for other in best if other != unit]
            fits = (sizes <= room - int(sizes[others].sum())) & ~excluded_by(excluded, others, len(sizes))
            numbers = np.flatnonzero(fits & wanted(unit, others))
            if len(numbers):
                gains = gains_of(objective, objective.represented(others), numbers)
                choices.append([*others, int(numbers[gains.argmax()])])
        return max(choices, key=objective.value)

    def fills(unit: int, others: list[int]) -> BoolArray:
        filled = _missing_with(demands.missing(others), demands.quarters)
        return np.asarray(filled < demands.missing(best).sum())

    def shows_another(unit: int, others: list[int]) -> BoolArray:
        is_another = demands.left_out(best) & (demands.importance >= _FAIR * repeats[unit])
        keeps = _missing_with(demands.missing(others), demands.quarters) <= demands.missing(best).sum()
        # else two units with several scenes could change places for ever
        shows_more = _missing_with(demands.left_out(others), demands.scenes) < demands.left_out(best).sum()
        return np.asarray(keeps & shows_more & (demands.scenes & is_another).any(axis=1))

    while True:  # each exchange leaves out fewer quarters, or as few and fewer scenes
        needs_quarters = len(best) >= _LEAST and demands.missing(best).any()
        better = exchange(best, fills) if needs_quarters else []
        if not better and (repeats := demands.repeated(best)):
            better = exchange([*repeats], shows_another)
        if not better:
            return sorted(best)
        best = better


def _missing_with(missing: BoolArray, units: BoolArray) -> IntArray:
    """Return [N] how many of what is missing [J] each unit still leaves out, by what units have [N, J]."""
    return np.asarray(missing.sum() - (units & missing).sum(axis=1))
