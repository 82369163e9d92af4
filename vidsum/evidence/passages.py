"""How well passages of text match a query: by their meaning, and by rare words that both have."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from vidsum.evidence.protocol import ENCODER, Passage, TextQuery
from vidsum.evidence.records import pack_rows, parse_records, row_type, unpack_rows
from vidsum.grounding.languages import encode_in
from vidsum.grounding.text_encoders import load_text_encoder
from vidsum.models.scaling import logistic
from vidsum.types import FloatArray

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import TfidfVectorizer

DIM = 384  # of the vectors of `ENCODER`

# Tuned numbers (docs/algorithms/speech.md, tests/evidence/test_spoken.py).
_WORD_WEIGHT = 0.3  # weight of exact words, relative to the cosine of the embeddings
_UNCERTAINTY_COST = 0.25  # fraction of its evidence that a passage loses if all of it is uncertain
MATCH_EVIDENCE = 0.46  # evidence at which a passage is as likely as not what a query means
_SLOPE = 7.1  # slope of the logistic curve from evidence to that probability


@dataclass(frozen=True, eq=False)
class EncodedPassages:
    """P passages with their meanings; rare words are in few of them."""

    passages: Sequence[Passage]
    vectors: FloatArray  # [P, D] of length 1

    def score(self, query: TextQuery) -> FloatArray:
        """Return [P] how well each passage fits: cosine of meanings, rarity of exact words.

        Text that is uncertain counts less.
        """
        if not self.passages:
            return np.zeros(0, np.float32)
        evidence = self.vectors @ query.vector
        if self._words is not None:
            vectorizer, counted = self._words
            evidence = evidence + _WORD_WEIGHT * (vectorizer.transform([query.text]) @ counted.T).toarray()[0]
        trust = [1 - _UNCERTAINTY_COST * (1 - passage.certain) for passage in self.passages]
        return np.asarray(np.array(trust, np.float32) * evidence, np.float32)

    @cached_property
    def _words(self) -> "tuple[TfidfVectorizer, csr_matrix] | None":
        """Return the words of the passages; None where all are stop words."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        words = TfidfVectorizer(stop_words="english", sublinear_tf=True, token_pattern=r"(?u)\b\w+\b")
        try:
            return words, words.fit_transform([passage.text for passage in self.passages])
        except ValueError:
            return None

    def pack(self) -> bytes:
        return pack_rows(self.vectors).tobytes()


def encode_passages(passages: Sequence[Passage], language: str = "en") -> EncodedPassages:
    """Return passages with their meanings; for the language, see `vidsum.grounding.languages.is_other`.

    Raises WeightsError: a text encoder is unavailable.
    """
    texts = [passage.text for passage in passages]
    if not texts:
        return EncodedPassages(passages, np.zeros((0, DIM), np.float32))
    return EncodedPassages(passages, encode_in(texts, language, load_text_encoder(ENCODER).encode))


def unpack_passages(passages: Sequence[Passage], records: bytes) -> EncodedPassages:
    """Return the passages of `EncodedPassages.pack`. Raises ValueError: the records are not of these."""
    vectors = unpack_vectors(records)
    if len(vectors) != len(passages):
        raise ValueError(f"has {len(vectors)} records for {len(passages)} texts")
    return EncodedPassages(passages, vectors)


def unpack_vectors(records: bytes) -> FloatArray:
    """Return [P, D] of records. Raises ValueError: they are none of passages."""
    return unpack_rows(parse_records(records, row_type(DIM)))


def rank_passages(records: bytes, query: TextQuery) -> float | None:
    """Return the cosine of the nearest of packed passages. Raises ValueError: they are none of passages."""
    return float((unpack_vectors(records) @ query.vector).max(initial=-1.0))


def to_probabilities(evidence: FloatArray) -> FloatArray:
    """Return how likely passages are what a query means, by their evidence [P]."""
    return logistic(_SLOPE * (evidence - MATCH_EVIDENCE))
