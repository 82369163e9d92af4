"""Importance scores by the chosen model: a scorer that needs no training, or a trained model."""

import hashlib
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points

import numpy as np
import numpy.typing as npt

from vidsum import checkpoints
from vidsum.checkpoints.named import checkpoint_digest, checkpoint_file
from vidsum.checkpoints.trained import read_trained
from vidsum.device import cached_model
from vidsum.errors import UsageError, unknown_name_error
from vidsum.grounding import vse_map
from vidsum.models.scaling import LEAST_IMPORTANCE, logit, unit_range
from vidsum.results.features import Features
from vidsum.results.shots import Shots
from vidsum.summary.film_topics import PART_S, compare_within_topics, topics_of
from vidsum.summary.importance import SCORERS
from vidsum.summary.importance_model import (
    RIDGE_RATES,
    ImportanceModel,
    importance,
    load_importance_model,
    require_kind,
)
from vidsum.summary.motion import motion
from vidsum.summary.settings import SHIPPED_MODEL, SHIPPED_MODELS, SUMMARIZERS, Selection
from vidsum.types import FloatArray

_SHIPPED_READS = ("efficientnet_lite0", 2.0)  # extractor and features per second of the checkpoint that ships

AUTO_ORDER = (SHIPPED_MODEL, "highlights", "contrastive")
"""Models in the order in which `auto` tries them: first the one that was fitted to people's scores
(FullTransNet agrees less with them, and needs torch: its model card), then by the live footage in summaries
of films of which half was made dull (docs/benchmarks.md)."""

_REQUESTED = "it was asked for"
_REASONS = {
    SHIPPED_MODEL: "it was fitted to people's scores",
    "highlights": "the best of the scorers at leaving out dull footage",
    "contrastive": "the best of the scorers that read any features",
}
SLOPES = {"contrastive": 0.2, "highlights": 0.2}
"""Slopes of models whose checkpoint has none (docs/algorithms/importance.md). `highlights` reads pictures,
which were not there to measure it on: it is taken to know as much as `contrastive`."""
_FLAT_FRACTION, _FLAT_RANGE = 0.05, 0.01  # a flat curve spans no more of its mean, or no more
_FLATNESS = "segments do not depend on its content"


@dataclass(frozen=True, eq=False)
class ScoredVideo:
    """An importance curve, and where it comes from."""

    importance: FloatArray  # [T] in [0, 1]
    model: str  # the model that gave it
    reason: str  # why that model, in one line
    warnings: tuple[str, ...] = ()
    slope: float = 1.0
    """Slope of people's scores on the logit of the importance: how much the model knows. 1 where it was not
    measured: the user's own scores are taken at their word."""

    @property
    def expected(self) -> FloatArray:
        """[T] expected score of the annotators, in their deviations over a video."""
        return np.asarray(self.slope * logit(self.importance, LEAST_IMPORTANCE), np.float32)


def is_flat(importance: FloatArray) -> bool:
    """Return whether a curve hardly differs over a video."""
    spread = float(importance.max() - importance.min())
    return spread <= max(_FLAT_FRACTION * float(importance.mean()), _FLAT_RANGE)


def candidate_models(
    model: str, extractor: str, rate: float, embedded: bool, film_fps: float = math.inf, device: str = "auto"
) -> tuple[str, ...]:
    """Return the models that may give the scores, best first; a named one, or a path, is the only one.

    They are checked, before a video is decoded, against the features that they would read, at a `rate` per
    second of a video of `film_fps`. The shipped model needs features that are `embedded` by the map: without,
    `auto` leaves it out. Raises UsageError: unknown model, or it reads other features. InputError: the file
    is missing or not a checkpoint.
    """
    if model == "auto":
        shipped_extractor, shipped_rate = _SHIPPED_READS
        is_near = abs(rate / min(shipped_rate, max(rate, film_fps)) - 1) <= RIDGE_RATES
        is_read = embedded and extractor == shipped_extractor and is_near
        return tuple(name for name in AUTO_ORDER if is_read or name != SHIPPED_MODEL)
    if model not in SCORERS:
        require_kind(load_importance_checkpoint(model, device), extractor, rate, film_fps)
    return (model,)


def best_score(
    models: Sequence[str],
    features: Features,
    shots: Shots | None,
    selection: Selection,
    fraction: float,
    device: str = "auto",
) -> ScoredVideo:
    """Return the curve of the first of the models that is not flat where this video moves; see `score`.

    If all are flat, or the picture stands still, `auto` gives `uniform` and a warning. A named model gives
    its flat curve and a warning, except `uniform`, which is meant to be flat.
    """
    flat, moves = list[str](), motion(features)
    stands_still = selection.model == "auto" and len(features) > 1 and moves.max() <= _FLAT_RANGE
    if SHIPPED_MODEL not in models:
        moves = np.ones_like(moves)
    for model in () if stands_still else models:
        curve = score(features, shots, replace(selection, model=model), fraction, device)
        slope = slope_of(model, device)
        if selection.model != "auto":
            return replace(check_flatness(model, curve), slope=slope)
        if not is_flat(curve * moves):
            reason = f"auto: {_describe_flatness(flat) if flat else _REASONS[model]}"
            return ScoredVideo(curve, model, reason, slope=slope)
        flat.append(model)
    reason = "the picture stands still" if stands_still else _describe_flatness(flat)
    curve = SCORERS["uniform"](features, 0)
    return ScoredVideo(curve, "uniform", f"auto: {reason}", (f"{reason}: {_FLATNESS}",))


def slope_of(model: str, device: str = "auto") -> float:
    """Return the slope of a model, see `ScoredVideo`; errors as `candidate_models`."""
    if model in SLOPES or model in SCORERS:
        return SLOPES.get(model, 1.0)
    return load_importance_checkpoint(model, device).slope


def check_flatness(model: str, importance: FloatArray) -> ScoredVideo:
    """Return the curve of a named model, with a warning if it is flat and not `uniform`."""
    if model == "uniform" or not is_flat(importance):
        return ScoredVideo(importance, model, _REQUESTED)
    names = AUTO_ORDER[1:] if model in AUTO_ORDER or model in SCORERS else (SHIPPED_MODEL,)
    others = " or ".join(name for name in names if name != model)
    warning = f"{_describe_flatness([model])}: {_FLATNESS}; try the model {others}"
    return ScoredVideo(importance, model, _REQUESTED, (warning,))


def _describe_flatness(models: Sequence[str]) -> str:
    *first, last = models
    names = f"{', '.join(first)} and {last}" if first else last
    return f"importance of {names} is constant on this video"


def score(
    features: Features, shots: Shots | None, selection: Selection, fraction: float, device: str = "auto"
) -> FloatArray:
    """Return [T] importance in [0, 1]; errors as `candidate_models`.

    Of `selection`, the model (not `auto`) and the seed count. `fraction` is the budget's fraction
    of the video, `device` the device of a trained model. FullTransNet alone needs shots. The scores of the
    models that ship are compared within topics, as people scored films of a single subject, and multiplied by
    `motion`: people never scored frozen footage.
    """
    if selection.model in SCORERS:
        return SCORERS[selection.model](features, selection.seed)
    summarizer = load_importance_checkpoint(selection.model, device)
    curve = importance(summarizer, features, shots, fraction)
    if selection.model not in SHIPPED_MODELS:
        return curve
    topics = topics_of(summarizer.inputs.in_space(features), round(PART_S / features.step_s))
    return compare_within_topics(curve, topics) * motion(features)


def weights_sha256(models: Sequence[str]) -> dict[str, str]:
    """Return `model_sha256` of the trained model among these, and the map's if it reads sentences.

    Raises UsageError where its name is unknown.
    """
    trained = next((model for model in models if model not in SCORERS), None)
    if trained is None:
        return {}
    facts = {"model_sha256": _digest(trained)}
    if read_trained(checkpoint_file(trained)).features.get("space"):
        facts["map_sha256"] = checkpoints.sha256_of(vse_map.NAME)
    return facts


def load_importance_checkpoint(model: str, device: str) -> ImportanceModel:
    """Return a trained model by name or checkpoint. Raises UsageError where the name is unknown."""
    return _load_checkpoint(model, device, _digest(model))


def _digest(model: str) -> str:
    if model not in SUMMARIZERS and not model.endswith(".safetensors"):
        fault = ", or name a checkpoint: OUT/split_0/best.safetensors"
        raise unknown_name_error("model", model, SUMMARIZERS, fault)
    return checkpoint_digest(model)


@cached_model(maxsize=2)
def _load_checkpoint(model: str, device: str, sha256: str) -> ImportanceModel:
    return load_importance_model(model, device)


GROUP = "vidsum.scorers"  # entry points in which packages name their scorers; `--model NAME` finds them

CustomScores = Callable[[Features], npt.ArrayLike] | npt.ArrayLike  # function, or [T] finite numbers


@dataclass(frozen=True)
class CustomScorer:
    """A scorer that is not vidsum's."""

    name: str
    score: Callable[[Features], npt.ArrayLike] = field(repr=False)
    sha256: str | None = None  # hash of scores that were given as numbers; what a function does is not known

    def scored(self, features: Features) -> ScoredVideo:
        """Return the curve, as given where it lies in [0, 1], else scaled to its range.

        Raises UsageError where it is not one finite number for each feature.
        """
        values = self.score(features)
        try:
            scores = np.asarray(values, np.float32)
        except (TypeError, ValueError) as error:
            raise UsageError(f"not an array of numbers ({error})", subject=self.name) from error
        if scores.shape != (len(features),):
            fault = f"shape {list(scores.shape)}, not [{len(features)}]"
            raise UsageError(fault, hint="give one number for each feature", subject=self.name)
        if not np.isfinite(scores).all():
            raise UsageError("NaN or infinite values", subject=self.name)
        is_unit = scores.min() >= 0 and scores.max() <= 1
        return check_flatness(self.name, scores if is_unit else unit_range(scores, 0.5))


def resolve_scorer(model: str | os.PathLike[str] | CustomScores) -> tuple[str, CustomScorer | None]:
    """Return the name of a model, and the scorer of a function or of numbers in its place.

    Raises UsageError: it is none of these.
    """
    if isinstance(model, str | os.PathLike):
        return os.fspath(model), None
    if callable(model):
        scorer = CustomScorer(getattr(model, "__name__", type(model).__name__), model)
    else:
        scores = np.asarray(model)
        if scores.ndim == 0:  # such as None
            fault = f"model must be a name, a function or an array of scores, not {model!r}"
            raise UsageError(fault, hint=f"choose a name from {', '.join(SUMMARIZERS)}", option="model")
        scorer = CustomScorer("scores", lambda _: scores, hashlib.sha256(scores.tobytes()).hexdigest())
    return scorer.name, scorer


def installed_scorer(name: str) -> CustomScorer | None:
    """Return the scorer that an installed package registers under a name, none of vidsum's."""
    if name in SUMMARIZERS or name.endswith(".safetensors"):
        return None
    entry = next(iter(entry_points(group=GROUP, name=name)), None)
    return None if entry is None else CustomScorer(name, entry.load())
