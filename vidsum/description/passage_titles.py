"""Titles of passages of speech in their own words, with no language model.

A title is the question that a passage answers; else the noun phrase of several words, said again in it, that
sets it apart from the rest of what is said, by its counts (as in Grootendorst's class-based TF-IDF,
"BERTopic", 2022), how rare its words are in English, and its likeness to what the passage means, as in his
KeyBERT; else the whole clause that is most like the passage. A passage without any has no title: the first
words of a sentence say less than its time.
"""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Final

import numpy as np

from vidsum.description.noun_phrases import find_phrases, function_words
from vidsum.models.scaling import unit_rows
from vidsum.types import FloatArray

Embed = Callable[[Sequence[str]], FloatArray]

MAX_LETTERS: Final = 60
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
_WORD: Final = r"[^\W_]+(?:['’.-][^\W_]+)*"
_LINKS: Final = re.compile(
    r"\A(?:(?:and|but|so|now|well|because|then|okay|ok|also|again|actually|basically|honestly|yeah|in fact|"
    r"however|therefore|anyway|of course|you know|i mean)\b[,\s]+)+",
    re.IGNORECASE,
)
"""Words that link a sentence to what was said before."""
_SUBORDINATE: Final = re.compile(
    r"\W*(although|though|unlike|while|when|if|as|since|after|before|for|in|on|at|by|from|with|during|until|"
    r"it|this|that|these|they|he|she|there|here|let|or|to|you|maybe|perhaps|like|something|sometimes|who|"
    r"what|which|first|thanks|many thanks|(?!(?:spring|king|ring|morning|evening|nothing|something|"
    r"everything|anything|building|thing)\b)[^\W\d_]+ing|i (?:think|suppose|guess|just|want|know|believe|"
    r"would|mean)|we can|i['’]\w+|the (?:first|second|third|last|next|other|same|opposite|reason|answer|"
    r"result))\b",
    re.IGNORECASE,
)
"""Beginnings of English sentences whose first words say little by themselves."""
_UNNAMED: Final = re.compile(r"\b(it|they|them|he|him|she|this|these|those)\b", re.IGNORECASE)
"""English words for what was named elsewhere."""
_CLAUSE_END: Final = re.compile(
    r"[;–—]|,?\s(?=(?:because|although|though|when|while|until|since|but|so|"
    r"and (?:i|you|he|she|it|we|they|the|an?|my|our|your|not))\b)|,\s(?=(?:which|who|as|if|or)\b)",
    re.IGNORECASE,
)
"""Where a clause of an English sentence may end."""
_UNCLEAR_END: Final = re.compile(r"\b(that|here|there|so|this|it)\W*\Z", re.IGNORECASE)
"""Ends of questions about what was named elsewhere."""
_ENDS: Final = re.compile(
    r"\b(a|an|the|of|to|in|on|at|by|for|from|with|about|into|and|or|but|than|as|if|because|that|which|who|"
    r"when|where|what|why|how|am|is|are|was|were|be|been|being|become|becomes|became|seems?|has|have|had|do|"
    r"does|did|will|would|can|could|should|may|might|must|not|just|only|very|really|so|my|your|our|i|you|"
    r"we)\W*\Z",
    re.IGNORECASE,
)
"""Words that no clause of English ends with."""


def title_passages(
    passages: Sequence[Sequence[str]], embed: Embed, rest: Sequence[str] = (), *, is_english: bool = True
) -> list[str]:
    """Return a title for each passage, no two alike; empty for a passage without a good one.

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
        title = _question_of(sentences)
        if not title or _key_of(title) in taken:
            rows = embed(sentences)
            phrase = phrases.form(_best_phrase(phrases, total, taken, rows, embed))
            title = _capital(phrase) or _best_clause(sentences, rows, is_english=is_english)
        titles.append("" if _key_of(title) in taken else title)
    return titles


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
        if key not in taken and _is_telling(key, count) and len(phrases.form(key)) <= MAX_LETTERS
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


def _is_telling(key: str, here: int) -> bool:
    """Return whether a phrase of a passage may be a title: several words that are said again in it.

    Words of talking about anything make none alone.
    """
    words = key.split()
    is_about = bool({*words} - function_words() - _talk_words())
    return len(words) > 1 and here > 1 and is_about and _rarity(key) >= _LEAST_RARE


def _score(key: str, here: int, total: int) -> float:
    """Return how well the counts of a phrase set a passage apart."""
    return math.log1p(here) * math.sqrt(here / total) * (0.3 + _rarity(key))


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
        is_clear = not _UNCLEAR_END.search(question) and (number == 0 or not _UNNAMED.search(question))
        is_short = len(question.split()) >= _LEAST_WORDS[0] and len(question) <= MAX_LETTERS
        if _ASKS.match(question) and question.endswith("?") and is_short and is_clear:
            return _capital(question)
    return ""


def _best_clause(sentences: Sequence[str], rows: FloatArray, *, is_english: bool) -> str:
    """Return the clause that is a title, of the sentence most like its passage, whose sentences mean `rows`.

    Returns an empty text if no sentence begins with such a clause.
    """
    order = np.argsort(-(rows @ rows.mean(axis=0)), kind="stable")
    parts = [part for row in order for part in re.split(r"(?<=:)\s+", sentences[row].strip())]
    clauses = [_first_clause(_without_links(part), is_english=is_english) for part in parts]
    return next(map(_capital, filter(None, clauses)), "")


def _without_links(sentence: str) -> str:
    """Return a sentence without its first words if they link it to others; fragments stay in lower case."""
    plain = _LINKS.sub("", sentence, count=1)
    return _capital(plain) if sentence[:1].isupper() else plain


def _first_clause(sentence: str, *, is_english: bool) -> str:
    """Return the longest beginning of a sentence that is a whole clause and a short title, or an empty text.

    Of other languages, whole sentences and clauses before a dash or semicolon are known.
    """
    ends = [match.start() for match in _CLAUSE_END.finditer(sentence)]
    candidates = [sentence.rstrip(".。…,;: "), *(sentence[:end] for end in ends[::-1])]
    if is_english:
        candidates = [clause for clause in candidates if _is_clause(clause)]
    return next((text for text in candidates if re.search(r"\w", text) and len(text) <= MAX_LETTERS), "")


def _is_clause(text: str) -> bool:
    """Return whether the beginning of an English sentence stands alone: whole, with names and a capital."""
    first = text.lstrip("\"'“‘«¿¡(")[:1]
    is_plain = (first.isupper() or first.isdigit()) and not (
        _SUBORDINATE.match(text) or _UNNAMED.search(text)
    )
    return is_plain and not _ENDS.search(text) and len(text.split()) >= _LEAST_WORDS[1]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
