"""Class probabilities as a bridge from video to text (ConSE; Norouzi et al., "Zero-Shot Learning by Convex
Combination of Semantic Embeddings", 2014), and the likelihood whose first-order form it is.

docs/algorithms/grounding-spaces.md explains how the constants were chosen.
"""

import re
from dataclasses import dataclass

import numpy as np

from vidsum import checkpoints
from vidsum.features import describe
from vidsum.grounding.text import load_text_encoder
from vidsum.grounding.vse import EXTRACTOR
from vidsum.io.cache import cached_rows
from vidsum.models.scaling import softmax
from vidsum.types import FloatArray

TEMPERATURE = 2.0  # divides the logits: trained networks are too sure of one class
SHARPNESS = 10.0  # weight of near class names; 0 gives the order of ConSE


@dataclass(frozen=True, eq=False)
class ClassMixture:
    """The clips of a video as mixtures of the classes that one network knows."""

    probabilities: FloatArray  # [T, K] probability of each class; rows sum to 1
    names: FloatArray  # [K, D] embeddings of the classes' names, each of length 1


def class_probabilities(logits: FloatArray, temperature: float = TEMPERATURE) -> FloatArray:
    """Return probabilities [T, K] of class scores [T, K]."""
    return softmax(logits / np.float32(temperature))


def log_likelihood(mixture: ClassMixture, queries: FloatArray, sharpness: float = SHARPNESS) -> FloatArray:
    """Return [M, T] log-likelihood of each query [M, D] (of length 1) for each clip, if its class gives it.

        log p(q | clip) = log sum_k p(k | clip) exp(sharpness * cos(q, name of k)) + a constant

    With a small sharpness this is the mean cosine of the classes, which ConSE measures. A larger one gives
    more weight to classes near the query, so that a wrong class next to the right one does no harm.
    """
    nearness = np.exp(np.float32(sharpness) * (queries @ mixture.names.T))
    return np.asarray(np.log(nearness @ mixture.probabilities.T), np.float32)


def name_embeddings(device: str = "auto") -> FloatArray:
    """Return the names of `EXTRACTOR`'s classes, [K, 384] of length 1, by MiniLM; kept on disk.

    Raises WeightsError: MiniLM's weights are unavailable.
    """
    texts = class_sentences()
    provenance = {"weights_sha256": checkpoints.sha256_of("minilm"), "sentences": texts}
    return cached_rows("class_names", provenance, lambda: load_text_encoder("minilm", device).encode(texts))


def class_sentences() -> list[str]:
    """Return a sentence for each class of `EXTRACTOR`, with its name without remarks in brackets."""
    names = describe(EXTRACTOR).class_names
    assert names is not None
    return ["there is a " + re.sub(r"\s*\([^)]*\)", "", name) for name in names()]
