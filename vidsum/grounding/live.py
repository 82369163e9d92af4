"""How likely each query is true of what a source shows now, second by second, with constant memory.

The numbers are those of `vidsum.grounding.presence`, z(q, t) of clips of one second, and their mean over the
last three clips where a video that is complete has the largest such mean. Nothing is standardised over the
video, of which only the past is known.
"""

from collections import deque

import numpy as np

from vidsum.grounding.conse import ClassMixture, class_probabilities, log_likelihood, name_embeddings
from vidsum.grounding.presence import OFFSET, SLOPE, SMOOTHED, cohort_of
from vidsum.grounding.vse import EXTRACTOR, load_map
from vidsum.scaling import logistic, unit_rows
from vidsum.types import FloatArray


class LiveEvidence:
    """Queries, and what is known of the last seconds."""

    def __init__(self, queries: FloatArray, device: str = "auto") -> None:
        """Queries [M, D] of length 1 in the space `vse`. Raises WeightsError, see `embed_queries`."""
        self._queries, self._map = queries, load_map()
        self._names = name_embeddings(EXTRACTOR, device)
        self._cohort = cohort_of(self._names, queries)
        self._last: deque[FloatArray] = deque(maxlen=SMOOTHED)

    def add(self, features: FloatArray, logits: FloatArray) -> FloatArray:
        """[M] how likely each query is true now.

        Args:
            features: [n, D] of the frames of the next second.
            logits: [n, K] their class scores.
        """
        row = unit_rows(self._map(features).mean(axis=0, keepdims=True))
        objects = ClassMixture(class_probabilities(logits).mean(axis=0, keepdims=True), self._names)
        self._last.append(self._cohort.z(self._queries @ row.T, log_likelihood(objects, self._queries))[:, 0])
        return logistic(SLOPE * np.stack(self._last).mean(axis=0) + OFFSET)

    def forget(self) -> None:
        """Begin anew, after an interruption."""
        self._last.clear()
