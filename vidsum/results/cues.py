"""Subtitles to norm: the words of a transcript as cues that people can read (docs/transcribe.md).

Two lines of 42 letters, one to seven seconds, 17 letters a second, two frames between cues, and breaks where
phrases end.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise, starmap
from math import inf

from vidsum.results.sentences import Edge, edge_between, is_title
from vidsum.times import escape_vtt, format_timestamp

_BEFORE = """and but or nor so yet because although though while when where which who whom whose that if
unless until since after before as than in on at by for from with without within of to into onto through over
under between among against during about across along around behind beside near towards upon"""
_OPENERS = frozenset(_BEFORE.split())  # words that begin a phrase: a break stands before them
_NOT_AFTER = """a an the this these those my your his her its our their some any no every each is are was were
be been am have has had will would shall should can could may might must do does did not very more most i
you he she it we they"""
_OBJECTS = frozenset(("you", "it"))  # that may end a phrase too, ahead of a word that begins another
_BOUND = frozenset(_NOT_AFTER.split())  # words that belong to the next one: no break stands after them


@dataclass(frozen=True)
class CueRules:
    """The limits of cues and the costs of breaking them; docs/transcribe.md has the reasons."""

    line_letters: int = 42  # letters in a line; a wide one, as of Chinese, counts as two
    min_s: float = 1.0
    max_s: float = 7.0
    letters_per_s: float = 17.0  # reading speed
    gap_s: float = 0.084  # between two cues: two frames of 24 a second
    lag_s: float = 1.0  # a cue that is spoken quicker than people read stays this long after its last word
    pause_s: float = 1.0  # a pause of this length ends a cue
    flash_s: float = 0.5  # a shorter time without a cue would flash: the earlier cue stays
    min_letters: int = 20  # letters of a cue that is worth its time; each missing one costs a fifth
    cue_cost: float = 3.0
    second_line_cost: float = 1.0
    inner_stop_cost: float = 2.0  # cost of a sentence that ends within a cue
    torn_cost: float = 15.0  # in addition, if the cue has a part of another sentence; of a line a third
    overflow_cost: float = 1e6  # of each letter too many in a line; one too quick to read costs 1


RULES = CueRules()
_NOTE_S = 3.0  # longest time on screen of a note on a sound


@dataclass(frozen=True)
class CueWord:
    """A word with any blank before it, said over [start_s, end_s)."""

    start_s: float
    end_s: float
    text: str
    ends: bool = False  # whether a segment of the transcript ends with it
    ends_cue: bool = False  # whether its cue must end with it: a summary is cut there


@dataclass(frozen=True)
class Subtitle:
    """A cue of one or two lines, shown over [start_s, end_s)."""

    start_s: float
    end_s: float
    lines: tuple[tuple[CueWord, ...], ...]

    @property
    def text(self) -> str:
        return "\n".join(map(join_words, self.lines))

    def to_vtt(self, *, with_times: bool) -> str:
        """Return its WebVTT; `with_times` adds the time of each word that begins after another."""
        last_s, lines = self.start_s, []
        for line in self.lines:
            words = []
            for piece in line:
                word = escape_vtt(piece.text.lstrip())
                if with_times and last_s < (start_s := round(piece.start_s, 3)) < self.end_s:
                    last_s, word = start_s, f"<{format_timestamp(start_s)}>{word}"
                words.append(piece.text[: -len(piece.text.lstrip())] + word)
            lines.append("".join(words).strip())
        return "\n".join(lines)


def add_notes(cues: Sequence[Subtitle], notes: Sequence[tuple[float, float, str]]) -> list[Subtitle]:
    """Return cues with notes (start_s, end_s, text), each in the first gap that is long enough."""
    noted = [*cues]
    for start_s, end_s, text in notes:
        for free_s, until_s in _gaps(noted, start_s, end_s):
            if until_s - free_s >= RULES.min_s:
                word = CueWord(free_s, min(until_s, free_s + _NOTE_S), text)
                noted = sorted(
                    [*noted, Subtitle(word.start_s, word.end_s, ((word,),))], key=lambda cue: cue.start_s
                )
                break
    return noted


def _gaps(cues: Sequence[Subtitle], start_s: float, end_s: float) -> Iterator[tuple[float, float]]:
    """Yield the parts of [start_s, end_s) in which no cue is shown, without the time between two cues."""
    for cue in cues:
        if start_s < min(cue.start_s - RULES.gap_s, end_s):
            yield start_s, min(cue.start_s - RULES.gap_s, end_s)
        start_s = max(start_s, cue.end_s + RULES.gap_s)
    if start_s < end_s:
        yield start_s, end_s


def make_cues(pieces: Sequence[CueWord], letters: int = RULES.line_letters) -> list[Subtitle]:
    """Return words as cues, none left out, in time order and apart by the gap.

    A line is longer than `letters` only if one word is. A cue lasts 1 to 7 s. It is too quick to read only
    where the speech is: it then stays a second after its last word, or until the next cue.
    """
    text = _MeasuredText.of(pieces, letters)
    cues = [(first, text.lines(first, end)[1], end) for first, end in pairwise(_best_cuts(text))]
    return _time([tuple(tuple(pieces[a:b]) for a, b in pairwise(cue) if a < b) for cue in cues])


def display_width(text: str) -> int:
    """Return letters of a text, wide ones counted as two."""
    return len(text) + sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)


def join_words(pieces: Iterable[CueWord]) -> str:
    """Return words as one text."""
    return "".join(piece.text for piece in pieces).strip()


@dataclass(frozen=True)
class _MeasuredText:
    """Words with what their breaks cost."""

    pieces: Sequence[CueWord]
    letters: int  # in a line
    ends: Sequence[int]  # letters up to the end of each word, from 0 letters on
    blanks: Sequence[int]  # blanks ahead of each word
    breaks: Sequence[float]  # the cost of a break ahead of each word, and at the end
    stops: Sequence[int]  # sentences that end before each word, and in all

    @classmethod
    def of(cls, pieces: Sequence[CueWord], letters: int) -> "_MeasuredText":
        blanks = [len(piece.text) - len(piece.text.lstrip()) for piece in pieces]
        ends = accumulate((display_width(piece.text) for piece in pieces), initial=0)
        breaks = [0.0, *starmap(_break_cost, pairwise(pieces)), 0.0]
        stops = list(accumulate((cost == 0 for cost in breaks), initial=0))
        return cls(pieces, letters, list(ends), blanks, breaks, stops)

    def width(self, first: int, end: int) -> int:
        """Return letters of words in one line."""
        return self.ends[end] - self.ends[first] - self.blanks[first]

    def stop_cost(self, first: int, end: int, torn_cost: float) -> float:
        """Return the cost of sentences that end within words; more if not all of them are whole."""
        within = self.stops[end] - self.stops[first + 1]
        is_torn = within > 0 and self.breaks[first] + self.breaks[end] > 0
        return RULES.inner_stop_cost * within + torn_cost * is_torn

    def lines(self, first: int, end: int) -> tuple[float, int]:
        """Return the cost of the best two lines, and where the second begins; or of one, with its end."""
        ways = [(RULES.overflow_cost * max(0, self.width(first, end) - self.letters), end)]
        for cut in range(first + 1, end):
            upper, lower = self.width(first, cut), self.width(cut, end)
            if max(upper, lower) <= self.letters:
                skew = abs(upper - lower) / 20 + (upper > lower) / 4
                torn = sum(self.stop_cost(*line, RULES.torn_cost) for line in ((first, cut), (cut, end)))
                ways.append((RULES.second_line_cost + skew + (self.breaks[cut] + torn) / 3, cut))
        return min(ways)

    def cost(self, first: int, end: int) -> float:
        """Return the cost of a cue; infinite if it fits no two lines, is too long or holds a pause or cut."""
        rules, start_s, end_s = RULES, self.pieces[first].start_s, self.pieces[end - 1].end_s
        lines, _ = self.lines(first, end)
        before = self.pieces[end - 2]
        is_apart = before.ends_cue or self.pieces[end - 1].start_s - before.end_s >= rules.pause_s
        is_bad = lines >= rules.overflow_cost or end_s - start_s > rules.max_s or is_apart
        if end > first + 1 and is_bad:
            return inf
        until_s = self.pieces[end].start_s - rules.gap_s if end < len(self.pieces) else end_s + rules.max_s
        room_s = min(max(until_s, end_s) - start_s, rules.max_s)
        letters = self.width(first, end)
        unread = max(
            letters - rules.letters_per_s * room_s, (rules.min_s - room_s) * rules.letters_per_s, 0.0
        )
        missing = max(0, rules.min_letters - letters) / 5
        stops = self.stop_cost(first, end, rules.torn_cost)
        return rules.cue_cost + unread + missing + self.breaks[end] + lines + stops


def _best_cuts(text: _MeasuredText) -> list[int]:
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
    """Return the cost of a break between two words: none after a sentence, high inside a phrase."""
    last, following = before.text.strip().lower(), after.text.strip().lower()
    edge = edge_between(before, after)
    if edge is Edge.STOP:
        return 0.0
    if after.text.startswith("-"):
        return 30.0  # of "burrow-dwelling" Whisper makes two words
    if edge < Edge.NONE or before.ends:
        return 1.0
    if last in _OBJECTS and following in _OPENERS:
        return 2.0
    if last in _BOUND or last in _OPENERS or is_title(last):
        return 9.0
    return 2.0 if following in _OPENERS else 5.0


def _time(cues: Sequence[tuple[tuple[CueWord, ...], ...]]) -> list[Subtitle]:
    """Return cues of these lines, shown from the first word on for as long as there is room and need."""
    starts_s = [lines[0][0].start_s for lines in cues]
    subtitles, free_s = list[Subtitle](), 0.0
    for lines, first_s, following_s in zip(cues, starts_s, [*starts_s, inf][1:], strict=True):
        start_s, said_s = max(first_s, free_s), lines[-1][-1].end_s
        letters = display_width(join_words(chain(*lines)))
        end_s = max(start_s + letters / RULES.letters_per_s, said_s)
        end_s = min(end_s, max(following_s - RULES.gap_s, said_s + RULES.lag_s))
        if RULES.gap_s < following_s - end_s < RULES.flash_s:
            end_s = following_s - RULES.gap_s
        end_s = min(max(end_s, start_s + RULES.min_s), start_s + RULES.max_s)
        subtitles.append(Subtitle(round(start_s, 3), round(end_s, 3), lines))
        free_s = end_s + RULES.gap_s
    return subtitles
