"""Standing: how well a run of sentences can be understood by itself, for summaries and shorts alike.

A run stands if it begins where nothing before is missed, ends where nothing is announced or goes on, and has
its turns of the subject at its ends, not inside (TextTiling, Hearst 1997). docs/algorithms/selection.md has
the equation. References are known in English only (`vidsum.summary.references`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import inf
from string import ascii_lowercase
from typing import Final

import numpy as np

from vidsum.results.sentences import SpokenSentence, is_stop
from vidsum.summary.references import OPENING, REPLY, joins, loose_references
from vidsum.types import Interval, TimeArray

LEAST: Final = 0.55  # standing of what is posted or summarized, where there is such
_GAP_S: Final = 3.0  # silence that no run goes on over
_PAUSE_S: Final = 1.0  # silence that a thought is clearly over with
_NEAR: Final = (1, 3, 8)  # sentences on either side of a boundary whose words are compared
_BEFORE: Final = 8  # sentences ahead of a run, whose nouns it may refer to
_LATER: Final = (1.0, 0.7, 0.5)  # weight of references in the first, second and third sentence
_FEW_WORDS: Final = 4  # a sentence of fewer says nothing by itself
_ECHO_WORDS: Final = 6  # a sentence of fewer often belongs to the one before
_TURN, _PAUSE = 0.4, 0.2
"""Weights of a turn of the subject and of a pause at an end; the rest is what any boundary has."""
_ANSWERED, _CUT_OFF, _ANNOUNCED = 1.0, 2.0, 1.2
"""Weights, as of a loose reference, of a question before, of a sentence without its beginning or end, and of
an announcement."""
_INSIDE, _QUOTED, _CHANGED = 0.5, 0.5, 0.6
"""Factors of runs with a turn inside, with half of a quotation, and with another speaker near the end."""
_QUESTION: Final = re.compile(r"[?？؟][\"'”’»›)\]」』）》]*$")
_ANNOUNCES: Final = re.compile(
    r"\b(let me|let's|let us|here's|here (is|are)|imagine|suppose|consider|take a look|look at|guess what|"
    r"one of them|for (example|instance)|the following|as follows|the first (one|thing|reason)|not (just|"
    r"only|merely|simply)|i(['’]ll| will|['’]m going to|['’]m gonna| am going to| want to| wanna) (tell|show|"
    r"give|explain|talk|ask|share)|there (are|were) (two|three|four|five|several|a few|a couple|a lot of|"
    r"many) \w+|(two|three|four|five) (things|reasons|ways|steps|points|questions)|(said|says|asked|asks|"
    r"thought|(was|were|is|am|are) like|goes|went|replied)\W*$)",
    re.IGNORECASE,
)
"""English words after which something has to come."""


@dataclass(frozen=True)
class StandingRun:
    """Sentences from number `first` to `last`, and how well they stand by themselves, in [0, 1]."""

    first: int
    last: int
    standing: float


@dataclass(frozen=True, eq=False)
class _Boundaries:
    """The S + 1 places between sentences, before the first and after the last included."""

    begins: TimeArray  # [S + 1] how well a run begins with the sentence after
    ends: TimeArray  # [S + 1] how well one ends with the sentence before
    turns: TimeArray  # [S + 1] how much the subject changes, in [0, 1]


def standing_runs(
    sentences: Sequence[SpokenSentence], length_s: Interval, *, is_english: bool
) -> list[StandingRun]:
    """Return the runs of sentences whose speech has a length in a range, in order, with their standing."""
    bounds, pauses_s = _boundaries(sentences, is_english=is_english), pauses(sentences)
    texts, runs = [sentence.text for sentence in sentences], list[StandingRun]()
    quotes = [0, *accumulate(text.count('"') + text.count("“") + text.count("”") for text in texts)]
    is_other = [is_question(text) or (is_english and joins(text) >= REPLY) for text in texts]
    others = [0, *accumulate(is_other)]
    for first in range(len(sentences)):
        inside = 0.0
        for last in range(first, len(sentences)):
            said_s = sentences[last].end_s - sentences[first].start_s
            if said_s > length_s[1] or (last > first and pauses_s[last] > _GAP_S):
                break
            inside = max(inside, bounds.turns[last]) if last > first else 0.0
            if said_s < length_s[0]:
                continue
            standing = float(
                min(bounds.begins[first], bounds.ends[last + 1])
            )  # a good end mends no beginning
            edge = (bounds.turns[first] + bounds.turns[last + 1]) / 2
            standing *= 1 - _INSIDE * max(inside - edge, 0.0)
            standing *= _QUOTED if (quotes[last + 1] - quotes[first]) % 2 else 1.0
            late = max(last + 1 - max((last - first + 1) // 3, 1), first + 1)
            is_changed = others[last + 1] > others[late]
            runs.append(StandingRun(first, last, standing * (_CHANGED if is_changed else 1.0)))
    return runs


def is_question(text: str) -> bool:
    return bool(_QUESTION.search(text.rstrip()))


def pauses(sentences: Sequence[SpokenSentence]) -> list[float]:
    """Return [S + 1] the silence before each sentence in seconds, and after the last."""
    ends_s = [-inf, *(part.end_s for part in sentences)]
    starts_s = [*(part.start_s for part in sentences), inf]
    return [start_s - end_s for end_s, start_s in zip(ends_s, starts_s, strict=True)]


def _boundaries(sentences: Sequence[SpokenSentence], *, is_english: bool) -> _Boundaries:
    texts = [sentence.text for sentence in sentences]
    references = [
        loose_references(texts[at : at + OPENING], texts[max(at - _BEFORE, 0) : at]) if is_english else [0.0]
        for at in range(len(texts))
    ]
    hangs = np.array([_hangs(texts, at) for at in range(len(texts))])
    loose = hangs + [np.dot(weights, _LATER[: len(weights)]) for weights in references]
    opens = np.array([_opens(text, is_english=is_english) for text in texts])
    follows = [
        min(weights[0] + missing, 1.5) + 0.7 * (len(text.split()) < _ECHO_WORDS)
        for weights, missing, text in zip(references, hangs, texts, strict=True)
    ]
    turns = _subject_turns(texts)
    silent = np.clip(np.array(pauses(sentences)) / _PAUSE_S, 0, 1)
    plain = 1 - _TURN - _PAUSE + _TURN * turns + _PAUSE * silent
    begins = plain * np.append(2.0**-loose, 0.0)
    ends = plain * np.insert(2.0 ** -(opens + [*follows[1:], 0.0][: len(texts)]), 0, 0.0)
    return _Boundaries(begins, ends, turns)


def _hangs(texts: Sequence[str], at: int) -> float:
    """Return how much a sentence is a fragment or an answer."""
    text, before = texts[at], texts[at - 1] if at else "."
    is_inside = not is_stop(before) or text.lstrip("\"'“‘«„(¿¡").startswith((*ascii_lowercase, *"-–—.…"))
    is_short = len(text.split()) < _FEW_WORDS and not is_question(text)
    return _CUT_OFF * bool(is_inside) + _ANSWERED * (is_short + is_question(before))


def _opens(text: str, *, is_english: bool) -> float:
    """Return how much a sentence asks for another after it."""
    is_announced = is_english and bool(_ANNOUNCES.search(text))
    return 3.0 * is_question(text) + _CUT_OFF * (not is_stop(text)) + _ANNOUNCED * is_announced


def _subject_turns(texts: Sequence[str]) -> TimeArray:
    """Return [S + 1] how much the subject changes before each sentence, as a rank in [0, 1]; 1 at both ends.

    The words (TF-IDF) of some sentences before and after are compared, over three distances.
    """
    from scipy.sparse import diags_array
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    turns = np.ones(len(texts) + 1)
    try:
        words = TfidfVectorizer(sublinear_tf=True, stop_words="english").fit_transform(texts)
    except ValueError:  # no words, or only such as mean nothing
        return turns
    shape, total = (len(texts) - 1, len(texts)), np.zeros(len(texts) - 1)
    for near in sorted({min(near, len(texts) - 1) for near in _NEAR} - {0}):
        before = diags_array(np.ones(near), offsets=range(1 - near, 1), shape=shape)
        after = diags_array(np.ones(near), offsets=range(1, near + 1), shape=shape)
        alike = normalize(before @ words).multiply(normalize(after @ words)).sum(axis=1)
        total += _ranks(-np.asarray(alike).reshape(-1))
    turns[1:-1] = _ranks(total)
    return turns


def _ranks(values: TimeArray) -> TimeArray:
    """Return the ranks of values, from 0 of the least to 1 of the highest; equal values have equal ranks."""
    from scipy.stats import rankdata

    return np.asarray((rankdata(values) - 1) / max(len(values) - 1, 1))
