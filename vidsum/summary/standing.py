"""Standing: how well a run of sentences can be understood by itself, for summaries and shorts alike.

A run stands if it begins and ends well (`vidsum.summary.sentence_marks`), has many sentences that would also
begin or end a passage well, and has new words (given and new, Prince 1981; the introduction of vocabulary,
Hearst 1997). docs/algorithms/selection.md has the equation.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, log, sqrt
from typing import Final

import numpy as np

from vidsum.results.sentences import SpokenSentence, is_stop
from vidsum.summary.content_words import content_words, union
from vidsum.summary.sentence_marks import sentence_marks
from vidsum.types import BoolArray, FloatArray, Interval, Progress

_GAP_S: Final = 3.0  # silence that no run goes on over
_BEFORE: Final = 40  # sentences ahead of a run, whose words are not new in it
_UNKNOWN: Final = 0.5  # share of new words, where no word counts
_CUT_OFF: Final = 0.1  # of the worth of a run without the beginning or the end of a sentence
_QUOTES: Final = "\"'“‘«„(¿¡"
_DASHES: Final = ("-", "–", "—", ".", "…")  # with which the rest of a sentence begins


@dataclass(frozen=True)
class StandingRun:
    """Sentences from number `first` to `last`, how well they stand by themselves, and how likely it is that
    they state the subject of the talk, both in [0, 1].
    """

    first: int
    last: int
    standing: float
    subject: float = 1.0
    is_whole: bool = True  # has the beginning of its first sentence, and the end of its last

    @property
    def worth(self) -> float:
        """The value in a summary, in [0, 1]: the geometric mean of the parts of its standing and `subject`;
        little without the beginning or the end of a sentence.
        """
        return float((self.standing**4 * self.subject) ** 0.2) * (1 if self.is_whole else _CUT_OFF)


def standing_runs(
    sentences: Sequence[SpokenSentence],
    length_s: Interval,
    *,
    is_english: bool,
    progress: Progress | None = None,
) -> list[StandingRun]:
    """Return the runs of sentences whose speech has a length in a range, in order, with their standing."""
    texts = [sentence.text for sentence in sentences]
    marks = sentence_marks(texts, is_english=is_english, progress=progress)
    return runs_of(marks, sentences, length_s)


def runs_of(marks: FloatArray, sentences: Sequence[SpokenSentence], length_s: Interval) -> list[StandingRun]:
    """Return the same runs by the marks [S, 3] of the sentences."""
    texts, runs = [sentence.text for sentence in sentences], list[StandingRun]()
    pauses_s, words = pauses(sentences), [content_words(text) for text in texts]
    weights, whole = _rarity(words), are_whole(texts)
    sums = np.concatenate([np.zeros((1, 2)), marks[:, :2].cumsum(axis=0)])
    for first in range(len(sentences)):
        before, inside, others = union(words[max(first - _BEFORE, 0) : first]), set[str](), 1.0
        for last in range(first, len(sentences)):
            said_s = sentences[last].end_s - sentences[first].start_s
            if said_s > length_s[1] or (last > first and pauses_s[last] > _GAP_S):
                break
            inside |= words[last]
            others *= 1 - float(marks[last, 2])  # that no sentence states the subject
            if said_s >= length_s[0]:
                at_edges = float(marks[first, 0] * marks[last, 1])
                more = 1 - exp(-sqrt((sums[last + 1] - sums[first]).prod()))
                standing = (at_edges * more * _new(inside, before, weights)) ** 0.25
                is_whole = bool(whole[first, 0] and whole[last, 1])
                runs.append(StandingRun(first, last, standing, 1 - others, is_whole))
    return runs


def pauses(sentences: Sequence[SpokenSentence]) -> list[float]:
    """Return [S + 1] the silence before each sentence in seconds, and after the last."""
    ends_s = [-inf, *(part.end_s for part in sentences)]
    starts_s = [*(part.start_s for part in sentences), inf]
    return [start_s - end_s for end_s, start_s in zip(ends_s, starts_s, strict=True)]


def are_whole(texts: Sequence[str]) -> BoolArray:
    """Return [S, 2] whether sentences have their beginnings, and their ends.

    The rest of a sentence begins with a small letter, unless most sentences of the talk do.
    """
    are_small = [_begins_small(text) for text in texts]
    has_capitals = 2 * sum(are_small) < len(texts)
    begin = [
        is_stop(before) and not text.lstrip(_QUOTES).startswith(_DASHES) and not (is_small and has_capitals)
        for before, text, is_small in zip([".", *texts][: len(texts)], texts, are_small, strict=True)
    ]
    return np.array([begin, [*map(is_stop, texts)]], np.bool_).T.reshape(-1, 2)


def _begins_small(text: str) -> bool:
    """Return whether the first word has small letters only: not "iPhone"."""
    return any(word.islower() for word in text.lstrip(_QUOTES).split(maxsplit=1)[:1])


def _rarity(words: Sequence[Collection[str]]) -> dict[str, float]:
    """Return the weights of words: the fewer sentences have one, the more it says (Spärck Jones 1972)."""
    counts = Counter(word for row in words for word in row)
    return {word: log((len(words) + 1) / count) for word, count in counts.items()}


def _new(words: Collection[str], before: Collection[str], weights: Mapping[str, float]) -> float:
    """Return the fraction of words that were not said before, by weight."""
    total = sum(weights[word] for word in words)
    return sum(weights[word] for word in words if word not in before) / total if total else _UNKNOWN
