"""Standing: how well a run of sentences can be understood by itself, for summaries and shorts alike.

A run stands if it begins and ends well (`vidsum.summary.sentence_marks`), has other places at which it could,
and its words are new (given and new, Prince 1981; the introduction of vocabulary, Hearst 1997).
docs/algorithms/selection.md has the equation.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import exp, inf, log, sqrt
from string import ascii_lowercase
from typing import Final

import numpy as np

from vidsum.results.sentences import SpokenSentence, is_stop
from vidsum.summary.sentence_marks import sentence_marks, stems_of, union
from vidsum.types import BoolArray, FloatArray, Interval

LEAST: Final = 0.08  # standing of what can be posted: a run without an end of a sentence has less
_GAP_S: Final = 3.0  # silence that no run goes on over
_BEFORE: Final = 40  # sentences ahead of a run, whose words are not new in it
_UNKNOWN: Final = 0.5  # share of new words, where no word counts
_CUT_OFF: Final = 0.1  # of the standing of a run without the beginning or the end of a sentence


@dataclass(frozen=True)
class StandingRun:
    """Sentences from number `first` to `last`, how well they stand by themselves, and how likely it is that
    they state the subject of the talk, both in [0, 1].
    """

    first: int
    last: int
    standing: float
    subject: float = 1.0

    @property
    def worth(self) -> float:
        """The value in a summary, in [0, 1]: the geometric mean of the parts of its standing and `subject`."""
        return float((self.standing**4 * self.subject) ** 0.2)


def standing_runs(
    sentences: Sequence[SpokenSentence], length_s: Interval, *, is_english: bool
) -> list[StandingRun]:
    """Return the runs of sentences whose speech has a length in a range, in order, with their standing."""
    marks = sentence_marks([sentence.text for sentence in sentences], is_english=is_english)
    return runs_of(marks, sentences, length_s)


def runs_of(marks: FloatArray, sentences: Sequence[SpokenSentence], length_s: Interval) -> list[StandingRun]:
    """Return the same runs by the marks [S, 3] of the sentences."""
    texts, runs = [sentence.text for sentence in sentences], list[StandingRun]()
    pauses_s, words = pauses(sentences), [stems_of(text) for text in texts]
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
                standing *= _CUT_OFF ** int((~whole[[first, last], [0, 1]]).sum())
                runs.append(StandingRun(first, last, standing, 1 - others))
    return runs


def pauses(sentences: Sequence[SpokenSentence]) -> list[float]:
    """Return [S + 1] the silence before each sentence in seconds, and after the last."""
    ends_s = [-inf, *(part.end_s for part in sentences)]
    starts_s = [*(part.start_s for part in sentences), inf]
    return [start_s - end_s for end_s, start_s in zip(ends_s, starts_s, strict=True)]


def are_whole(texts: Sequence[str]) -> BoolArray:
    """Return [S, 2] whether sentences have their beginnings, and their ends."""
    lower = ("\"'“‘«„(¿¡", (*ascii_lowercase, *"-–—.…"))
    begin = [
        is_stop(before) and not text.lstrip(lower[0]).startswith(lower[1])
        for before, text in zip([".", *texts][: len(texts)], texts, strict=True)
    ]
    return np.array([begin, [*map(is_stop, texts)]], np.bool_).T.reshape(-1, 2)


def _rarity(words: Sequence[Collection[str]]) -> dict[str, float]:
    """Return the weights of words: the fewer sentences have one, the more it says (Spärck Jones 1972)."""
    counts = Counter(word for row in words for word in row)
    return {word: log((len(words) + 1) / count) for word, count in counts.items()}


def _new(words: Collection[str], before: Collection[str], weights: Mapping[str, float]) -> float:
    """Return the fraction of words that were not said before, by weight."""
    total = sum(weights[word] for word in words)
    return sum(weights[word] for word in words if word not in before) / total if total else _UNKNOWN
