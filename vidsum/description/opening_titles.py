"""Titles of passages that stand by themselves, from the words they begin with.

Such a passage begins with its subject, so its first sentence, or the question in it, says what it is about.
A long sentence ends at a clause, or else with an ellipsis.
"""

import re
from collections.abc import Sequence
from typing import Final

MAX_LETTERS: Final = 70
_LEAST_WORDS: Final = 3  # of a title
_SEARCHED: Final = 2  # sentences in which a question is looked for
_LINKS: Final = re.compile(
    r"\A(?:(?:and|but|so|now|well|because|then|okay|ok|oh|also|again|actually|basically|honestly|yeah|in "
    r"fact|however|therefore|anyway|of course|you know|i mean|i think|i guess|um|uh|like)\b[,\s]+)+",
    re.IGNORECASE,
)
"""Words that link a sentence to what was said before, or put it off."""
_CLAUSE_END: Final = re.compile(
    r"[;:–—]|,?\s(?=(?:because|although|though|until|since|but|so|and (?:i|you|he|she|it|we|they|there|then|"
    r"the|an?|my|our|your|not))\b)|,\s(?=(?:which|who|as|if|or|where)\b)",
    re.IGNORECASE,
)
"""Where a clause of an English sentence may end."""
_SUBORDINATE: Final = re.compile(
    r"(although|though|while|when|whenever|if|as|since|after|before|because|once|even)\b", re.IGNORECASE
)
_ENDS: Final = re.compile(
    r"[\s,]+(a|an|the|of|to|in|on|at|by|for|from|with|about|into|and|or|but|than|as|if|because|that|which|"
    r"who|when|where|what|why|how|is|are|was|were|be|been|my|your|our|their|his|her|its|i|you|we|they|he|she|"
    r"it|just|very|really|so|like|not|will|would|can|could|this|these|those|some|any|maybe|there)\Z",
    re.IGNORECASE,
)
"""Words with which nothing ends."""


def title_of(sentences: Sequence[str]) -> str:
    """Return a title for a passage of one sentence or more."""
    opened = [_without_links(sentence) for sentence in sentences]
    questions = (text for text in opened[:_SEARCHED] if text.endswith(("?", "？")) and _is_title(text))
    return next(questions, "") or _statement(opened[0])


def _statement(sentence: str) -> str:
    """Return a sentence without its full stop, or its longest short clause, or its first words."""
    whole = sentence.rstrip(".。…,;: ")
    ends = [match.start() for match in _CLAUSE_END.finditer(whole)]
    clauses = [] if _SUBORDINATE.match(whole) else [_closed(whole[:end].rstrip(", ")) for end in ends[::-1]]
    for text in [whole, *clauses]:
        if _is_title(text) and not _ENDS.search(text):
            return text
    return _first_words(whole)


def _first_words(text: str) -> str:
    """Return as many first words as fit, and an ellipsis."""
    if len(text) <= MAX_LETTERS:
        return text
    short = text[:MAX_LETTERS].rsplit(" ", 1)[0]
    while match := _ENDS.search(short):
        short = short[: match.start()]
    return _closed(short.rstrip(",;:–— ") + " …")


def _closed(text: str) -> str:
    """Return a text whose quotation ends with it."""
    return text + '"' if text.count('"') % 2 else text


def _is_title(text: str) -> bool:
    return len(text.split()) >= _LEAST_WORDS and len(text) <= MAX_LETTERS


def _without_links(sentence: str) -> str:
    plain = _LINKS.sub("", sentence.strip(), count=1) or sentence.strip()
    return plain[:1].upper() + plain[1:]
