"""Topics of a film, and importance that compares parts of a topic, not one topic with another.

docs/algorithms/importance.md has the equation, the reason and what it changes.
"""

from typing import Final

import numpy as np

from vidsum.models.scaling import logistic, logit, unit_rows
from vidsum.types import FloatArray, IntArray

PART_S: Final = 2.0  # parts of a film of this length are of a topic as a whole
_MOST_PARTS: Final = 1000  # of a longer film, parts are longer: each is compared with all others
_SAME_TOPIC: Final = 0.3
"""Least mean cosine, in `vse`, of the parts of two topics that become a single one. Parts of a clip have a
median of .9, of two clips .1; of a film of TVSum .4, of two of its films .15 (captions)."""
_NONE, _ALL = 0.25, 0.4
"""Shares of the film that its largest topic fills: up to the first, topics are not compared with each other;
from the second on, they are compared as the model learned it, from films of a single subject."""


def topics_of(rows: FloatArray, size: int = 1) -> IntArray:
    """Return [T] the number of the topic of each sample.

    `rows` [T, D] are in `vse`. Topics are clusters of parts, of `size` samples or more, by average linkage
    (UPGMA, Sokal and Michener 1958), wherever in the film they lie.
    """
    from scipy.cluster.hierarchy import fcluster, linkage

    size = max(size, -(-len(rows) // _MOST_PARTS), 1)
    starts = np.arange(0, len(rows), size)
    if len(starts) == 1:
        return np.zeros(len(rows), np.int64)
    parts = unit_rows(np.add.reduceat(unit_rows(rows), starts, axis=0))
    pairs = np.triu_indices(len(parts), 1)
    distances = np.maximum(1 - (parts @ parts.T)[pairs], 0)
    numbers = fcluster(linkage(distances, "average"), 1 - _SAME_TOPIC, "distance") - 1
    return np.asarray(np.repeat(numbers, size)[: len(rows)], np.int64)


def compare_within_topics(importance: FloatArray, topics: IntArray) -> FloatArray:
    """Return [T] importance in (0, 1). If no topic fills much of the film, all have the same mean logit.

    Args:
        importance: [T] in [0, 1].
        topics: [T] numbers of topics, from 0.
    """
    scores, counts = logit(importance), np.bincount(topics)
    means = np.bincount(topics, scores) / np.maximum(counts, 1)
    compared = np.clip((counts.max() / len(topics) - _NONE) / (_ALL - _NONE), 0, 1)
    return logistic(scores - (1 - compared) * (means[topics] - scores.mean(dtype=np.float64)))
