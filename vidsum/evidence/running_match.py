"""How likely queries are true of a live source, second after second, in constant memory.

The probability is given by `match_probability`, for the window of up to five seconds of a shot that ends
with the second. What is usual is what has been seen so far, and the past fades.
"""

from collections import deque

import numpy as np

from vidsum.evidence.match_probability import WINDOW, MatchedQueries, Usual, make_usual
from vidsum.grounding.spaces import ClassMixture
from vidsum.models.scaling import logistic
from vidsum.types import FloatArray

_FADE = 0.9998  # factor of the past each second: a time constant of 83 minutes


class RunningUsual:
    """The cosines that are usual so far; see `vidsum.evidence.match_probability.usual_of`."""

    def __init__(self, background: FloatArray) -> None:
        """Compare with phrases [B, D]."""
        self._background = background
        self._sums = np.zeros(3)  # of seconds, means and variances
        self._recent = deque[FloatArray](maxlen=WINDOW)
        self._best = np.full(len(background), -1.0)  # [B] of whole windows

    def add(self, row: FloatArray, *, begins_shot: bool) -> Usual:
        """Return what is usual up to a second with the row [D]."""
        cosines = self._background @ row
        self._sums = _FADE * self._sums + (1.0, float(cosines.mean()), float(cosines.var()))
        if begins_shot:
            if 1 < len(self._recent) < WINDOW:  # the window of a whole shot
                self._best = np.maximum(self._best, np.mean(self._recent, axis=0))
            self._recent.clear()
        self._recent.append(cosines)
        window = np.mean(self._recent, axis=0)
        self._best -= (1 - _FADE) * np.maximum(self._best - window, 0)
        best = np.maximum(self._best, window)
        if len(self._recent) == WINDOW:
            self._best = best
        seconds, mean, variance = self._sums
        return make_usual(mean / seconds, variance / seconds, float(best.mean()))


class RunningMatch:
    """The match probability of queries, one second after another."""

    def __init__(self, queries: MatchedQueries, background: FloatArray) -> None:
        """Compare with phrases [B, D]."""
        self._queries, self._usual = queries, RunningUsual(background)
        self._recent = deque[FloatArray](maxlen=WINDOW)  # [2, M] cosines, and evidence by what is named

    def add(
        self,
        row: FloatArray,
        objects: ClassMixture | None,
        actions: ClassMixture | None = None,
        *,
        begins_shot: bool,
    ) -> FloatArray:
        """Return [M] probabilities at a second, by its row [D] and what is named in it."""
        queries, usual = self._queries, self._usual.add(row, begins_shot=begins_shot)
        cosines, named = queries.vectors @ row, queries.named_evidence(objects, actions)[:, 0]
        if begins_shot:
            self._recent.clear()
        self._recent.append(np.stack([cosines, named]))
        cosines, named = np.mean(self._recent, axis=0)
        evidence = queries.evidence(cosines[:, None], named[:, None], usual)
        return logistic(queries.logits(evidence)[:, 0])
