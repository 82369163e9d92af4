"""Sentences, clauses and pauses of speech: one definition for all that cuts it (docs/algorithms/speech.md).

A sentence ends with a full stop, or ahead of a long pause; a clause with a pause or a comma. All functions
take words in order of time.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from math import inf
from typing import Final, Protocol

from vidsum.times import format_time

PAUSE_S: Final = 0.25  # silence between two words that ends a clause
LONG_PAUSE_S: Final = 1.5  # that ends a sentence
_REACH_S: Final = 3.0  # silence across which a sentence that is too short finds a neighbour
SHORTEST_S: Final = 2.0  # a shorter sentence or clause goes with a neighbour
LONGEST_S: Final = 15.0  # a longer sentence is split
_NEAR_S: Final = 0.1  # Whisper's times err by as much: an edge this near to a pause is at it
_ROUNDING_S: Final = 1e-6
_MAX_NAMED: Final = 3  # cuts that a warning names

_STOPS: Final = tuple(".!?…‥。．｡！？؟۔।॥။።෴։៕‽")
_COMMAS: Final = tuple(",;:—–、，､；：،؛፣፤၊")
_CLOSING: Final = "\"'”’»›)]}」』】）》〉"
_OPENING: Final = " \n\"'“‘«„‚‹([¿¡「『"
_TITLES: Final = frozenset(
    re.findall(
        r"\w+", "dr fr gen gov hr hon lt messrs mlle mme mr mrs ms mt nr prof rep rev sen sgt sr sra st vs"
    )
)  # abbreviations that a name or number follows
_ABBREVIATIONS: Final = frozenset(
    re.findall(r"\w+", "approx bzw ca co corp dept est etc inc ltd usw vol")
)  # that may end a sentence
_INITIALS: Final = re.compile(
    r"\w|(?:\w\.)+\w|\d{1,2}"
)  # ahead of a full stop: J., U.S., z.B., the 3. of May


class Timed(Protocol):
    """A word, or a text, that is said over [start_s, end_s)."""

    @property
    def start_s(self) -> float: ...

    @property
    def end_s(self) -> float: ...

    @property
    def text(self) -> str: ...


@dataclass(frozen=True)
class SpokenWord:
    """A word with any blank before it, said over [start_s, end_s)."""

    start_s: float
    end_s: float
    text: str
    certain: bool = True  # whether its segment is
    is_sentence: bool = False  # whether it stands for a text whose words have no times


class Edge(IntEnum):
    """The kinds of edges between two words, the best place for a cut first."""

    STOP = 0
    PAUSE = 1
    COMMA = 2
    NONE = 3


@dataclass(frozen=True)
class SpokenSentence:
    """A sentence, or a part of a long one, or short ones together: words that follow each other."""

    words: tuple[SpokenWord, ...]

    @property
    def start_s(self) -> float:
        return self.words[0].start_s

    @property
    def end_s(self) -> float:
        return self.words[-1].end_s

    @property
    def length_s(self) -> float:
        return self.end_s - self.start_s

    @property
    def text(self) -> str:
        return "".join(word.text for word in self.words).strip()

    @property
    def certain(self) -> float:
        """The fraction of its letters that is not in uncertain segments."""
        total = sum(len(word.text) for word in self.words)
        return sum(len(word.text) for word in self.words if word.certain) / max(total, 1)

    @property
    def certain_text(self) -> str:
        """Its words that are not in uncertain segments."""
        return "".join(word.text for word in self.words if word.certain).strip()


def is_stop(text: str) -> bool:
    """Return whether a text ends with a full stop, a question or an exclamation mark, in any script."""
    return text.rstrip().rstrip(_CLOSING).endswith(_STOPS)


def is_comma(text: str) -> bool:
    """Return whether a text ends with a comma, a semicolon, a colon or a dash, in any script."""
    return text.rstrip().rstrip(_CLOSING).endswith(_COMMAS)


def is_title(text: str) -> bool:
    """Return whether a word is an abbreviation that a name or number follows."""
    return text.rstrip().endswith(".") and text.strip(_OPENING + ".").lower() in _TITLES


def edge_between(word: Timed, after: Timed) -> Edge:
    """Return what lies between two words that follow each other.

    A dot after a title is no full stop. After initials, ordinals, abbreviations and dots it is one only ahead
    of a pause, and of no lower-case letter.
    """
    pause_s = after.start_s - word.end_s
    is_apart = pause_s >= PAUSE_S - _ROUNDING_S
    if pause_s > LONG_PAUSE_S or (is_stop(word.text) and not _goes_on(word.text, after.text, is_apart)):
        return Edge.STOP
    if is_apart:
        return Edge.PAUSE
    return Edge.COMMA if is_comma(word.text) else Edge.NONE


def _goes_on(text: str, following: str, is_apart: bool) -> bool:
    """Return whether the full stop at the end of a word is none, as far as simple rules can tell."""
    text = text.strip().lstrip(_OPENING).rstrip(_CLOSING)
    if not text.endswith((".", "…")):
        return False
    stem, is_lower = text[:-1], following.lstrip(_OPENING)[:1].islower()
    may_go_on = text.endswith(("..", "…")) or stem.lower() in _ABBREVIATIONS or _INITIALS.fullmatch(stem)
    return is_title(text) or (bool(may_go_on) and stem != "I" and (is_lower or not is_apart))


def _edge(word: SpokenWord, after: SpokenWord) -> Edge:
    return Edge.STOP if word.is_sentence else edge_between(word, after)


def split_sentences(
    words: Sequence[SpokenWord], longest_s: float = LONGEST_S, shortest_s: float = SHORTEST_S
) -> list[SpokenSentence]:
    """Return the sentences of speech, whose words are all of them, in order.

    One longer than `longest_s` is split at its longest pause; without a pause at a comma; without both at its
    longest gap between words; again until it is short enough. No part is shorter than `shortest_s`, and a
    shorter sentence goes with a neighbour within 3 s.
    """
    sentences, begun = list[SpokenSentence](), 0
    for end, (word, after) in enumerate(pairwise(words), 1):
        if _edge(word, after) is Edge.STOP:
            sentences += _split_long(words[begun:end], longest_s, shortest_s)
            begun = end
    return _join_short(
        [*sentences, *_split_long(words[begun:], longest_s, shortest_s)], longest_s, shortest_s
    )


def split_clauses(sentence: SpokenSentence, shortest_s: float = SHORTEST_S) -> list[SpokenSentence]:
    """Return the parts of a sentence between its pauses and commas, none shorter than `shortest_s`."""
    clauses = list[SpokenSentence]()
    begun = 0
    for end, (word, after) in enumerate(pairwise(sentence.words), 1):
        is_long = word.end_s - sentence.words[begun].start_s >= shortest_s - _ROUNDING_S
        if is_long and _edge(word, after) < Edge.NONE:
            clauses.append(SpokenSentence(sentence.words[begun:end]))
            begun = end
    last = SpokenSentence(sentence.words[begun:])
    if clauses and last.length_s < shortest_s - _ROUNDING_S:
        both = clauses.pop().words + last.words
        cut = _best_cut(both, shortest_s)
        is_split = cut is not None and _edge(both[cut - 1], both[cut]) < Edge.NONE
        return [
            *clauses,
            *(
                [SpokenSentence(both[:cut]), SpokenSentence(both[cut:])]
                if is_split
                else [SpokenSentence(both)]
            ),
        ]
    return [*clauses, last]


def _split_long(words: Sequence[SpokenWord], longest_s: float, shortest_s: float) -> list[SpokenSentence]:
    """Return a sentence, or the parts of one that is too long."""
    parts, waiting = list[SpokenSentence](), [tuple(words)] if words else []
    while waiting:
        part = waiting.pop()
        cut = _best_cut(part, shortest_s) if part[-1].end_s - part[0].start_s > longest_s else None
        if cut is None:
            parts.append(SpokenSentence(part))
        else:
            waiting += [part[cut:], part[:cut]]
    return parts


def _best_cut(words: Sequence[SpokenWord], shortest_s: float) -> int | None:
    """Return the number of words before the best edge inside a sentence; None where parts are too short."""
    start_s, end_s = words[0].start_s, words[-1].end_s

    def cost(cut: int) -> tuple[Edge, float, float]:
        before, after = words[cut - 1], words[cut]
        middle_s = abs(before.end_s + after.start_s - start_s - end_s)
        return _edge(before, after), before.end_s - after.start_s, middle_s

    cuts = (
        cut
        for cut in range(1, len(words))
        if words[cut - 1].end_s - start_s >= shortest_s and end_s - words[cut].start_s >= shortest_s
    )
    return min(cuts, key=cost, default=None)


def _join_short(
    sentences: Sequence[SpokenSentence], longest_s: float, shortest_s: float
) -> list[SpokenSentence]:
    """Return sentences, each that is too short with the neighbour across the shorter pause."""
    joined = list[SpokenSentence]()
    for sentence, after in zip(sentences, [*sentences, None][1:], strict=True):
        last_s = joined[-1].length_s if joined else inf
        pause_s = sentence.start_s - joined[-1].end_s if joined else inf
        next_s = after.start_s - sentence.end_s if after else inf
        fits = bool(joined) and sentence.end_s - joined[-1].start_s <= longest_s
        is_leftover = sentence.length_s < shortest_s and pause_s < next_s and (fits or next_s > _REACH_S)
        if pause_s <= _REACH_S and (last_s < shortest_s or is_leftover):
            joined[-1] = SpokenSentence(joined[-1].words + sentence.words)
        else:
            joined.append(sentence)
    whole = joined[:1]
    for sentence in joined[1:]:  # several that are too short even together
        if sentence.length_s < shortest_s and sentence.start_s - whole[-1].end_s <= _REACH_S:
            whole[-1] = SpokenSentence(whole[-1].words + sentence.words)
        else:
            whole.append(sentence)
    return whole


def cuts_inside_phrases(
    words: Sequence[SpokenWord], edges_s: Iterable[float], near_s: float = _NEAR_S
) -> list[float]:
    """Return which edges of segments, in seconds, lie at no full stop, pause or comma."""
    starts_s = [word.start_s for word in words]

    def is_between(edge_s: float, after: int) -> bool:
        low_s = words[after - 1].end_s if after > 0 else -inf
        high_s = starts_s[after] if after < len(words) else inf
        return low_s - near_s <= edge_s <= high_s + near_s and (
            after in (0, len(words)) or _edge(words[after - 1], words[after]) < Edge.NONE
        )

    inside = list[float]()
    for edge_s in sorted(set(edges_s)):
        first, last = bisect_left(starts_s, edge_s - near_s), bisect_right(starts_s, edge_s + near_s)
        places = range(first, last + 1)
        if not any(is_between(edge_s, place) for place in places):
            inside.append(edge_s)
    return inside


def describe_cuts(edges_s: Sequence[float], offset_s: float = 0.0) -> tuple[str, ...]:
    """Return a warning of cuts at no full stop, pause or comma; `offset_s` leads to player time."""
    if not edges_s:
        return ()
    named = ", ".join(format_time(edge_s + offset_s) for edge_s in edges_s[:_MAX_NAMED])
    more = f" and {len(edges_s) - _MAX_NAMED} more" if len(edges_s) > _MAX_NAMED else ""
    return (f"speech is cut between words at {named}{more}: no full stop, pause or comma is near enough",)
