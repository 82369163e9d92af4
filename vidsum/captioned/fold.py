"""A model that was trained on simulated evidence, as one that reads the features of real frames.

Evidence is linear in the features before the classifier's last layer, and so is the first layer of each
model: their product takes its place, and neither class names nor a text encoder are needed any more.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from vidsum.captioned.classes import EVIDENCE, EXTRACTOR, Classifier
from vidsum.checkpoints.trained import IN_NUMPY, Trained
from vidsum.errors import UsageError
from vidsum.types import FloatArray

if TYPE_CHECKING:
    from torch import Tensor

FILE = "video.safetensors"
"""Beside the checkpoint of a training: the model that reads features of video."""
_FIRST = ("projection", "weights", "embedding.0.weight")
"""Names of the tensors whose last axis is that of the input; the first that a model has counts."""


def for_video(trained: Trained, classifier: Classifier) -> Trained:
    """The same model for features [T, D] of the classifier's network; UsageError if it reads no evidence."""
    if trained.features.get("extractor") != EVIDENCE:
        raise UsageError(f"the model reads features of {trained.features.get('extractor')}, not evidence")
    name = next((name for name in _FIRST if name in trained.tensors), None)
    if name is None:
        raise UsageError(f"a model {trained.model} has no first layer to fold the classifier into")
    to_evidence, weights = classifier.to_evidence, np.asarray(trained.tensors[name], np.float32)
    n_evidence, dim = to_evidence.shape
    folded = np.concatenate([weights[..., :n_evidence] @ to_evidence, weights[..., n_evidence:]], axis=-1)
    return replace(
        trained,
        config={**trained.config, "dim_in": folded.shape[-1]},
        # a constant of the evidence does not count: it is less its mean
        features={**trained.features, "extractor": EXTRACTOR, "dim": dim, "fps": 2.0, "centred": True},
        tensors={**trained.tensors, name: folded if trained.model in IN_NUMPY else _tensor(folded)},
    )


def _tensor(array: FloatArray) -> "Tensor":
    import torch

    return torch.from_numpy(array)
