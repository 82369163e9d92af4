"""Standing: how well a run of sentences can be understood by itself, for summaries and shorts alike.

A run stands if its words are new (given and new, Prince 1981; the introduction of vocabulary, Hearst 1997),
it begins where nothing before is missed, ends where nothing is announced or goes on, and one person speaks.
docs/algorithms/selection.md has the equation. References are known in English only
(`vidsum.summary.references`).
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import inf, log
from string import ascii_lowercase
from typing import Final

import numpy as np

from vidsum.results.sentences import SpokenSentence, is_stop
from vidsum.speech.script import NO_BLANKS
from vidsum.summary.references import OPENING, REPLY, joins, loose_references
from vidsum.types import Interval

LEAST: Final = 0.45  # standing of what can be posted
_GAP_S: Final = 3.0  # silence that no run goes on over
_BEFORE: Final = 40  # sentences ahead of a run, whose words are not new in it
_ONCE: Final = 0.5  # of the weight of a new word that never comes again
_NAMED: Final = 8  # sentences ahead of a run, whose nouns it may refer to
_LATER: Final = (1.0, 0.7, 0.5)  # weight of references in the first, second and third sentence
_FEW_WORDS: Final = 4  # a sentence of fewer says nothing by itself
_ECHO_WORDS: Final = 6  # a sentence of fewer often belongs to the one before
_LETTERS: Final = 4  # of a word that counts, at least
_STEM: Final = 5  # first letters by which words are compared: plurals and tenses count as one
_ANSWERED, _CUT_OFF, _ANNOUNCED, _OTHER, _QUOTED = 1.0, 2.0, 1.2, 1.0, 1.0
"""Weights, as of a loose reference, of a question before, of a sentence without its beginning or end, of an
announcement, of another speaker, and of half of a quotation."""
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


def standing_runs(
    sentences: Sequence[SpokenSentence], length_s: Interval, *, is_english: bool
) -> list[StandingRun]:
    """Return the runs of sentences whose speech has a length in a range, in order, with their standing."""
    texts, runs = [sentence.text for sentence in sentences], list[StandingRun]()
    pauses_s, words = pauses(sentences), [_stems(text) for text in texts]
    weights = _rarity(words)
    last_at = {word: at for at, row in enumerate(words) for word in row}
    first_at = {word: at for at, row in reversed([*enumerate(words)]) for word in row}
    loose, opened, replies = _missing(texts, is_english=is_english)
    questions = [0, *accumulate(map(is_question, texts))]
    quotes = [0, *accumulate(text.count('"') + text.count("“") + text.count("”") for text in texts)]
    for first in range(len(sentences)):
        before, inside = _union(words[max(first - _BEFORE, 0) : first]), set[str]()
        for last in range(first, len(sentences)):
            said_s = sentences[last].end_s - sentences[first].start_s
            if said_s > length_s[1] or (last > first and pauses_s[last] > _GAP_S):
                break
            inside |= words[last]
            if said_s < length_s[0]:
                continue
            again = {word for word in inside if first_at[word] < first or last_at[word] > last}
            new = _new(inside, before, again, weights)
            missing = loose[first] + opened[last] + _QUOTED * ((quotes[last + 1] - quotes[first]) % 2)
            late = max(last + 1 - max((last - first + 1) // 3, 1), first + 1)
            missing += _OTHER * (replies[last + 1] > replies[first] or questions[last + 1] > questions[late])
            runs.append(StandingRun(first, last, new * 2.0**-missing))
    return runs


def is_question(text: str) -> bool:
    return bool(_QUESTION.search(text.rstrip()))


def pauses(sentences: Sequence[SpokenSentence]) -> list[float]:
    """Return [S + 1] the silence before each sentence in seconds, and after the last."""
    ends_s = [-inf, *(part.end_s for part in sentences)]
    starts_s = [*(part.start_s for part in sentences), inf]
    return [start_s - end_s for end_s, start_s in zip(ends_s, starts_s, strict=True)]


def _missing(texts: Sequence[str], *, is_english: bool) -> tuple[list[float], list[float], list[int]]:
    """Return what is missing before a run that begins with each sentence, after one that ends with it, and
    the number of replies among the sentences before [S + 1].
    """
    references = [
        loose_references(texts[at : at + OPENING], texts[max(at - _NAMED, 0) : at]) if is_english else [0.0]
        for at in range(len(texts))
    ]
    is_reply = [is_english and joins(text) >= REPLY for text in texts]
    hangs = [_hangs(texts, at) for at in range(len(texts))]
    loose = [
        hang
        + float(np.dot(weights, _LATER[: len(weights)]))
        + _OTHER * is_question(text)
        + _OTHER * is_after_reply
        for hang, weights, text, is_after_reply in zip(
            hangs, references, texts, [False, *is_reply][: len(texts)], strict=True
        )
    ]
    follows = [
        min(weights[0] + hang, 1.5) + 0.7 * (len(_words(text)) < _ECHO_WORDS)
        for weights, hang, text in zip(references, hangs, texts, strict=True)
    ]
    opened = [
        _opens(text, is_english=is_english) + follow
        for text, follow in zip(texts, [*follows[1:], 0.0][: len(texts)], strict=True)
    ]
    return loose, opened, [0, *accumulate(map(int, is_reply))]


def _hangs(texts: Sequence[str], at: int) -> float:
    """Return how much a sentence is a fragment or an answer."""
    text, before = texts[at], texts[at - 1] if at else "."
    is_inside = not is_stop(before) or text.lstrip("\"'“‘«„(¿¡").startswith((*ascii_lowercase, *"-–—.…"))
    is_short = len(_words(text)) < _FEW_WORDS and not is_question(text)
    return _CUT_OFF * bool(is_inside) + _ANSWERED * (is_short + is_question(before))


def _opens(text: str, *, is_english: bool) -> float:
    """Return how much a sentence asks for another after it."""
    is_announced = is_english and bool(_ANNOUNCES.search(text))
    return 3.0 * is_question(text) + _CUT_OFF * (not is_stop(text)) + _ANNOUNCED * is_announced


def _stems(text: str) -> frozenset[str]:
    """Return the beginnings of the words of a text that may name its subject."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(
        word[:_STEM]
        for word in _words(text)
        if (len(word) >= _LETTERS or NO_BLANKS.search(word)) and word not in ENGLISH_STOP_WORDS
    )


def _words(text: str) -> list[str]:
    """Return the words of a text; of scripts without blanks between them, all pairs of letters."""
    words = list[str]()
    for word in re.findall(r"\w+", text.lower()):
        words += map("".join, pairwise(word)) if NO_BLANKS.search(word) else [word]
    return words


def _union(words: Sequence[Collection[str]]) -> set[str]:
    return set[str]().union(*words)


def _rarity(words: Sequence[Collection[str]]) -> dict[str, float]:
    """Return the weights of words: the fewer sentences have one, the more it says (Spärck Jones 1972)."""
    counts = Counter(word for row in words for word in row)
    return {word: log((len(words) + 1) / count) for word, count in counts.items()}


def _new(
    words: Collection[str], before: Collection[str], again: Collection[str], weights: Mapping[str, float]
) -> float:
    """Return the fraction of words that were not said before, by weight; those that come again count more."""
    total = sum(weights[word] for word in words)
    new = sum(weights[word] * (1.0 if word in again else _ONCE) for word in words if word not in before)
    return new / total if total else _ONCE
