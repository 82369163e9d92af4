"""Content words: the words of a text that may name its subject, by their first letters."""

import re
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Final

from vidsum.speech.script import NO_BLANKS

_LETTERS: Final = 4  # of a word that counts, at least
_STEM: Final = 5  # first letters by which words are compared: plurals and tenses count as one


def content_words(text: str) -> frozenset[str]:
    """Return the beginnings of the words of a text that are long enough, and no English stop words."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return frozenset(
        word[:_STEM]
        for word in all_words(text)
        if (len(word) >= _LETTERS or NO_BLANKS.search(word)) and word not in ENGLISH_STOP_WORDS
    )


def all_words(text: str) -> list[str]:
    """Return the words of a text; of scripts without blanks between them, all pairs of letters."""
    words = list[str]()
    for word in re.findall(r"\w+", text.lower()):
        words += map("".join, pairwise(word)) if NO_BLANKS.search(word) else [word]
    return words


def union(words: Sequence[Collection[str]]) -> set[str]:
    """Return the words that are in any of some collections."""
    return set[str]().union(*words)
