"""Class probabilities as a bridge from video to text (ConSE; Norouzi et al., "Zero-Shot Learning by Convex
Combination of Semantic Embeddings", 2014), and the likelihood that it is a first-order form of.

docs/algorithms/grounding-spaces.md tells what the constants were chosen by.
"""

from dataclasses import dataclass

import numpy as np

from vidsum.scaling import unit_rows
from vidsum.types import FloatArray

TEMPERATURE = 2.0
"""Logits are divided by it: trained networks are too sure of one class."""
SHARPNESS = 10.0
"""How much likelier a text is under a class whose name is nearer; 0 gives ConSE's order of clips."""


@dataclass(frozen=True, eq=False)
class ClassMixture:
    """The clips of a video as mixtures of the classes that one network knows."""

    chances: FloatArray
    """[T, K] probability of each class; rows sum to 1."""
    names: FloatArray
    """[K, D] embeddings of the classes' names, each of length 1."""


def class_chances(logits: FloatArray, temperature: float = TEMPERATURE) -> FloatArray:
    """Probabilities [T, K] of class scores [T, K]."""
    import torch  # most of the start-up time of a command, which must not cost one that only checks its input

    chances: FloatArray = torch.from_numpy(logits / np.float32(temperature)).softmax(dim=1).numpy()
    return chances


def conse(mixture: ClassMixture) -> FloatArray:
    """Embeddings of clips in the space of the class names: the paper's f(x), Section 3, with all classes.

    Returns:
        [T, D] of length 1: the names, averaged by probability.
    """
    return unit_rows(mixture.chances @ mixture.names)


def log_likelihood(mixture: ClassMixture, queries: FloatArray, sharpness: float = SHARPNESS) -> FloatArray:
    """How likely each query is of each clip, if a clip's text is drawn by its class.

        log p(q | clip) = log sum_k p(k | clip) exp(sharpness * cos(q, name of k)) + a constant

    With a small sharpness this is the mean cosine of the classes, which ConSE measures; a larger one counts
    what is near the query more than what is not, so that an unfitting class beside the right one does no
    harm.

    Args:
        mixture: T clips.
        queries: [M, D] of length 1.

    Returns:
        [M, T]
    """
    nearness = np.exp(np.float32(sharpness) * (queries @ mixture.names.T))
    return np.asarray(np.log(nearness @ mixture.chances.T), np.float32)
