"""Text on the screen as evidence: where the words of a query are written, or what is meant by them.

Exact words come first, then words with small differences, as from a misread letter, then lines whose meaning
is near. docs/algorithms/screen_text.md explains the rules.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import chain
from typing import Self

import numpy as np

from vidsum.evidence.passages import (
    EncodedPassages,
    encode_passages,
    rank_passages,
    to_probabilities,
    unpack_passages,
)
from vidsum.evidence.protocol import Found, Packed, Passage, TextQuery
from vidsum.grounding.proposals import MAX_IOU, suppress
from vidsum.results.moments import Moment
from vidsum.results.screen_text import Screen, ScreenLine, ScreenText

_WORD = re.compile(r"[^\W_]+")
_THOUSANDS = re.compile(r"(?<=\d)[,.'’](?=\d{3}(?!\d))")
_WIDE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")  # scripts without blanks between words

# Numbers of the rules; set by hand, not tuned.
_PHRASE = 0.98  # probability of a query whose words are on the screen in their order
_WORDS = 0.9  # of one whose words are there in another order, or in several lines
_NEAR = 0.8  # of one whose words are nearly there, times their likeness
_MIN_LIKENESS = 0.8  # of two words, from 0 to 1; words of up to three letters must be equal
_MIN_LETTERS = 4  # a text with fewer has no meaning of its own
OTHER_NUMBER = 0.4  # at most, of lines that are near in meaning but lack a number of the query


@dataclass(frozen=True)
class WordsFound:
    """A query that is written in some lines."""

    start_s: float
    end_s: float
    present: float
    text: str
    is_exact: bool = True  # whether all words are there, with no difference in spelling


def find_written(query: str, text: ScreenText) -> list[WordsFound]:
    """Return where the words of a query are written: exactly, likeliest first, then with differences."""
    wanted = split_words(query)
    if not wanted:
        return []
    spans = dict[tuple[float, float], WordsFound]()
    for screen in text.screens():
        if written := _match(wanted, screen):
            span = written.start_s, written.end_s
            spans[span] = max(spans.get(span, written), written, key=lambda part: part.present)
    return sorted(spans.values(), key=lambda part: (not part.is_exact, -part.present, part.start_s))


def split_words(text: str) -> list[str]:
    """Return the words in lower case without accents; single letters of scripts without blanks.

    Numbers are without separators: "$1,250,000" is "1250000".
    """
    plain = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return _WORD.findall(_WIDE.sub(r" \g<0> ", _THOUSANDS.sub("", plain)))


def _match(wanted: Sequence[str], screen: Screen) -> WordsFound | None:
    """Return the lines of a screen that hold the words: one line, or as many as are needed."""
    words = [split_words(line.text) for line in screen.lines]
    best: WordsFound | None = None
    for line, line_words in zip(screen.lines, words, strict=True):
        likeness = _likeness(wanted, line_words)
        present = _probability(likeness, is_phrase=_holds(line_words, wanted))
        if present and (best is None or present > best.present):
            best = _written([line], present, is_exact=likeness == 1)
    if best:
        return best
    likeness = _likeness(wanted, list(chain(*words)))
    present = _probability(likeness, is_phrase=False)
    used = [
        line
        for line, line_words in zip(screen.lines, words, strict=True)
        if any(_word_likeness(word, other) for word in wanted for other in line_words)
    ]
    return _written(used, present, is_exact=likeness == 1) if present else None


def _written(lines: Sequence[ScreenLine], present: float, *, is_exact: bool) -> WordsFound:
    start_s, end_s = max(line.start_s for line in lines), min(line.end_s for line in lines)
    sure = min(line.confidence for line in lines)
    return WordsFound(
        start_s, end_s, round(present * sure, 4), "\n".join(line.text for line in lines), is_exact
    )


def _probability(likeness: float, *, is_phrase: bool) -> float:
    if likeness < 1:
        return _NEAR * likeness
    return _PHRASE if is_phrase else _WORDS


def _holds(words: Sequence[str], wanted: Sequence[str]) -> bool:
    return f" {' '.join(wanted)} " in f" {' '.join(words)} "


def _likeness(wanted: Sequence[str], words: Sequence[str]) -> float:
    """Return the mean likeness of wanted words to the nearest ones; 0 where one has none."""
    nearest = [max((_word_likeness(word, other) for other in words), default=0.0) for word in wanted]
    return float(np.mean(nearest)) if all(nearest) else 0.0


@lru_cache(maxsize=100_000)
def _word_likeness(word: str, other: str) -> float:
    if word == other:
        return 1.0
    if min(len(word), len(other)) <= 3 or any(map(str.isdigit, word + other)):
        return 0.0
    likeness = SequenceMatcher(None, word, other, autojunk=False).ratio()
    return likeness if likeness >= _MIN_LIKENESS else 0.0


def to_passages(text: ScreenText) -> list[Passage]:
    """Return the texts that have a meaning: lines, and screens of several."""

    def parts() -> Iterator[Passage]:
        for line in text.lines:
            yield Passage(line.start_s, line.end_s, line.text, certain=line.confidence)
        for screen in text.screens():
            if len(screen.lines) > 1:
                words = screen.text.replace("\n", " ")
                yield Passage(screen.start_s, screen.end_s, words, n_sentences=len(screen.lines))

    return [part for part in parts() if sum(map(str.isalpha, part.text)) >= _MIN_LETTERS]


@dataclass(frozen=True, eq=False)
class Written:
    """Text on the screen of a video, and the texts of it that have a meaning."""

    text: ScreenText
    passages: EncodedPassages  # of `to_passages`

    @classmethod
    def of(cls, text: ScreenText) -> Self:
        """Return the text of a screen. Raises WeightsError: the text encoder is unavailable."""
        # lines of a moment in the order in which an archive returns them
        lines = tuple(sorted(text.lines, key=lambda line: (line.start_s, line.end_s)))
        text = replace(text, lines=lines)
        return cls(text, encode_passages(to_passages(text)))

    def search(self, query: TextQuery, most: int) -> list[Found]:
        """Return the moments of a query: where its words are written, then where its meaning is.

        The score is the probability, `present`, and 1 more where the words are written, so that nothing else
        comes before them; exact words are quoted.
        """
        candidates = list(self._iter_found(query))
        texts = {id(moment): text for moment, text in candidates}
        listed = suppress((moment for moment, _ in candidates), MAX_IOU, most)
        return [Found(moment, texts[id(moment)]) for moment in listed]

    def _iter_found(self, query: TextQuery) -> Iterator[Found]:
        """Yield moments, best first, without screens inside better ones: these hold what was found."""
        written = find_written(query.text, self.text)
        better = [Passage(part.start_s, part.end_s, part.text) for part in written]
        for part in written:
            score, present = 1 + part.present, part.present
            moment = Moment(part.start_s, part.end_s, score, "text", present, is_quoted=part.is_exact)
            yield Found(moment, part.text)
        for passage, present in _by_meaning(query, self.passages):
            if passage.n_sentences == 1 or not any(other.holds(passage) for other in better):
                better.append(passage)
                moment = Moment(passage.start_s, passage.end_s, present, "text", present)
                yield Found(moment, passage.text)

    def pack(self) -> Packed:
        lines = [
            Passage(line.start_s, line.end_s, line.text, certain=line.confidence) for line in self.text.lines
        ]
        return Packed(self.passages.pack(), lines)

    @classmethod
    def of_lines(cls, lines: Sequence[Passage], duration_s: float = 0.0) -> Self:
        """Return the text of lines, whose places are not known. Raises WeightsError, see `of`."""
        return cls.of(_to_screen_text(lines, duration_s))

    @classmethod
    def unpack(cls, packed: Packed, duration_s: float) -> Self:
        text = _to_screen_text(packed.passages, duration_s)
        return cls(text, unpack_passages(to_passages(text), packed.records))

    @classmethod
    def rank(cls, records: bytes, query: TextQuery) -> float | None:
        return rank_passages(records, query)


def _to_screen_text(lines: Sequence[Passage], duration_s: float) -> ScreenText:
    box = (0.0, 0.0, 1.0, 1.0)
    placed = (ScreenLine(line.start_s, line.end_s, line.text, line.certain, box) for line in lines)
    return ScreenText(tuple(placed), duration_s, 0)


def _by_meaning(query: TextQuery, encoded: EncodedPassages) -> Iterator[tuple[Passage, float]]:
    """Yield passages with their probabilities, best first."""
    if not encoded.passages:
        return
    evidence = encoded.score(query)
    probable = to_probabilities(evidence)
    numbers = {word for word in split_words(query.text) if any(map(str.isdigit, word))}
    if numbers:  # "room 204" is no answer to "room 205", near as the sentences are
        lacks = [not numbers.issubset(split_words(passage.text)) for passage in encoded.passages]
        probable = np.where(lacks, np.minimum(probable, OTHER_NUMBER), probable)
    for number in np.lexsort((-evidence, -probable)).tolist():
        yield encoded.passages[number], float(probable[number])
