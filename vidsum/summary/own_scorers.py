"""Importance scores from outside vidsum: numbers, a function, or an installed package's entry point."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import entry_points

import numpy as np
import numpy.typing as npt

from vidsum.errors import UsageError
from vidsum.results.features import Features
from vidsum.scaling import unit_range
from vidsum.summary.score import MODELS, Scored, scored_once
from vidsum.types import FloatArray

GROUP = "vidsum.scorers"
"""Entry points in which packages name their scorers; `--model NAME` finds them."""

OwnScores = Callable[[Features], npt.ArrayLike] | npt.ArrayLike
"""A function of features, or its result: [T] finite numbers, of any range."""


@dataclass(frozen=True)
class OwnScorer:
    """A scorer that is not vidsum's."""

    name: str
    score: Callable[[Features], npt.ArrayLike] = field(repr=False)
    sha256: str | None = None
    """Hash of scores that were given as numbers; what a function does is not known."""

    def scored(self, features: Features) -> Scored:
        """The curve. Raises UsageError where it is not one finite number for each feature."""
        return scored_once(self.name, _curve(self.score(features), features, self.name))


def own_scorer(model: OwnScores) -> OwnScorer:
    """The scorer of a function or of numbers."""
    if callable(model):
        return OwnScorer(getattr(model, "__qualname__", type(model).__qualname__), model)
    scores = np.asarray(model)
    return OwnScorer("scores", lambda _: scores, hashlib.sha256(scores.tobytes()).hexdigest())


def installed_scorer(name: str) -> OwnScorer | None:
    """The scorer that an installed package registers under a name, which is not one of vidsum's own."""
    if name in MODELS or name.endswith(".safetensors"):
        return None
    entry = next(iter(entry_points(group=GROUP, name=name)), None)
    return None if entry is None else OwnScorer(name, entry.load())


def _curve(given: npt.ArrayLike, features: Features, name: str) -> FloatArray:
    """[T] in [0, 1]: as given where all lie there, else scaled to its range."""
    try:
        scores = np.asarray(given, np.float32)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name}: not an array of numbers ({error})") from error
    if scores.shape != (len(features),):
        shape = list(scores.shape)
        raise UsageError(f"{name}: scores of shape {shape}, not [{len(features)}], one for each feature")
    if not np.isfinite(scores).all():
        raise UsageError(f"{name}: scores hold NaN or infinite values")
    is_unit = scores.min() >= 0 and scores.max() <= 1
    return scores if is_unit else unit_range(scores, 0.5)
