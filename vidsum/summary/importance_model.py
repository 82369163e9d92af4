"""Trained summarizers: FullTransNet or ridge regression, on features of any length and with no labels.

A model that learned from captions reads pictures in the space of sentences: the map embeds them there, and
the mean over the video is subtracted. Ridge regression, which ships, needs no torch.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from vidsum import checkpoints
from vidsum.checkpoints.named import checkpoint_file
from vidsum.checkpoints.trained import Trained, build_trained, read_trained
from vidsum.device import choose_device
from vidsum.errors import InputError, Mention, UsageError
from vidsum.grounding import vse_map
from vidsum.models.configs import FullTransNetConfig, RidgeConfig
from vidsum.models.ridge import RidgeScorer, add_novelty, build_scorer
from vidsum.models.scaling import logistic
from vidsum.results.features import Features
from vidsum.results.shots import Shots
from vidsum.summary.importance import contrastive
from vidsum.summary.settings import SHIPPED_MODEL
from vidsum.types import FloatArray

if TYPE_CHECKING:
    from vidsum.models.fulltransnet import FullTransNet


SENTENCES: Final = ("minilm", vse_map.NAME)  # extractors of the space: captions, and simulated pictures
RIDGE_RATES = 0.3
"""Largest relative difference between the rate of features and the rate that ridge regression was trained on:
it has no positions, and was trained on every 15th frame at 24 to 30 frames a second."""
_END_S = 60.0  # maximum time from the start and to the end, in seconds: beyond, it carries no information


@dataclass(frozen=True)
class FeatureTransform:
    """How features become the input of a model; the fields are recorded in its checkpoint."""

    space: str | None = None  # `vse`: the space of sentences
    ends: bool = False  # with two more numbers: time from the start and to the end, in minutes, 1 at most

    @property
    def recorded(self) -> dict[str, Any]:
        """Fields that are not at their default."""
        return {name: value for name, value in vars(self).items() if value}

    @property
    def n_added(self) -> int:
        """Numbers that are added to a feature."""
        return 2 if self.ends else 0

    def maps(self, extractor: str) -> bool:
        """Return whether features of an extractor have to be mapped into the space."""
        return self.space is not None and extractor not in SENTENCES

    def in_space(self, features: Features) -> FloatArray:
        """Return [T, D] in the space, or the features themselves where the model reads no space."""
        is_mapped = self.maps(features.extractor)
        return vse_map.mapped_rows(features) if is_mapped else np.asarray(features.array, np.float32)

    def of(self, features: Features) -> FloatArray:
        """Return [T, D + n_added]"""
        array = self.in_space(features)
        if self.space:
            array = array - array.mean(axis=0)
        if not self.ends:
            return array
        middle_s = features.timestamps + features.step_s / 2
        ends_s = np.stack([middle_s, features.duration_s - middle_s], axis=1)
        return np.hstack([array, np.clip(ends_s / _END_S, 0, 1, dtype=np.float32)])


def read_transform(recorded: Mapping[str, Any], name: str) -> FeatureTransform:
    """Read a checkpoint's transform. Raises InputError: it is of another kind."""
    inputs = FeatureTransform(recorded.get("space"), recorded.get("ends", False))
    if inputs.space not in (None, vse_map.NAME) or not isinstance(inputs.ends, bool):
        raise InputError("does not say what features it reads", subject=name)
    return inputs


@dataclass(frozen=True, eq=False)
class ImportanceModel:
    """A trained model that is ready to use, and the features it reads."""

    model: "FullTransNet | RidgeScorer"
    extractor: str
    dim: int  # D of what it reads, before `inputs` adds to it: of the space, where features are mapped
    fps: float
    name: str  # for messages: the path or the registry's name
    inputs: FeatureTransform = field(default_factory=FeatureTransform)
    slope: float = 1.0
    """Slope of people's scores, in their deviations over a video, on the logit of `importance`."""


def load_importance_model(name: str = SHIPPED_MODEL, device: str = "auto") -> ImportanceModel:
    """Load a checkpoint of `vidsum train fulltransnet` or `train ridge`; see `build_importance_model`."""
    return build_importance_model(read_trained(checkpoint_file(name)), name, device)


def build_importance_model(trained: Trained, name: str, device: str = "auto") -> ImportanceModel:
    """Build the model of a checkpoint. Raises InputError where it is of another model or inconsistent."""
    model = _ridge(trained, name) if trained.model == "ridge" else _network(trained, name, device)
    reads = trained.features
    try:
        extractor, dim, fps = str(reads["extractor"]), int(reads["dim"]), float(reads["fps"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError("does not say what features it reads", subject=name) from error
    inputs = read_transform(reads, name)
    _require_its_map(trained, inputs, name)
    return ImportanceModel(model, extractor, dim, fps, name, inputs, _recorded_slope(trained, name))


def _recorded_slope(trained: Trained, name: str) -> float:
    """Return the slope that folds of the training videos gave; 1 where none was measured."""
    slope = trained.training.get("slope", 1.0)
    if not isinstance(slope, int | float) or not math.isfinite(slope):
        raise InputError("the slope of its scores is not a number", subject=name)
    return float(slope)


def _require_its_map(trained: Trained, inputs: FeatureTransform, name: str) -> None:
    """Refuse with an InputError a model that learned the errors of another map than the one that is here."""
    weights = trained.training.get("weights")
    known = weights.get(vse_map.NAME) if inputs.space and isinstance(weights, dict) else None
    if known is not None and known != checkpoints.sha256_of(vse_map.NAME):
        fault = f"was trained for another map from pictures to sentences than {vse_map.NAME}"
        raise InputError(fault, hint=("train it again with ", Mention("space", "vse")), subject=name)


def _ridge(trained: Trained, name: str) -> RidgeScorer:
    try:
        model = build_scorer(RidgeConfig(**trained.config), trained.tensors)
    except (TypeError, ValueError) as error:
        raise InputError("its tensors and its configuration do not fit together", subject=name) from error
    if not all(np.isfinite(array).all() for array in model.arrays.values()):
        raise InputError("its tensors hold NaN or infinite values", subject=name)
    return model


def _network(trained: Trained, name: str, device: str) -> "FullTransNet":
    from vidsum.models.fulltransnet import FullTransNet

    network = build_trained(
        trained, "fulltransnet", lambda config: FullTransNet(FullTransNetConfig(**config)), name
    )
    return network.to(choose_device(device))


def importance(
    summarizer: ImportanceModel, features: Features, shots: Shots | None, fraction: float = 0.15
) -> FloatArray:
    """Return [T] importance in [0, 1]: by FullTransNet `importance_curve`, by ridge regression the logistic
    function of its scores and of how new each sample is.

    The first, middle and last samples of shots are global tokens. At the summary's fraction of the video
    decoding stops. Raises UsageError: see `require_readable`.
    """
    require_readable(summarizer, features)
    model = summarizer.model
    if isinstance(model, RidgeScorer):
        scores = model(summarizer.inputs.of(features))
        if weight := model.config.novelty:
            scores = add_novelty(scores, contrastive(features), weight)
        return logistic(scores)
    from vidsum.summary.fulltransnet_scores import importance_curve

    assert shots is not None, "only ridge does without"
    array = summarizer.inputs.of(features)
    return importance_curve(model, array, shots.numbers_at(features.timestamps), fraction)


def require_readable(summarizer: ImportanceModel, features: Features) -> None:
    """Raise UsageError for features of another kind or size than the model was trained on."""
    if summarizer.inputs.maps(features.extractor):
        vse_map.mapped_rows(features)
    elif features.dim != summarizer.dim:
        fault = f"{summarizer.name} reads features of {summarizer.dim} numbers, not of {features.dim}"
        raise UsageError(fault, hint=_extraction_hint(summarizer))
    require_kind(summarizer, features.extractor, 1 / features.step_s, features.video_fps)


def require_kind(
    summarizer: ImportanceModel, extractor: str, rate: float, film_fps: float = math.inf
) -> None:
    """Raise UsageError, before extraction, where the model does not read features of this kind.

    `extractor` is a name; `custom`, unknown, is accepted, and so are captions where the model reads their
    space. `rate` is in features per second, of a video of `film_fps` frames per second.
    """
    captions = SENTENCES if summarizer.inputs.space else ()
    if extractor not in (summarizer.extractor, "custom", *captions):
        fault = f"{summarizer.name} reads features of {summarizer.extractor}, not of {extractor}"
        raise UsageError(fault, hint=_extraction_hint(summarizer))
    tolerance = RIDGE_RATES if isinstance(summarizer.model, RidgeScorer) else 0.1
    # every frame, of a film slower than the training's rate, will do
    if abs(rate / min(summarizer.fps, max(rate, film_fps)) - 1) > tolerance:
        fault = f"{summarizer.name} reads {summarizer.fps:g} features a second, not {rate:g}"
        raise UsageError(fault, hint=Mention("fps", summarizer.fps))


def _extraction_hint(summarizer: ImportanceModel) -> str | Mention:
    if summarizer.extractor == "custom":
        return "give a file of features made as those that it was trained on"
    return Mention("extractor", summarizer.extractor)
