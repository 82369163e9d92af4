"""Match probabilities of queries for a live source, one second at a time.

The evidence is z(q, t) of `vidsum.grounding.presence`, which compares a clip with photographs, not with the
rest of the video: the future of a live source is unknown. On joined films, single clips separated matching
seconds better than the means of three that are used for whole videos.
"""

from vidsum.grounding.conse import ClassMixture, class_probabilities, log_likelihood, name_embeddings
from vidsum.grounding.presence import OFFSET, SLOPE, build_cohort
from vidsum.grounding.vse import EXTRACTOR, load_map
from vidsum.models.scaling import logistic, unit_rows
from vidsum.types import FloatArray


class LiveEvidence:
    """Queries, compared with one second after the other."""

    def __init__(self, queries: FloatArray, device: str = "auto", model: str | None = None) -> None:
        """Queries [M, D] of length 1 in the space `vse`; the evidence goes through a model, if one is given.

        Raises WeightsError, see `embed_queries`; InputError, see `LiveModel`.
        """
        self._model = None
        if model is not None:
            from vidsum.grounding.live_model import LiveModel

            self._model = LiveModel(model, queries, device)
        self._queries, self._map = queries, load_map()
        self._names = name_embeddings(EXTRACTOR, device)
        self._cohort = build_cohort(self._names, queries)

    def present(self, features: FloatArray, logits: FloatArray) -> FloatArray:
        """Return [M] how likely each query is true of a second.

        Args:
            features: [n, D] of its frames.
            logits: [n, K] their class scores.
        """
        row = unit_rows(self._map(features).mean(axis=0, keepdims=True))
        objects = ClassMixture(class_probabilities(logits).mean(axis=0, keepdims=True), self._names)
        z = self._cohort.z(self._queries @ row.T, log_likelihood(objects, self._queries))[:, 0]
        return self._model.present(row, z) if self._model else logistic(SLOPE * z + OFFSET)
