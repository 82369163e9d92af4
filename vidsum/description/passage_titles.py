"""Titles of passages of speech in their own words, with no language model.

A title is the question that a passage answers; else the noun phrase, said again in it, that sets it apart
from the rest of what is said, by its counts (as in Grootendorst's class-based TF-IDF, "BERTopic", 2022), how
rare its words are in English, and its likeness to what the passage means, as in his KeyBERT; else the first
clause of the sentence that is most like the passage.
"""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Final

import numpy as np

from vidsum.description.noun_phrases import find_phrases, function_words
from vidsum.models.scaling import unit_rows
from vidsum.results.moments import shorten
from vidsum.types import FloatArray

Embed = Callable[[Sequence[str]], FloatArray]

MAX_LETTERS: Final = 60
_MAX_WORDS: Final = 8  # of a sentence that becomes a title
_LEAST_WORDS: Final = 3, 4  # of a question, and of a clause, that become titles
_ASKS: Final = re.compile(
    r"(what|why|how|when|where|who|whom|whose|which|is|are|was|were|do|does|did|can|could|should|would|will|"
    r"have|has)\b",
    re.IGNORECASE,
)
"""The first words of English questions."""
_SHORT_LIST: Final = 30  # phrases of a passage whose meanings are compared
_MEANING: Final = 1.0  # weight of the cosine, relative to the best count
_COMMON_RANK: Final = 600  # of the most frequent words of English books: none of them makes a title alone
_LEAST_RARE: Final = 0.1  # of words that make a title
_RARE_WORD: Final = 0.45  # of a word that makes one alone
_SUBJECT: Final = 4  # times that such a word is said
_SINGLE: Final = 0.6  # worth of such a word, relative to several words
_WORD: Final = r"[^\W_]+(?:['’.-][^\W_]+)*"
_LINKS: Final = re.compile(
    r"\A(?:(?:and|but|so|now|well|because|then|okay|ok|also|again|in fact|of course|you know|i mean)\b"
    r"[,\s]+)+",
    re.IGNORECASE,
)
"""Words that link a sentence to what was said before."""
_SUBORDINATE: Final = re.compile(
    r"\W*(although|though|unlike|while|when|if|as|since|after|before|for|in|on|at|"
    r"by|from|with|during|until|it|this|that|these|they|he|she|there|here|let|"
    r"the (?:first|second|third|last|next|other|same|opposite|reason|answer|result))\b",
    re.IGNORECASE,
)
"""Beginnings of English sentences whose first words say little by themselves."""
_UNNAMED: Final = re.compile(
    r"\b(it|its|they|them|their|he|him|his|she|her|this|these|those)\b", re.IGNORECASE
)
"""English words for what was named elsewhere."""
_CLAUSE_END: Final = re.compile(
    r"[;–—]|,?\s(?=(?:because|although|though|when|while|until|since|but|so|"
    r"and (?:i|you|he|she|it|we|they|the|an?|my|our|your|not))\b)|,\s(?=(?:which|who|as|if|or)\b)",
    re.IGNORECASE,
)
"""Where a clause of an English sentence may end."""
_ENDS: Final = frozenset(
    re.findall(r"\w+", "a an the of to in on at by for from with and or but that which is are was were")
)
"""Words that no title ends with."""


def title_passages(
    passages: Sequence[Sequence[str]], embed: Embed, rest: Sequence[str] = (), *, is_english: bool = True
) -> list[str]:
    """Return a title for each passage, no two alike: the last resort is a number.

    Args:
        passages: the sentences of each; one at least, none empty.
        embed: returns vectors [N, D] of the meanings of texts, of length 1.
        rest: the other sentences of the talk.
    """
    counted = [_count_phrases(sentences if is_english else ()) for sentences in passages]
    total = Counter(_count_phrases(rest if is_english else ()).counts)
    for phrases in counted:
        total += phrases.counts
    titles = list[str]()
    for sentences, phrases in zip(passages, counted, strict=True):
        taken = {_key_of(title) for title in titles}
        lead = _question_of(sentences)
        if not lead or _key_of(lead) in taken:
            rows = embed(sentences)
            phrase = phrases.form(_best_phrase(phrases, total, taken, rows, embed))
            lead = _capital(phrase) or _first_words(sentences, rows)
        titles.append(_numbered(lead, taken))
    return titles


def _numbered(title: str, taken: Collection[str]) -> str:
    """Return a title, with the lowest number from 2 on that sets it apart from those in use."""
    short = shorten(title, MAX_LETTERS - len(" (999)"))
    candidates = [title, *(f"{short} ({number})" for number in range(2, len(taken) + 3))]
    return next(text for text in candidates if _key_of(text) not in taken)


@dataclass(frozen=True)
class _Phrases:
    """The noun phrases of a text: counts and forms by their keys."""

    counts: Counter[str] = field(default_factory=Counter)
    forms: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def form(self, key: str) -> str:
        """Return the commonest form of a phrase; empty for none."""
        return self.forms[key].most_common(1)[0][0] if key else ""


def _count_phrases(sentences: Sequence[str]) -> _Phrases:
    phrases = _Phrases()
    for sentence in sentences:
        for phrase in find_phrases(sentence):
            key = _key_of(phrase)
            phrases.forms[key][phrase] += 1
    said = f" {_key_of(' '.join(re.findall(_WORD, ' '.join(sentences))))} "
    for key, forms in phrases.forms.items():
        phrases.counts[key] = max(forms.total(), said.count(f" {key} "))
    return phrases


def _key_of(phrase: str) -> str:
    """Return a phrase in lower case, without an article and the endings of plurals."""
    words = [word for word in phrase.lower().split() if word not in ("the", "a", "an")]
    return " ".join(re.sub(r"(?<=[^s'])s$|['’]s$", "", word) for word in words)


def _best_phrase(
    phrases: _Phrases, total: Counter[str], taken: set[str], rows: FloatArray, embed: Embed
) -> str:
    """Return the key of the phrase that sets a passage apart, whose sentences mean `rows` [S, D]; or none."""
    scores = {
        key: _score(key, count, total[key])
        for key, count in phrases.counts.items()
        if key not in taken and _is_telling(key, count, total[key]) and len(phrases.form(key)) <= MAX_LETTERS
    }
    keys = sorted(scores, key=lambda key: (-scores[key], key))[:_SHORT_LIST]
    if not keys:
        return ""
    about = unit_rows(rows.mean(axis=0)[None])[0]
    cosines = embed([phrases.form(key) for key in keys]) @ about
    most = max(scores.values())
    ranked = {
        key: scores[key] / most + _MEANING * float(cosine) for key, cosine in zip(keys, cosines, strict=True)
    }
    return min(ranked, key=lambda key: (-ranked[key], key))


def _is_telling(key: str, here: int, total: int) -> bool:
    """Return whether a phrase of a passage may be a title: several words that are said again in it, or a rare
    word that is said often, and nowhere else.

    Words of talking about anything make none alone.
    """
    words = key.split()
    if not {*words} - function_words() - _talk_words():
        return False
    if len(words) > 1:
        return here > 1 and _rarity(key) >= _LEAST_RARE
    return here >= _SUBJECT and here == total and _rarity(key) >= _RARE_WORD


def _score(key: str, here: int, total: int) -> float:
    """Return how well the counts of a phrase set a passage apart."""
    weight = _SINGLE if len(key.split()) == 1 else 1.0
    return weight * math.log1p(here) * math.sqrt(here / total) * (0.3 + _rarity(key))


@cache
def _talk_words() -> frozenset[str]:
    lines = resources.files("vidsum.description").joinpath("talk.txt").read_text("utf-8").splitlines()
    return frozenset(" ".join(lines[1:]).split())


@cache
def _ranks() -> dict[str, int]:
    """Return the ranks of words: MiniLM's tokenizer lists them by how frequent they were in English books."""
    text = resources.files("vidsum.weights").joinpath("minilm-tokenizer.json").read_text("utf-8")
    words = (word for word in json.loads(text)["model"]["vocab"] if word.isalpha() and len(word) > 1)
    return {word: rank for rank, word in enumerate(words)}


def _rarity(key: str) -> float:
    """Return how rare the words of a phrase are in English, from 0 to 1; the rarest two count."""
    ranks, most = _ranks(), len(_ranks())
    levels = [
        max(0.0, math.log(max(ranks.get(word, most), 1) / _COMMON_RANK)) / math.log(most / _COMMON_RANK)
        for word in key.split()
        if word not in function_words()
    ]
    return float(np.mean(sorted(levels)[-2:])) if levels else 0.0


def _question_of(sentences: Sequence[str]) -> str:
    """Return the first short and clear question in the first half of a passage; else an empty text."""
    for number, sentence in enumerate(sentences[: (len(sentences) + 1) // 2]):
        question = _LINKS.sub("", sentence.strip(), count=1)
        is_clear = number == 0 or not _UNNAMED.search(question)
        is_short = len(question.split()) >= _LEAST_WORDS[0] and len(question) <= MAX_LETTERS
        if _ASKS.match(question) and question.endswith("?") and is_short and is_clear:
            return _capital(question)
    return ""


def _first_words(sentences: Sequence[str], rows: FloatArray) -> str:
    """Return the first clause of the sentence most like its passage, whose sentences mean `rows`; else its
    first words.
    """
    split = [re.split(r"(?<=:)\s+", sentence.strip()) for sentence in sentences]
    owners = [row for row, parts in enumerate(split) for _ in parts]
    plain = [_LINKS.sub("", part, count=1) for parts in split for part in parts]
    clauses = [_first_clause(sentence) for sentence in plain]
    doubts = [
        2 * (not clause)
        + bool(_SUBORDINATE.match(sentence))
        + bool(_UNNAMED.search(clause))
        + (len(clause.split()) < _LEAST_WORDS[1])
        for sentence, clause in zip(plain, clauses, strict=True)
    ]
    best = int(((rows @ rows.mean(axis=0))[owners] - doubts).argmax())
    if clauses[best]:
        return _capital(clauses[best])
    if not re.search(r"\w", plain[best]):
        return shorten(sentences[owners[best]].strip(), MAX_LETTERS)
    first = plain[best].split()[:_MAX_WORDS]
    while len(first) > 2 and first[-1].lower().strip(",") in _ENDS:
        first = first[:-1]
    return shorten(_capital(" ".join(first).rstrip(",;:–—-")), MAX_LETTERS - 1).rstrip("…") + "…"


def _first_clause(sentence: str) -> str:
    """Return the longest beginning of a sentence that ends with it or a clause of it, and is a short title;
    else an empty text.
    """
    is_plain = not _SUBORDINATE.match(sentence)
    ends = [match.start() for match in _CLAUSE_END.finditer(sentence)] if is_plain else []
    clauses = [sentence[:end] for end in ends[::-1] if len(sentence[:end].split()) >= _LEAST_WORDS[1]]
    whole = [sentence.rstrip(".。…,;: "), *clauses]
    return next((clause for clause in whole if 0 < len(clause) <= MAX_LETTERS), "")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
