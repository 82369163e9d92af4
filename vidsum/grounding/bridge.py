"""Class probabilities as a bridge from video to text (ConSE; Norouzi et al., "Zero-Shot Learning by Convex
Combination of Semantic Embeddings", 2014).
"""

import numpy as np
from scipy.special import softmax

from vidsum.types import FloatArray


def conse(
    logits: FloatArray, class_embeddings: FloatArray, *, top_k: int = 10, temperature: float = 1.0
) -> FloatArray:
    """Embeddings of clips in the space of class names (Eq. 3): the names of the k likeliest classes,
    averaged by probability, to length 1.

    Args:
        logits: [T, K] class scores before the softmax.
        class_embeddings: [K, D] of length 1.
        top_k: classes that count.
        temperature: the logits are divided by it.

    Returns:
        [T, D] of length 1.
    """
    chances = softmax(logits.astype(np.float64) / temperature, axis=1)
    kept = np.argpartition(chances, -top_k, axis=1)[:, -top_k:]
    weights = np.take_along_axis(chances, kept, axis=1)
    mixed = np.einsum("tk,tkd->td", weights, class_embeddings[kept])
    return unit(mixed)


def unit(rows: np.ndarray) -> FloatArray:
    """Rows [N, D] brought to length 1."""
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
