"""Housekeeping of speech: greetings, introductions, advertisements and farewells, not its subject."""

import re
from collections.abc import Sequence
from typing import Final

from vidsum.results.sentences import SpokenSentence

_CEREMONY: Final = re.compile(
    r"\b(thank you|thanks|welcome|good (morning|afternoon|evening)|my name is|hello|goodbye|see you|"
    r"subscribe|(my|our) guests? (today|is|are)|joined by|conversation with|talking (with|to) \w+ today|"
    r"today,? we['’]re talking|(show|episode) notes|your questions|(next|last) question|question (over there|"
    r"from the))\b",
    re.IGNORECASE,
)
"""English words of greetings, introductions and farewells."""
_ADVERTISES: Final = re.compile(
    r"\b(brought to you by|sponsored by|(our|today['’]s) sponsors?|promo code|"
    r"(at|to|visit|out) \S+\.(com|org|net|io|co)\b)",
    re.IGNORECASE,
)
"""English words of advertisements, and addresses to go to."""
_AROUND_S: Final = 20.0  # of an advertisement, on both sides of these words


def is_housekeeping(sentences: Sequence[SpokenSentence]) -> list[bool]:
    """Return whether sentences greet, introduce, thank, or lie in an advertisement."""
    adverts = [sentence for sentence in sentences if _ADVERTISES.search(sentence.text)]
    return [
        bool(_CEREMONY.search(sentence.text))
        or any(
            advert.start_s - sentence.end_s < _AROUND_S and sentence.start_s - advert.end_s < _AROUND_S
            for advert in adverts
        )
        for sentence in sentences
    ]
