"""Speech as evidence: passages of a transcript, how well they match queries, and moments of them.

A passage is one sentence, or a few that follow each other without a long pause. A moment of speech is one
sentence, the best of its passage, or those in which the query is quoted. docs/algorithms/speech.md explains
the rules.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np

from vidsum.evidence.quotations import find_quotations
from vidsum.grounding.languages import encode_in
from vidsum.grounding.proposals import MAX_IOU, suppress
from vidsum.grounding.settings import UNLIKELY
from vidsum.grounding.text_encoders import load_text_encoder
from vidsum.models.scaling import logistic, unit_range
from vidsum.results.moments import NO_BELOW, Moment, QueryMoments
from vidsum.results.sentences import LONG_PAUSE_S, SpokenSentence, split_clauses
from vidsum.results.settings import WORDS
from vidsum.results.transcript import Transcript
from vidsum.types import FloatArray, TimeArray

ENCODER = "minilm"  # compares texts, whatever the space of the video

# Tuned numbers (docs/algorithms/speech.md, tests/grounding/test_speech.py).
_MAX_SENTENCES = 4
_MAX_PASSAGE_S = 30.0
_MAX_QUOTED_S = 10.0  # longest run of whole sentences that answers a quotation; else their clauses do
_SHORTEST_CLAUSE_S = 1.0
_WORD_WEIGHT = 0.3  # weight of exact words, relative to the cosine of the embeddings
_UNCERTAINTY_COST = 0.25  # fraction of its evidence that a passage loses if all of it is uncertain
MATCH_EVIDENCE = 0.46  # evidence at which a passage is as likely as not what a query means
_SLOPE = 7.1  # slope of the logistic curve from evidence to that probability
_UNKNOWN_MATCH = 1 / 3  # match probability of pictures where none is known


@dataclass(frozen=True)
class Passage:
    """A text spoken in [start_s, end_s)."""

    start_s: float
    end_s: float
    text: str
    n_sentences: int = 1
    certain: float = 1.0  # fraction of the text that is not in uncertain segments
    clauses: tuple["Passage", ...] = field(default=(), compare=False)  # of one sentence

    def holds(self, other: "Passage") -> bool:
        return self.start_s <= other.start_s and other.end_s <= self.end_s


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


def score_passages(
    passages: Sequence[Passage], queries: Sequence[str], meanings: FloatArray | None = None
) -> FloatArray:
    """Return [M, P] how well each passage fits each query: cosine of meanings, rarity of exact words.

    Text that is uncertain counts less. `meanings` [M, P] are the cosines, where they are known. Raises
    WeightsError where the text encoder's weights are unavailable.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = [passage.text for passage in passages]
    trust = np.array([1 - _UNCERTAINTY_COST * (1 - passage.certain) for passage in passages], np.float32)
    if meanings is None:
        encode = load_text_encoder(ENCODER).encode
        meanings = encode_in(list(queries), "auto", encode) @ encode(texts).T
    words = TfidfVectorizer(stop_words="english", sublinear_tf=True, token_pattern=r"(?u)\b\w+\b")
    try:
        counted = words.fit_transform(texts)
    except ValueError:  # all words are stop words
        return np.asarray(trust * meanings, np.float32)
    exact = (words.transform(list(queries)) @ counted.T).toarray()
    return np.asarray(trust * (meanings + _WORD_WEIGHT * exact), np.float32)


def to_probabilities(evidence: FloatArray) -> FloatArray:
    """Return how likely passages are what a query means, by their evidence [P]."""
    return logistic(_SLOPE * (evidence - MATCH_EVIDENCE))


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


def fuse(
    seen: QueryMoments, others: Sequence[QueryMoments], top_k: int, min_ratio: float = 0.0
) -> QueryMoments:
    """Merge moments of pictures with others: quotations and exact words, then what is seen or heard, the
    likely best of each first, then speech and text.

    Each keeps its own probability, and the order among its kind. The score is the probability of the place:
    no larger than the one before. Others that are probably not what the query means are left out, and so are
    those whose probability is below `min_ratio` of the first one's score, or of 1 if it is quoted; a
    quotation leaves out pictures as well.
    """
    usual = _UNKNOWN_MATCH if seen.present is None else seen.present
    likely = [moment for other in others for moment in other.moments if moment.score >= UNLIKELY]
    quoted = [moment for moment in likely if moment.is_quoted]
    sounds = [moment for moment in likely if moment.evidence == "sound"]
    firsts, rest = list[Moment](), list[Moment]()
    for ranked in (seen.moments, sounds):
        probable = [usual if moment.present is None else moment.present for moment in ranked]
        levels = np.minimum.accumulate(probable).tolist()
        scored = [replace(moment, score=level) for moment, level in zip(ranked, levels, strict=True)]
        n_first = int(bool(scored) and scored[0].score >= NO_BELOW)
        firsts += scored[:n_first]
        rest += scored[n_first:]
    # their probabilities do not compare with those of pictures: nothing that is seen makes room for them
    words = [
        replace(moment, score=min(moment.score, moment.present or 0.0))
        for moment in likely
        if moment.evidence in WORDS and not moment.is_quoted
    ]
    moments = [*quoted, *_by_score(firsts), *_by_score(rest), *_by_score(words)]
    least = max((min_ratio * min(moment.score, 1) for moment in moments[:1]), default=0.0)
    moments = [
        moment for moment in moments if moment.score >= least or (moment.evidence == "picture" and not quoted)
    ][:top_k]
    scores = np.minimum.accumulate([moment.score for moment in moments]).tolist()
    ordered = tuple(replace(moment, score=score) for moment, score in zip(moments, scores, strict=True))
    curves = [other.said for other in others if other.said is not None]
    return replace(seen, moments=ordered, said=curves[0] if curves else None)


def _by_score(moments: Sequence[Moment]) -> list[Moment]:
    return sorted(moments, key=lambda moment: -moment.score)
