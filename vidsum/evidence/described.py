"""Descriptions as evidence: sentences of `vidsum describe` about parts of a video."""

from dataclasses import dataclass
from typing import Self

from vidsum.evidence.passages import EncodedPassages, encode_passages, rank_passages, unpack_passages
from vidsum.evidence.protocol import Found, Packed, Passage, TextQuery
from vidsum.evidence.spoken import speech_moments, text_within
from vidsum.results.descriptions import Description, Descriptions


@dataclass(frozen=True, eq=False)
class DescribedParts:
    """Descriptions of a video. They are not quoted: nobody knows their words."""

    passages: EncodedPassages
    made_with: str | None = None  # the vision-language model that wrote them

    @classmethod
    def of(cls, described: Descriptions) -> Self:
        """Return the evidence of descriptions. Raises WeightsError: the text encoder is unavailable."""
        sentences = [
            Passage(part.start_s, part.end_s, part.text, certain=_certainty(part))
            for part in described.descriptions
        ]
        return cls(encode_passages(sentences), described.writer if described.is_by_vlm else None)

    def search(self, query: TextQuery, most: int) -> list[Found]:
        passages = self.passages.passages
        note = f" ({self.made_with})" if self.made_with else ""
        moments = speech_moments("", passages, self.passages.score(query), most)
        return [Found(moment, text_within(passages, moment) + note) for moment in moments]

    def pack(self) -> Packed:
        return Packed(self.passages.pack(), self.passages.passages, self.made_with)

    @classmethod
    def unpack(cls, packed: Packed, duration_s: float) -> Self:
        return cls(unpack_passages(packed.passages, packed.records), packed.made_with)

    @classmethod
    def rank(cls, records: bytes, query: TextQuery) -> float | None:
        return rank_passages(records, query)


def _certainty(part: Description) -> float:
    return 1.0 if part.confidence is None else part.confidence
