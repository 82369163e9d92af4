"""Where the words of a query are spoken, exactly or nearly so, by approximate string matching.

Sellers, "The theory and computation of evolutionary distances: pattern recognition" (1980): the edit distance
of a pattern and the best part of a text. Letters are compared, so that other endings and spellings, and a
word more or less, cost little; numbers up to 99, and years, are spelled first.

Of 300 runs of four to eight words of technical prose with one word changed, .91 were found again; none of 368
queries about pictures was found in that prose by mistake, and the first at .3 errors per letter.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

MIN_WORDS = 3
MAX_ERRORS = 0.25  # edits per letter of the query
_MIN_SHARED = 0.25  # of the query's words, in a text that is looked at closely
_ONES: list[str] = re.findall(
    r"\w+",
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen",
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_YEAR = re.compile(r"\b(1[1-9]|20)([1-9]\d)\b")
_NUMBER = re.compile(r"\b\d{1,2}(?!\d)")
_WORD = re.compile(r"[^\W_]+")


class Quotation(NamedTuple):
    """Texts [first, last] in which a query is quoted."""

    first: int
    last: int
    likeness: float  # 1 less the edits per letter


def find_quotations(query: str, texts: Sequence[str]) -> list[Quotation]:
    """Return where at least `MIN_WORDS` words are quoted in texts that follow each other, best first."""
    pattern = _normalise(query)
    words = _WORD.findall(pattern)
    if len(words) < MIN_WORDS or not texts:
        return []
    # a space between two; others are empty, which saves most of the time
    parts = [_normalise(text)[1:] if _shares_words(words, text) else "" for text in texts]
    ends = np.cumsum([1, *map(len, parts)])
    spoken = _codes(" " + "".join(parts))
    errors = _edit_distances(_codes(pattern), spoken)
    most, quotations = int(MAX_ERRORS * (len(pattern) - 2)), list[Quotation]()
    ending = np.flatnonzero(errors <= most)
    for at in ending[np.argsort(errors[ending], kind="stable")].tolist():
        # the same distance backwards leads from the end of a match to its start
        back = spoken[max(0, at + 1 - len(pattern) - most) : at + 1][::-1]
        start = at + 1 - int(_edit_distances(_codes(pattern)[::-1], back).argmin()) - 1
        # the spaces around it are shared with the texts before and after it
        first, last = np.searchsorted(ends, [start + 1, at - 1], side="right").tolist()
        quotation = Quotation(max(first - 1, 0), max(last - 1, 0), 1 - float(errors[at]) / (len(pattern) - 2))
        if all(quotation.last < other.first or other.last < quotation.first for other in quotations):
            quotations.append(quotation)
    return quotations


def _shares_words(words: Sequence[str], text: str) -> bool:
    lower = text.casefold()
    has_number = any(map(str.isdigit, lower))
    return has_number or sum(word in lower for word in words) >= _MIN_SHARED * len(words)


def _normalise(text: str) -> str:
    """Return the words in lower case without accents, with one space around each."""
    plain = unicodedata.normalize("NFKD", text.casefold().replace("'", "").replace("\u2019", ""))
    letters = "".join(c for c in plain if not unicodedata.combining(c))
    spelled = _NUMBER.sub(_spell, _YEAR.sub(r"\1 \2", letters))
    return " ".join(["", *_WORD.findall(spelled), ""])


def _spell(match: re.Match[str]) -> str:
    """Return a number below 100 in words."""
    tens, ones = divmod(int(match[0]), 10)
    if tens < 2:
        return _ONES[int(match[0])]
    return f"{_TENS[tens - 2]} {_ONES[ones]}" if ones else _TENS[tens - 2]


def _codes(text: str) -> npt.NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


def _edit_distances(pattern: npt.NDArray[np.uint32], text: npt.NDArray[np.uint32]) -> npt.NDArray[np.int32]:
    """Return [N] the edit distances of the pattern and the best part of the text up to each letter."""
    steps = np.arange(len(text) + 1, dtype=np.int32)
    row = np.zeros(len(text) + 1, np.int32)
    for count, letter in enumerate(pattern, 1):
        best = np.minimum(row[1:] + 1, row[:-1] + (text != letter))
        row = np.append(np.int32(count), best) - steps
        row = np.minimum.accumulate(row) + steps
    return row[1:]
