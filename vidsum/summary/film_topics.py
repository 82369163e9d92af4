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
_NOT_COMPARED, _COMPARED = 0.25, 0.4
"""Shares of the film that its largest topic fills: up to the first, topics are not compared with each other;
from the second on, they are compared as the model learned it, from films of a single subject."""


def topics_of(rows: FloatArray, size: int = 1) -> IntArray:
    """Return [T] the number of the topic of each sample.

    `rows` [T, D] are in `vse`. Topics are clusters of parts, of `size` samples or more, by average linkage
    (UPGMA, Sokal and Michener 1958), wherever in the film they lie.
    """
    size = max(size, -(-len(rows) // _MOST_PARTS), 1)
    sums = np.add.reduceat(unit_rows(rows), np.arange(0, len(rows), size), axis=0)
    return np.repeat(_clusters(unit_rows(sums)), size)[: len(rows)]


def _clusters(parts: FloatArray) -> IntArray:
    """Return [N] the number of the cluster of each part, of length 1, from 0.

    The two clusters with the highest mean cosine of their parts are joined as long as it is `_SAME_TOPIC`.
    """
    count = len(parts)
    numbers, sizes = np.arange(count), np.ones(count)
    cosines = parts @ parts.T
    np.fill_diagonal(cosines, -np.inf)
    while True:
        first, second = divmod(int(cosines.argmax()), count)
        if cosines[first, second] < _SAME_TOPIC:
            return np.asarray(np.unique(numbers, return_inverse=True)[1], np.int64)
        share = sizes[first] / (sizes[first] + sizes[second])
        joined = share * cosines[first] + (1 - share) * cosines[second]
        cosines[first] = cosines[:, first] = joined
        cosines[first, first] = -np.inf
        cosines[second] = cosines[:, second] = -np.inf
        sizes[first] += sizes[second]
        numbers[numbers == second] = first


def compare_within_topics(importance: FloatArray, topics: IntArray) -> FloatArray:
    """Return [T] importance in (0, 1). If no topic fills much of the film, all have the same mean logit.

    Args:
        importance: [T] in [0, 1].
        topics: [T] numbers of topics, from 0.
    """
    scores, counts = logit(importance), np.bincount(topics)
    means = np.bincount(topics, scores) / np.maximum(counts, 1)
    compared = np.clip((counts.max() / len(topics) - _NOT_COMPARED) / (_COMPARED - _NOT_COMPARED), 0, 1)
    return logistic(scores - (1 - compared) * (means[topics] - scores.mean(dtype=np.float64)))
