"""Noun phrases of English sentences, by their function words: no tagger is needed for those that are clear.

A phrase follows a determiner or a preposition, or begins a clause, and ends before a word that cannot be a
part of it. Doubtful ones are left out: a fragment is worse than no phrase.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from itertools import pairwise
from typing import Final

MAX_WORDS: Final = 4  # between two function words
_WORD: Final = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_CLAUSE: Final = re.compile(r"[.,;:!?()\[\]\"“”…—–]+(?=\s|$)|(?<=\s)[(\[\"“—–]|[\"“”]")
_ARTICLES: Final = frozenset(("a", "an", "the"))
_LEADING: Final = frozenset(
    re.findall(
        r"[\w']+",
        "a an the my our your their his its her every each some any no many several most few all both "
        "of in on at by for from with without within into onto through over under between among against "
        "about across along around behind near towards toward upon like than during beyond "
        "phrase good great nice little big whole certain various actual real different same entire other",
    )
)
"""Words that a noun phrase follows: determiners, prepositions, and words that say little."""
_AFTER_VERBS: Final = frozenset(
    re.findall(
        r"[\w']+",
        "a an the my our your their his its her this these us me him them it everything nothing something "
        "anything everybody nobody how what why whether if not down up out off away back",
    )
)
"""Words that no noun is directly followed by: what stands before them is likely to be a verb."""
_AUXILIARIES: Final = frozenset(
    re.findall(
        r"[\w']+", "is are was were has have had can could will would should must may might do does did"
    )
)
_NO_NOUN: Final = re.compile(r".*(ly|[cgmnp][iu]lar|ful|ous|able|ible|less|ed|'s|’s|n't|n’t|'re|'ve|'ll)")


def find_phrases(sentence: str) -> Iterator[str]:
    """Yield the noun phrases of an English sentence, each alone, and chains of them that `of` joins.

    None ends before `of`, as "the middle" of "the middle of the century".
    """
    for clause in filter(None, _CLAUSE.split(sentence)):
        words = _WORD.findall(clause)
        for chain in _chains(words, list(_runs(words))):
            if [word.lower() for word in words[chain[-1][1] : chain[-1][1] + 1]] == ["of"]:
                continue
            for number, (first, _) in enumerate(chain):
                is_alone = number + 1 == len(chain)
                has_article = not is_alone and first and words[first - 1].lower() == "the"
                yield " ".join(words[first - bool(has_article) : chain[-1][1]])


def _chains(words: Sequence[str], runs: Sequence[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Return runs of words in groups that `of`, maybe with an article, joins."""
    chains = list[list[tuple[int, int]]]()
    for first, end in runs:
        between = [word.lower() for word in words[chains[-1][-1][1] : first]] if chains else []
        if between[:1] == ["of"] and (not between[1:] or between[1:] in (["a"], ["an"], ["the"])):
            chains[-1].append((first, end))
        else:
            chains.append([(first, end)])
    return chains


def _runs(words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield where the noun phrases of a clause begin and end, without determiners."""
    lower = [word.lower().replace("’", "'") for word in words]
    is_part = [_is_part(word) for word in lower]
    first = 0
    while first < len(words):
        end = first
        while end < len(words) and is_part[end]:
            end += 1
        if end > first and _is_clear(lower, first, end):
            yield first, end
        first = max(end, first + 1)


def _is_clear(words: Sequence[str], first: int, end: int) -> bool:
    """Return whether words in [first, end) are a noun phrase without doubt."""
    following = words[end] if end < len(words) else ""
    ends_well = not _NO_NOUN.fullmatch(words[end - 1]) and following not in _AFTER_VERBS
    follows = words[first - 1] in _LEADING if first else following in _AUXILIARIES or is_verb(following)
    is_gerund = words[first].endswith("ing") and end - first == 1 and words[first - 1] not in ("of", "the")
    is_doing = following == "to" and end - first > 1 and re.fullmatch(r".*[^siu]s", words[end - 1])
    is_clause = any(noun.endswith("s") and verb.endswith("ed") for noun, verb in pairwise(words[first:end]))
    return ends_well and follows and end - first <= MAX_WORDS and not (is_gerund or is_doing or is_clause)


def _is_part(word: str) -> bool:
    """Return whether a word may be a part of a noun phrase."""
    is_adverb = word.endswith("ly") and len(word) > 5
    stem, apostrophe, ending = word.partition("'")
    is_whole = not apostrophe or (ending == "s" and stem not in ("let", "here"))
    is_word = len(word) > 1 and word[0].isalpha() and is_whole and not is_adverb
    return is_word and stem not in function_words() and not is_verb(word)


@cache
def function_words() -> frozenset[str]:
    """Return English words that are no part of a noun phrase."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    more = "one ones closer better worse further today tomorrow yesterday ago soon later early else okay yeah"
    return frozenset(ENGLISH_STOP_WORDS) | _LEADING | _AFTER_VERBS | _AUXILIARIES | frozenset(more.split())


@cache
def _verbs() -> frozenset[str]:
    lines = resources.files("vidsum.description").joinpath("verbs.txt").read_text("utf-8").splitlines()
    return frozenset(" ".join(lines[1:]).split())


def is_verb(word: str) -> bool:
    """Return whether a word is a form of a verb that is rarely a noun."""
    stems = {word, re.sub(r"s$", "", word), re.sub(r"es$", "", word), re.sub(r"ies$", "y", word)}
    stems |= {re.sub(r"e?d$", "", word), re.sub(r"d$", "", word), re.sub(r"ied$", "y", word)}
    return not stems.isdisjoint(_verbs())
