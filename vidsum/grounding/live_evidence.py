"""How likely queries are true of a second of a source, in any image-text space, with constant memory.

The evidence is that of `vidsum.grounding.match`, by what has been seen so far: with the mean m of b . f and
its deviation s among everyday phrases b,

    evidence(q, t) = (q . f_t - m) / s + what is named - 1/2 mean_b max_W (b . f - m) / s

over windows W of up to five seconds. The past fades with a time constant of 83 minutes.

docs/algorithms/presence.md describes how the curves were fitted, and their accuracy.
"""

from collections import deque
from collections.abc import Sequence

import numpy as np

from vidsum.grounding.match import Curve
from vidsum.models.scaling import logistic
from vidsum.types import FloatArray

NAMED, NAMED_OTHER = Curve(1.09, -2.96), Curve(1.38, -3.31)
"""Where a network names objects: of English, and of other languages by multilingual E5."""
BARE, BARE_OTHER = Curve(1.49, -2.90), Curve(1.64, -3.26)  # by the cosines alone
_WINDOW = 5  # seconds
_LENGTH_WEIGHT = np.float32(0.5)
_FADE = 0.9998  # factor of the past each second


class RunningEvidence:
    """The evidence of queries, one second after another."""

    def __init__(self, background: FloatArray) -> None:
        """Compare with phrases [B, D]."""
        self._background = background
        self._sums = np.zeros(3)  # of seconds, means and variances
        self._recent = deque[FloatArray](maxlen=_WINDOW)
        self._best = np.full(len(background), -1.0)  # [B] of windows

    def add(self, queries: FloatArray, row: FloatArray, named: FloatArray | None = None) -> FloatArray:
        """Return [M] of queries [M, D] for the next second, by its row [D] and the evidence named [M]."""
        cosines = self._background @ row
        self._sums = _FADE * self._sums + (1.0, float(cosines.mean()), float(cosines.var()))
        seconds, mean, variance = self._sums
        mean, deviation = mean / seconds, float(np.sqrt(variance / seconds)) or 1.0
        self._recent.append(cosines)
        window = np.mean(self._recent, axis=0)
        self._best = window + _FADE * np.maximum(self._best - window, 0)
        usual = float((self._best.mean() - mean) / deviation)
        evidence = (queries @ row - mean) / deviation - _LENGTH_WEIGHT * usual
        return np.asarray(evidence if named is None else evidence + named, np.float32)


def to_probabilities(evidence: FloatArray, are_other: Sequence[bool], *, is_named: bool) -> FloatArray:
    """Return [M] probabilities of evidence [M]; `are_other` says which texts E5 has read."""
    english, other = (NAMED, NAMED_OTHER) if is_named else (BARE, BARE_OTHER)
    curves = np.array([other if flag else english for flag in are_other], np.float32)
    return logistic(curves[:, 0] * evidence + curves[:, 1])
