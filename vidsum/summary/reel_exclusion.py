"""Parts of a reel, and which of them may not be in it together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from vidsum.types import BoolArray, FloatArray, IntArray

_APART_S: Final = 2.0  # between two parts of a clip, lest the picture jump


@dataclass(frozen=True, eq=False)
class ReelPart:
    """A part [start_s, end_s) of an input."""

    start_s: float
    end_s: float
    importance: float  # in deviations of people's scores, above the input's mean
    n_shots: int
    spoken: float  # how certain it is that something is said, in [0, 1]
    look: FloatArray  # [D] mean feature

    @property
    def length_s(self) -> float:
        return self.end_s - self.start_s


class Exclusion:
    """Which parts may not join others: too near, too much of one clip, or alike."""

    def __init__(
        self,
        parts: Sequence[ReelPart],
        sources: IntArray,
        alike: BoolArray,
        most_s: float,
        spoken_s: float,
    ) -> None:
        """Take N parts with their inputs [N], and which look alike, [N, N].

        Of one input, silent parts have at most `most_s` together, and speech `spoken_s`.
        """
        self._sources, self._alike = sources, alike
        self._most_s, self._spoken_s = most_s, spoken_s
        self._starts = np.array([part.start_s for part in parts])
        self._ends = np.array([part.end_s for part in parts])
        self._silent = np.array([not part.spoken for part in parts])

    def excluded(self, chosen: Sequence[int], unit: int) -> IntArray:
        """Return which parts may not join any more where `unit` joins the chosen ones."""
        same, silent = self._sources == self._sources[unit], self._silent & self._silent[unit]
        apart_s = np.where(silent, _APART_S, 0.0)
        near = (self._starts < self._ends[unit] + apart_s) & (self._ends > self._starts[unit] - apart_s)
        is_out = (same & near) | (silent & self._alike[unit])
        lengths, limited = self._ends - self._starts, same & (self._silent == self._silent[unit])
        used_s = sum(lengths[number] for number in (*chosen, unit) if limited[number])
        limit_s = self._most_s if self._silent[unit] else self._spoken_s
        is_out |= limited & (used_s + lengths > limit_s + 1e-6)
        is_out[unit] = True
        return np.flatnonzero(is_out)
