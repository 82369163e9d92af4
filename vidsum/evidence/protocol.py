"""The protocol of evidence: what a video holds of one kind, and how queries are searched in it.

`picture`, `spoken`, `written`, `described` and `audible` implement it. `ground` searches what it has just
made; an archive stores what `pack` returns, and searches what `unpack` makes of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, Self, TypeVar

from vidsum.grounding.languages import encode_in
from vidsum.grounding.text_encoders import load_text_encoder
from vidsum.results.moments import Moment
from vidsum.types import FloatArray

ENCODER = "minilm"  # compares texts, whatever the space of the video


@dataclass(frozen=True)
class Passage:
    """A text that is spoken, written or told in [start_s, end_s)."""

    start_s: float
    end_s: float
    text: str
    n_sentences: int = 1
    certain: float = 1.0  # fraction of the text that is not in uncertain segments
    clauses: tuple["Passage", ...] = field(default=(), compare=False)  # of one sentence

    def holds(self, other: "Passage") -> bool:
        return self.start_s <= other.start_s and other.end_s <= self.end_s


@dataclass(frozen=True, eq=False)
class TextQuery:
    """A text that speech, text on the screen, descriptions and sounds are searched for."""

    text: str
    vector: FloatArray  # [D] its meaning, of length 1


def encode_queries(texts: Sequence[str], language: str = "auto") -> list[TextQuery]:
    """Return queries in a language. Raises WeightsError where a text encoder's weights are unavailable."""
    vectors = encode_in(texts, language, load_text_encoder(ENCODER).encode)
    return [TextQuery(*pair) for pair in zip(texts, vectors, strict=True)]


class Found(NamedTuple):
    """A moment that a query is found in, and the words or the sound there."""

    moment: Moment
    text: str = ""


class Packed(NamedTuple):
    """Evidence as an archive stores it."""

    records: bytes  # empty where there is none
    passages: Sequence[Passage] = ()  # whose words are searched too
    made_with: str | None = None  # the model that wrote them, if one did


Asked_contra = TypeVar("Asked_contra", contravariant=True)
Stored = TypeVar("Stored")


class Evidence(Protocol[Asked_contra, Stored]):
    """Evidence of one kind in a video."""

    def search(self, query: Asked_contra, most: int) -> list[Found]:
        """Return the moments of a query, best first, at most `most`."""
        ...

    def pack(self) -> Stored: ...

    @classmethod
    def unpack(cls, packed: Stored, duration_s: float) -> Self:
        """Return evidence that gives the same moments. Raises ValueError: it is not what `pack` returns."""
        ...


class TextEvidence(Evidence[TextQuery, Packed], Protocol):
    """Evidence that a text is searched in; the text says what is meant, or the words."""

    @classmethod
    def of(cls, made: Any) -> Self:
        """Return the evidence in a result, such as a transcript."""
        ...

    @classmethod
    def rank(cls, records: bytes, query: TextQuery) -> float | None:
        """Return how near a query may be, by records alone; None: it is not there. Raises ValueError."""
        ...
