"""Titles of passages: the key phrases that set each apart from the others, with no language model.

Candidates are runs of up to four words that begin and end with a content word. Their counts in the passage
and elsewhere (as in Grootendorst's class-based TF-IDF, "BERTopic", 2022), how rare their words are in
English, and the cosine of their meaning and the passage's, as in his KeyBERT, decide.
"""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import resources
from itertools import combinations, pairwise
from typing import Final

import numpy as np

from vidsum.models.scaling import unit_rows
from vidsum.results.moments import shorten
from vidsum.types import FloatArray

Embed = Callable[[Sequence[str]], FloatArray]

MAX_LETTERS: Final = 60
_MAX_WORDS = 4
_SHORT_LIST = 30  # candidates of a passage whose meanings are compared
_MEANING = 0.5  # weight of the cosine, relative to the best count
_SECOND = 0.75  # score of a second phrase, relative to the first, from which the title has both
_COMMON_RANK = 600  # of the most frequent words of English books: none of them makes a title alone
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_CLAUSE = re.compile(r"[.,;:!?()\[\]\"“”…—–]+(?=\s|$)|(?<=\s)[(\[\"“—–]|[\"“”]")
_ONCE = 0.4  # worth of a phrase of several words that is said once
_BEFORE_VERBS = frozenset(
    re.findall(
        r"[\w']+",
        "to i you we they he she it who can could will would should must might may do does did don't "
        "doesn't didn't can't won't let's i'll you'll we'll i'm i've you've we've i'd you'd we'd not just "
        "also then never always really actually please",
    )
)  # what follows these is rarely a noun


def title_passages(passages: Sequence[Sequence[str]], embed: Embed) -> list[str]:
    """Return a title for each passage, given as its sentences: a key phrase or two, else its first words."""
    counts = [_count_phrases(sentences) for sentences in passages]
    total = Counter[str]()
    forms = defaultdict[str, Counter[str]](Counter)
    for counted in counts:
        for key, seen in counted.items():
            total[key] += seen.total()
            forms[key] += seen
    scores = [_score(counted, total) for counted in counts]
    lists = [sorted(score, key=lambda key: (-score[key], key))[:_SHORT_LIST] for score in scores]
    names = [[forms[key].most_common(1)[0][0] for key in keys] for keys in lists]
    meanings = _meanings(passages, names, embed)
    titles, taken = [], set[str]()
    for sentences, keys, score, cosines in zip(passages, lists, scores, meanings, strict=True):
        chosen = _choose(_rank(keys, score, cosines, taken))
        taken.update(chosen[:1])
        phrases = [forms[key].most_common(1)[0][0] for key in chosen]
        titles.append(_as_title(phrases) or shorten(" ".join(sentences), MAX_LETTERS))
    return titles


def _count_phrases(sentences: Sequence[str]) -> dict[str, Counter[str]]:
    """Return the forms of each candidate phrase with their counts, by its key."""
    counted = defaultdict[str, Counter[str]](Counter)
    for sentence in sentences:
        for clause in _CLAUSE.split(sentence):
            words = _WORD.findall(clause)
            for first, end in _spans(words):
                phrase = words[first:end]
                counted[_key_of(phrase)][" ".join(phrase)] += 1
    return counted


def _spans(words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield where candidates begin and end in the words of a clause."""
    lower = [word.lower().replace("’", "'") for word in words]
    is_content = [_is_content(word) for word in lower]
    for first in range(len(words)):
        if not is_content[first] or (first and lower[first - 1] in _BEFORE_VERBS):
            continue
        for end in range(first + 1, min(first + _MAX_WORDS, len(words)) + 1):
            if is_content[end - 1]:
                if len({*lower[first:end]}) == end - first and not lower[end - 1].endswith(("ly", "'s")):
                    yield first, end
            elif lower[end - 1] != "of" and lower[end - 2 : end] != ["of", "the"]:
                break


def _is_content(word: str) -> bool:
    return len(word) > 2 and not word[0].isdigit() and word not in _stop_words()


@cache
def _stop_words() -> frozenset[str]:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    lines = resources.files("vidsum.description").joinpath("talk.txt").read_text("utf-8").splitlines()
    return frozenset(ENGLISH_STOP_WORDS) | frozenset(" ".join(lines[1:]).split())


@cache
def _ranks() -> dict[str, int]:
    """Return the ranks of words: MiniLM's tokenizer lists them by how frequent they were in English books."""
    text = resources.files("vidsum.weights").joinpath("minilm-tokenizer.json").read_text("utf-8")
    words = (word for word in json.loads(text)["model"]["vocab"] if word.isalpha() and len(word) > 1)
    return {word: rank for rank, word in enumerate(words)}


def _key_of(words: Sequence[str]) -> str:
    return " ".join(re.sub(r"(?<=[^s'])s$|['’]s$", "", word.lower()) for word in words)


def _rarity(key: str) -> float:
    """Return how rare the words of a phrase are in English, from 0 to 1; the rarest two count."""
    ranks, most = _ranks(), len(_ranks())
    levels = [
        max(0.0, math.log(max(ranks.get(word, most), 1) / _COMMON_RANK)) / math.log(most / _COMMON_RANK)
        for word in key.split()
        if word not in ("of", "the")
    ]
    return float(np.mean(sorted(levels)[-2:]))


def _score(counted: dict[str, Counter[str]], total: Counter[str]) -> dict[str, float]:
    """Return how well the counts of phrases set a passage apart."""
    inside = Counter[str]()  # how often a phrase is a part of a longer one that is said again
    for key, seen in counted.items():
        words = key.split()
        if len(words) > 1 and seen.total() > 1:
            for first, end in combinations(range(len(words) + 1), 2):
                part = " ".join(words[first:end])
                if part != key:
                    inside[part] = max(inside[part], seen.total())
    scores = {}
    for key, seen in counted.items():
        here, n_words = seen.total(), len(key.split())
        apart = here - inside[key] / 2  # as in Frantzi's C-value
        worth = 0.7 if n_words == 1 else 1.0 if here > 1 else _ONCE
        scores[key] = math.log1p(apart) * here / total[key] * worth * (0.3 + _rarity(key))
    return scores


def _meanings(
    passages: Sequence[Sequence[str]], names: Sequence[Sequence[str]], embed: Embed
) -> list[FloatArray]:
    """Return the cosines of the phrases of each passage with what it is about, unlike the others."""
    rows = embed([text for sentences in passages for text in sentences])
    edges = np.cumsum([0, *map(len, passages)])
    means = np.stack([rows[low:high].mean(axis=0) for low, high in pairwise(edges)])
    about = unit_rows(means - means.mean(axis=0) / 2)
    vectors = embed([name for listed in names for name in listed]) if any(names) else rows[:0]
    ends = pairwise(np.cumsum([0, *map(len, names)]))
    return [vectors[low:high] @ row for row, (low, high) in zip(about, ends, strict=True)]


def _rank(
    keys: Sequence[str], score: dict[str, float], cosines: FloatArray, taken: set[str]
) -> list[tuple[float, str]]:
    most = max((score[key] for key in keys), default=1.0)
    ranked = [
        (score[key] / most + _MEANING * 2 * float(cosine), key)
        for key, cosine in zip(keys, cosines, strict=True)
        if key not in taken
    ]
    return sorted(ranked, key=lambda pair: (-pair[0], pair[1]))


def _choose(ranked: Sequence[tuple[float, str]]) -> list[str]:
    """Return the best phrase, and the next that shares no word with it, if it is nearly as good.

    Two single words, such as "crafts, differs", are no title: a phrase of several words that is nearly as
    good takes their place, else the first stands alone.
    """
    if not ranked:
        return []
    best, first = ranked[0]
    phrases = [key for value, key in ranked if value >= _SECOND * best and " " in key]
    if " " not in first:
        return phrases[:1] or [first]
    words = set(first.split())
    return [first, *[key for key in phrases[1:] if words.isdisjoint(key.split())][:1]]


def _as_title(phrases: Sequence[str]) -> str:
    text = ", ".join(phrases)
    return shorten(text[:1].upper() + text[1:], MAX_LETTERS)
