"""Speech as evidence: passages of a transcript, and moments of them.

A passage is one sentence, or a few that follow each other without a long pause. A moment of speech is one
sentence, the best of its passage, or those in which the query is quoted. docs/algorithms/speech.md explains
the rules.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Self

import numpy as np

from vidsum.evidence.passages import (
    EncodedPassages,
    encode_passages,
    rank_passages,
    to_probabilities,
    unpack_passages,
)
from vidsum.evidence.protocol import Found, Packed, Passage, TextQuery
from vidsum.evidence.quotations import find_quotations
from vidsum.grounding.proposals import MAX_IOU, suppress
from vidsum.models.scaling import unit_range
from vidsum.results.moments import Moment
from vidsum.results.sentences import LONG_PAUSE_S, SpokenSentence, split_clauses
from vidsum.results.transcript import Transcript
from vidsum.types import FloatArray, TimeArray

# Tuned numbers (docs/algorithms/speech.md, tests/evidence/test_spoken.py).
_MAX_SENTENCES = 4
_MAX_PASSAGE_S = 30.0
_MAX_QUOTED_S = 10.0  # longest run of whole sentences that answers a quotation; else their clauses do
_SHORTEST_CLAUSE_S = 1.0


def split_sentences(transcript: Transcript) -> list[Passage]:
    """Return the sentences of a transcript with their clauses; its segments where it has no words.

    Text that is uncertain throughout is left out.
    """
    return [
        replace(_passage(sentence), clauses=tuple(map(_passage, split_clauses(sentence, _SHORTEST_CLAUSE_S))))
        for sentence in transcript.trusted.sentences()
    ]


def _passage(part: SpokenSentence) -> Passage:
    return Passage(part.start_s, part.end_s, part.text, certain=part.certain)


def _join(parts: Sequence[Passage]) -> Passage:
    text = " ".join(part.text for part in parts)
    certain = np.average([part.certain for part in parts], weights=[len(part.text) + 1 for part in parts])
    return Passage(parts[0].start_s, parts[-1].end_s, text, certain=float(certain))


def iter_passages(sentences: Sequence[Passage]) -> Iterator[Passage]:
    """Yield each run of sentences that is short enough and has no long pause."""
    for first in range(len(sentences)):
        for last in range(first, min(first + _MAX_SENTENCES, len(sentences))):
            run = sentences[first : last + 1]
            if last > first and (
                run[-1].start_s - run[-2].end_s > LONG_PAUSE_S
                or run[-1].end_s - run[0].start_s > _MAX_PASSAGE_S
            ):
                break
            yield run[0] if last == first else replace(_join(run), n_sentences=len(run))


def speech_moments(query: str, passages: Sequence[Passage], evidence: FloatArray, top_k: int) -> list[Moment]:
    """Return the sentences that fit a query best: quotations, then by evidence [P] of their passages.

    The score is the probability, `present`; 1 more for quotations, so that nothing else comes before them.
    """
    pairs = [pair for pair in zip(passages, evidence.tolist(), strict=True) if pair[0].n_sentences == 1]
    sentences = [sentence for sentence, _ in pairs]
    quoted = _quoted(query, sentences)
    probable = to_probabilities(evidence).tolist()

    def best_inside(at: int) -> Moment:
        inside = ((value, sentence) for sentence, value in pairs if passages[at].holds(sentence))
        _, best = max(inside, key=lambda pair: pair[0])
        return _to_moment(best.start_s, best.end_s, probable[at])

    order = np.argsort(-evidence, kind="stable").tolist()
    return suppress(chain(quoted, map(best_inside, order)), MAX_IOU, top_k)


def _quoted(query: str, sentences: Sequence[Passage]) -> list[Moment]:
    """Return the quotations of a query: the sentences around each, or the clauses of longer ones."""
    clauses = [(clause, sentence) for sentence in sentences for clause in sentence.clauses or (sentence,)]
    moments = list[Moment]()
    for first, last, likeness in find_quotations(query, [clause.text for clause, _ in clauses]):
        (begin, around), (end, until) = clauses[first], clauses[last]
        if until.end_s - around.start_s <= _MAX_QUOTED_S:
            begin, end = around, until
        moments.append(_to_moment(begin.start_s, end.end_s, likeness, is_quoted=True))
    return moments


def _to_moment(start_s: float, end_s: float, present: float, *, is_quoted: bool = False) -> Moment:
    return Moment(start_s, end_s, present + is_quoted, "speech", present, is_quoted)


def speech_curve(
    passages: Sequence[Passage], evidence: FloatArray, timestamps: TimeArray, step_s: float
) -> FloatArray:
    """Return [T] evidence of the best passage that each clip hears, in [0, 1]; 0 in silence."""
    curve = np.zeros(len(timestamps), np.float32)
    for passage, value in zip(passages, unit_range(evidence), strict=True):
        overlaps = (timestamps < passage.end_s) & (timestamps + step_s > passage.start_s)
        curve[overlaps] = np.maximum(curve[overlaps], value)
    return curve


@dataclass(frozen=True, eq=False)
class Spoken:
    """Speech of a video: its sentences, and the passages that they make."""

    sentences: Sequence[Passage]
    passages: EncodedPassages

    @classmethod
    def of(cls, transcript: Transcript) -> Self:
        """Return the speech of a transcript. Raises WeightsError: the text encoder is unavailable."""
        sentences = split_sentences(transcript)
        # what is recognized comes in English, translated if need be; subtitles in their language
        language = (transcript.language or "auto") if transcript.is_of_cues else "en"
        return cls(sentences, encode_passages([*iter_passages(sentences)], language))

    def search(self, query: TextQuery, most: int) -> list[Found]:
        moments = speech_moments(query.text, self.passages.passages, self.passages.score(query), most)
        return [Found(moment, text_within(self.sentences, moment)) for moment in moments]

    def curve(self, query: TextQuery, times: TimeArray, step_s: float) -> FloatArray:
        """Return [T] how well what is said in each clip fits, in [0, 1]; 0 in silence."""
        if not self.passages.passages:
            return np.zeros(len(times), np.float32)
        return speech_curve(self.passages.passages, self.passages.score(query), times, step_s)

    def pack(self) -> Packed:
        return Packed(self.passages.pack(), self.sentences)

    @classmethod
    def unpack(cls, packed: Packed, duration_s: float) -> Self:
        return cls(packed.passages, unpack_passages([*iter_passages(packed.passages)], packed.records))

    @classmethod
    def rank(cls, records: bytes, query: TextQuery) -> float | None:
        return rank_passages(records, query)


def text_within(sentences: Sequence[Passage], moment: Moment) -> str:
    """Return the sentences that lie in a moment."""
    whole = Passage(moment.start_s, moment.end_s, "")
    return " ".join(sentence.text for sentence in sentences if whole.holds(sentence))
