"""The moments of several kinds of evidence as one list."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from vidsum.grounding.settings import UNLIKELY
from vidsum.results.moments import NO_BELOW, Moment, QueryMoments
from vidsum.results.settings import WORDS

_UNKNOWN_MATCH = 1 / 3  # match probability of pictures where none is known


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
    # their probabilities do not compare with pictures': nothing that is seen makes room for them
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
