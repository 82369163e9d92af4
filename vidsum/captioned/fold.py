"""A model that was trained on simulated evidence, as one that reads the features of real frames.

Evidence is linear in the features before the classifier's last layer, and so is the first layer of each
model: their product takes its place, and neither class names nor a text encoder are needed any more.
"""

from dataclasses import replace

from vidsum.captioned.classes import EVIDENCE, EXTRACTOR, Classifier
from vidsum.checkpoints.trained import Trained
from vidsum.errors import UsageError

FILE = "video.safetensors"
"""Beside the checkpoint of a training: the model that reads features of video."""
_FIRST = ("projection", "weights", "embedding.0.weight")
"""Names of the tensors whose last axis is that of the input; the first that a model has counts."""


def for_video(trained: Trained, classifier: Classifier) -> Trained:
    """The same model for features [T, D] of the classifier's network; UsageError if it reads no evidence."""
    if trained.features.get("extractor") != EVIDENCE:
        raise UsageError(f"the model reads features of {trained.features.get('extractor')}, not evidence")
    import torch

    name = next((name for name in _FIRST if name in trained.tensors), None)
    if name is None:
        raise UsageError(f"a model {trained.model} has no first layer to fold the classifier into")
    to_evidence = torch.from_numpy(classifier.to_evidence)
    weights = trained.tensors[name].float()
    n_evidence = len(to_evidence)
    folded = torch.cat([weights[..., :n_evidence] @ to_evidence, weights[..., n_evidence:]], dim=-1)
    dim = to_evidence.shape[1]
    return replace(
        trained,
        config={**trained.config, "dim_in": folded.shape[-1]},
        # a constant of the evidence does not count: it is less its mean
        features={**trained.features, "extractor": EXTRACTOR, "dim": dim, "fps": 2.0, "centred": True},
        tensors={**trained.tensors, name: folded},
    )
