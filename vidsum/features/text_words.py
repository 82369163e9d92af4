"""The letters of a line as words with places; what is no word is left out."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import numpy as np

from vidsum.features.text_boxes import Quad
from vidsum.features.text_networks import Letter
from vidsum.results.screen_text import Box, ScreenWord

SURE: Final = 0.9  # of a line that needs no other look, or whose letters do not stand upright
_MIN_LETTER: Final = 0.6  # of each letter of such a line
_EDGE: Final = 0.015  # of the picture's sides, within which the end of such a line may be cut
_NOTES: Final = frozenset("♩♪♫♬∫βJSs5月『』")  # notes of music, and the letters that they are read as
_MAX_NOTES: Final = 2  # in a row
_WIDE: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")  # scripts without blanks


@dataclass(frozen=True, eq=False)
class Reading:
    """The letters of a line, and the corners of its box from the one at which they begin."""

    letters: Sequence[Letter]
    corners: Quad
    is_upright: bool = True

    @property
    def text(self) -> str:
        return " ".join("".join(letter.text for letter in self.letters).split())

    @property
    def confidence(self) -> float:
        """The mean over the letters; 0 without any."""
        return float(np.mean([letter.confidence for letter in self.letters])) if self.letters else 0.0


def without_unsure(reading: Reading, width: int, height: int) -> Reading:
    """Leave out words with a letter that is not sure, and those that a side of the picture cuts."""
    words = list[list[Letter]]()
    for is_blank, group in groupby(reading.letters, key=lambda letter: letter.text.isspace()):
        words += [] if is_blank else [list(group)]
    ends = [reading.corners[[n, 3 - n]].mean(axis=0) / (width, height) for n in (0, 1)]
    is_cut = [bool((np.minimum(end, 1 - end) < _EDGE).any()) for end in ends]
    words = words[is_cut[0] : len(words) - is_cut[1]]
    sure = [word for word in words if min(letter.confidence for letter in word) >= _MIN_LETTER]
    letters = [letter for word in sure for letter in (*word, Letter(" ", 1.0, word[-1].place))][:-1]
    return Reading(letters, reading.corners, reading.is_upright)


def is_foreign(letter: str) -> bool:
    """Return whether a letter is of a script of which the network knows the letters of formulas alone."""
    return letter.isalpha() and not is_wide(letter) and not unicodedata.name(letter, "").startswith("LATIN")


def without_notes(reading: Reading) -> Reading:
    """Leave out notes of music at the ends of a line, which are read as other letters.

    Letters that stand alone at both ends are notes; at one end, if the network is unsure of them.
    """
    letters = list(reading.letters)
    ends = [_count_notes(letters), _count_notes(letters[::-1])]
    if sum(ends) >= len(letters):
        return reading
    parts = [letters[: ends[0]], letters[len(letters) - ends[1] :]]
    is_song = all(ends)
    first, last = (
        end if is_song or any(letter.confidence < SURE for letter in part) else 0
        for end, part in zip(ends, parts, strict=True)
    )
    return Reading(letters[first : len(letters) - last], reading.corners, reading.is_upright)


def _count_notes(letters: Sequence[Letter]) -> int:
    """Return how many letters at the start may be notes: one or two, and a blank or another script."""
    count = next((n for n, letter in enumerate(letters) if letter.text not in _NOTES), len(letters))
    if not 0 < count <= _MAX_NOTES or count == len(letters):
        return 0
    follows = letters[count].text
    is_apart = follows.isspace() or not letters[count - 1].text.isascii()
    return count if is_apart else 0


def split_words(reading: Reading, width: int, height: int) -> tuple[ScreenWord, ...]:
    """Return the words of a line; letters of scripts without blanks are words of their own."""
    groups = list[list[Letter]]([])
    is_open = False
    for letter in reading.letters:
        if letter.text.isspace():
            is_open = False
        elif is_wide(letter.text) or not is_open:
            groups.append([letter])
            is_open = not is_wide(letter.text)
        else:
            groups[-1].append(letter)
    places = [letter.place for letter in reading.letters]
    half = 0.5 * float(np.median(np.diff(places))) if len(places) > 1 else 0.5
    return tuple(
        ScreenWord(
            "".join(letter.text for letter in group),
            rounded(float(np.mean([letter.confidence for letter in group]))),
            to_box(_part(reading.corners, group[0].place - half, group[-1].place + half), width, height),
        )
        for group in groups
    )


def is_wide(letter: str) -> bool:
    """Return whether a letter is of a script without blanks between words, as Chinese."""
    return (
        "\u3040" <= letter[0] <= "\u30ff"
        or "\u3400" <= letter[0] <= "\u9fff"
        or "\uac00" <= letter[0] <= "\ud7af"
    )


def _part(corners: Quad, start: float, end: float) -> Quad:
    """Return the corners of a box between two fractions of its length."""
    start, end = max(start, 0.0), min(end, 1.0)
    top, bottom = corners[1] - corners[0], corners[2] - corners[3]
    return np.array(
        [
            corners[0] + start * top,
            corners[0] + end * top,
            corners[3] + end * bottom,
            corners[3] + start * bottom,
        ]
    )


def to_box(corners: Quad, width: int, height: int) -> Box:
    points = np.clip(np.asarray(corners, np.float64) / (width, height), 0, 1)
    (left, top), (right, bottom) = points.min(axis=0).round(4).tolist(), points.max(axis=0).round(4).tolist()
    return left, top, right, bottom


def rounded(score: float) -> float:
    return round(score, 4)
