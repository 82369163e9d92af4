"""Subtitles to norm: the words of a transcript as cues that people can read.

Two lines of 42 letters, one to seven seconds, 17 letters a second, two frames between cues, and breaks where
phrases end: the usual rules of broadcasters. docs/transcribe.md has them.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise, starmap
from math import inf

from vidsum.times import escape_vtt, format_timestamp

LINE = 42
"""Letters in a line; a wide one, as of Chinese, counts as two."""
LEAST_S, MOST_S = 1.0, 7.0
PACE = 17.0
"""Letters that people read in a second."""
GAP_S = 0.084
"""Between two cues: two frames of 24 a second."""
LAG_S = 1.0
"""What is spoken quicker than `PACE` stays so long after its last word."""
_PAUSE_S = 1.0
"""No cue goes on after a pause of this length."""
_HOLE_S = 0.5
"""A shorter time without a cue would flash: the cue before it stays."""
_A_CUE, _A_LINE, _A_STOP, _TOO_LONG = 3.0, 1.0, 2.0, 1e6
"""Costs of a cue, a second line, a sentence that ends within a cue, and each letter too many in a line. A
letter that there is no time to read costs 1."""
_FEW = 20
"""Letters of a cue that is worth its time; each that lacks costs a fifth."""
_STOPS, _COMMAS = ".!?…。！？", ",;:—、，；："
_OPENERS = frozenset(
    re.findall(
        r"\w+",
        "and but or nor so yet because although though while when where which who whom whose that if unless "
        "until since after before as than in on at by for from with without within of to into onto through "
        "over under between among against during about across along around behind beside near towards upon",
    )
)
"""Words that begin a phrase: a break stands before them."""
_BOUND = frozenset(
    re.findall(
        r"[\w.]+",
        "a an the this these those my your his her its our their some any no every each is are was were be "
        "been am have has had will would shall should can could may might must do does did not very more "
        "most i you he she it we they mr. mrs. ms. dr. st.",
    )
)
"""Words that belong to the next one, as openers do: no break stands after them."""


@dataclass(frozen=True)
class CueWord:
    """A word with the blank ahead of it, if any, said over [start_s, end_s)."""

    start_s: float
    end_s: float
    text: str
    ends: bool = False
    """Whether a segment of the transcript ends with it."""


@dataclass(frozen=True)
class Subtitle:
    """A cue: one or two lines that are shown over [start_s, end_s)."""

    start_s: float
    end_s: float
    lines: tuple[tuple[CueWord, ...], ...]

    @property
    def text(self) -> str:
        """As it is shown."""
        return "\n".join(map(join_words, self.lines))

    def marked(self, *, with_times: bool) -> str:
        """As WebVTT writes it, with the time of each word that is said after another of the cue."""
        shown_s, lines = self.start_s, []
        for line in self.lines:
            words = []
            for piece in line:
                word = escape_vtt(piece.text.lstrip())
                if with_times and shown_s < (start_s := round(piece.start_s, 3)) < self.end_s:
                    shown_s, word = start_s, f"<{format_timestamp(start_s)}>{word}"
                words.append(piece.text[: -len(piece.text.lstrip())] + word)
            lines.append("".join(words).strip())
        return "\n".join(lines)


def make_cues(pieces: Sequence[CueWord], letters: int = LINE) -> list[Subtitle]:
    """Return words as cues, none left out, in order, in time order and apart by `GAP_S`.

    A line is longer than `letters` only if one word is. A cue lasts `LEAST_S` to `MOST_S`. It is quicker than
    `PACE` only where the speech is: it then stays for `LAG_S` after its last word, or until the next one.
    """
    text = _Measured.of(pieces, letters)
    cues = [(first, text.lines(first, end)[1], end) for first, end in pairwise(_cuts(text))]
    return _timed([tuple(tuple(pieces[a:b]) for a, b in pairwise(cue) if a < b) for cue in cues])


def display_width(text: str) -> int:
    """Return letters of a text, wide ones counted as two."""
    return len(text) + sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)


def join_words(pieces: Iterable[CueWord]) -> str:
    return "".join(piece.text for piece in pieces).strip()


@dataclass(frozen=True)
class _Measured:
    """Words with what their breaks cost."""

    pieces: Sequence[CueWord]
    letters: int
    """In a line."""
    ends: Sequence[int]
    """Letters up to the end of each word, from 0 letters on."""
    blanks: Sequence[int]
    """Blanks ahead of each word."""
    breaks: Sequence[float]
    """The cost of a break ahead of each word, and at the end."""

    @classmethod
    def of(cls, pieces: Sequence[CueWord], letters: int) -> "_Measured":
        blanks = [len(piece.text) - len(piece.text.lstrip()) for piece in pieces]
        ends = accumulate((display_width(piece.text) for piece in pieces), initial=0)
        breaks = [0.0, *starmap(_break_cost, pairwise(pieces)), 0.0]
        return cls(pieces, letters, list(ends), blanks, breaks)

    def width(self, first: int, end: int) -> int:
        """Return letters of words in one line."""
        return self.ends[end] - self.ends[first] - self.blanks[first]

    def lines(self, first: int, end: int) -> tuple[float, int]:
        """Return the cost of the best two lines, and where the second begins; or of one, with its end."""
        ways = [(_TOO_LONG * max(0, self.width(first, end) - self.letters), end)]
        for cut in range(first + 1, end):
            upper, lower = self.width(first, cut), self.width(cut, end)
            if max(upper, lower) <= self.letters:
                skew = abs(upper - lower) / 20 + (upper > lower) / 4
                ways.append((_A_LINE + skew + self.breaks[cut] / 3, cut))
        return min(ways)

    def cost(self, first: int, end: int) -> float:
        """Of a cue; infinite if it has no room in two lines and seven seconds, or goes on after a pause."""
        start_s, end_s = self.pieces[first].start_s, self.pieces[end - 1].end_s
        lines, _ = self.lines(first, end)
        if end > first + 1 and (lines >= _TOO_LONG or end_s - start_s > MOST_S or self._pauses(end - 1)):
            return inf
        until_s = self.pieces[end].start_s - GAP_S if end < len(self.pieces) else end_s + MOST_S
        room_s = min(max(until_s, end_s) - start_s, MOST_S)
        letters = self.width(first, end)
        late = max(letters - PACE * room_s, (LEAST_S - room_s) * PACE, 0.0)
        stops = sum(cost == 0 for cost in self.breaks[first + 1 : end])
        return _A_CUE + late + max(0, _FEW - letters) / 5 + self.breaks[end] + lines + _A_STOP * stops

    def _pauses(self, word: int) -> bool:
        return self.pieces[word].start_s - self.pieces[word - 1].end_s >= _PAUSE_S


def _cuts(text: _Measured) -> list[int]:
    """Return the cheapest way to cut words into cues: where each begins, and the end of the last."""
    count = len(text.pieces)
    best, before = [0.0, *[inf] * count], [0] * (count + 1)
    for first in range(count):
        for end in range(first + 1, count + 1):
            cost = best[first] + text.cost(first, end)
            if cost == inf:
                break
            if cost < best[end]:
                best[end], before[end] = cost, first
    cuts = [count]
    while cuts[-1]:
        cuts.append(before[cuts[-1]])
    return cuts[::-1]


def _break_cost(before: CueWord, after: CueWord) -> float:
    """How bad a break between two words is: nothing after a sentence, much inside a phrase."""
    last, following = before.text.strip().lower(), after.text.strip().lower()
    mark = last.rstrip("\"'»”’)")[-1:]
    if mark in _STOPS and last not in _BOUND:
        return 0.0
    if mark in _COMMAS or before.ends:
        return 1.0
    if last in _BOUND or last in _OPENERS:
        return 9.0
    return 2.0 if following in _OPENERS else 5.0


def _timed(cues: Sequence[tuple[tuple[CueWord, ...], ...]]) -> list[Subtitle]:
    """When cues of these lines are shown: from the first word on, for as long as there is room and need."""
    starts_s = [lines[0][0].start_s for lines in cues]
    subtitles, free_s = list[Subtitle](), 0.0
    for lines, first_s, following_s in zip(cues, starts_s, [*starts_s, inf][1:], strict=True):
        start_s, said_s = max(first_s, free_s), lines[-1][-1].end_s
        letters = display_width(join_words(chain(*lines)))
        end_s = max(start_s + letters / PACE, said_s)
        end_s = min(end_s, max(following_s - GAP_S, said_s + LAG_S))
        if GAP_S < following_s - end_s < _HOLE_S:
            end_s = following_s - GAP_S
        end_s = min(max(end_s, start_s + LEAST_S), start_s + MOST_S)
        subtitles.append(Subtitle(round(start_s, 3), round(end_s, 3), lines))
        free_s = end_s + GAP_S
    return subtitles
