"""Passages of a video that make shorts: whole thoughts of what is said, or runs of shots.

A thought begins with a sentence that needs none before it, and ends with one that needs none after it (see
`vidsum.summary.speech_units`), ahead of a pause. docs/algorithms/shorts.md says how passages are chosen.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

import numpy as np

from vidsum.grounding.scenes import samples_between
from vidsum.results.sentences import PAUSE_S, SpokenSentence
from vidsum.results.transcript import Transcript
from vidsum.summary.content import Content, likeness
from vidsum.summary.objective import Objective
from vidsum.summary.optimise import gains_of
from vidsum.summary.speech_units import SILENCE_S, SpeechUnit, is_question, standing_run, with_silence
from vidsum.summary.speech_worth import worth_of
from vidsum.types import BoolArray, FloatArray, Interval, TimeArray

_GAP_S: Final = 3.0  # silence that no thought goes on over
_PARAGRAPH_S: Final = 1.0  # silence that a thought is clearly over with
_MOST_SAMPLES: Final = 1000  # of a video, that passages are compared with
_LEAST_SPREAD: Final = 0.05  # of what passages show, over the mean: they differ by chance
_OPENING, _SHOWS = 1.0, 1.0
"""Worth of a clear beginning and end, and of a deviation of what passages show of the video."""
_SAME: Final = 0.5  # fraction of three words in a row that two passages share, if they say the same
_CONTINUES: Final = re.compile(
    r"\W*(and|but|or|yet|still|because|for example|for instance|in other words|similarly|likewise|moreover|"
    r"furthermore|besides|meanwhile|finally|again|another|other|the other|the same|as|of course|in fact|"
    r"indeed|more|after all|even|either way|(\w+\W+){1,3}also)\b",
    re.IGNORECASE,
)
"""Beginnings of English sentences that go on with what was said before."""
_REFERS: Final = re.compile(
    r"(it|its|they|them|their|he|she|him|her|his|this|that|these|those|here|there|also|too|such|same|other|"
    r"another|earlier|before|first|second|third)"
)
"""English words that refer to what was said or shown before."""
_FIRST_WORDS: Final = 10  # of a passage, in which such a word is not clear


@dataclass(frozen=True)
class ShortPassage:
    """A part [start_s, end_s) of a video that may become a short, and its sentences."""

    start_s: float
    end_s: float
    texts: tuple[str, ...] = ()
    opening: float = 0.0  # how well it begins and ends, in [0, 1]
    worth: float = 1.0  # the mean of its sentences over their time, times how certain the least certain is


def find_thoughts(transcript: Transcript, edges_s: TimeArray, length_s: Interval) -> list[ShortPassage]:
    """Return the passages of speech whose length is in a range, in order of time.

    Silence around one stops at a cut of the video, which are `edges_s`. Where no thought is as long,
    sentences that need others make passages, too. None begins or ends with a greeting or farewell, unless
    there are no others.
    """
    sentences = transcript.trusted.sentences(inf, 0.0)
    worth = worth_of(sentences)
    is_english = transcript.language in (None, "en")
    runs = [standing_run(sentences, at, is_english=is_english) for at in range(len(sentences))]
    stands = [run[0] == at for at, run in enumerate(runs)]
    begins = [stand and value > 0 for stand, value in zip(stands, worth, strict=True)]
    ends = [run[1] == at and worth[at] > 0 for at, run in enumerate(runs)]
    fresh = [
        begin and not (is_english and _CONTINUES.match(sentence.text))
        for begin, sentence in zip(begins, sentences, strict=True)
    ]
    pauses_s = _pauses(sentences)
    paused = [end and pause_s >= PAUSE_S for end, pause_s in zip(ends, pauses_s[1:], strict=True)]
    everything = [True] * len(sentences)

    def passage(first_at: int, last_at: int) -> ShortPassage:
        unit = with_silence(sentences, first_at, last_at, 0.0, transcript.duration_s)
        apart_s = min(pauses_s[first_at], _PARAGRAPH_S) + min(pauses_s[last_at + 1], _PARAGRAPH_S)
        is_over = last_at + 1 == len(sentences) or stands[last_at + 1]
        is_clear = not (is_english and refers(sentences[first_at].text))
        opening = (apart_s / _PARAGRAPH_S + is_over + is_question(sentences[first_at].text) + is_clear) / 5
        inside = sentences[first_at : last_at + 1]
        texts = tuple(sentence.text for sentence in inside)
        lengths_s = [max(sentence.length_s, 1e-3) for sentence in inside]
        mean = float(np.average(worth[first_at : last_at + 1], weights=lengths_s))
        return ShortPassage(*_within_shots(unit, edges_s), texts, opening, mean * unit.certain)

    for first, last in (fresh, paused), (fresh, ends), (begins, ends), (everything, everything):
        passages = [passage(*span) for span in _spans(sentences, pauses_s, first, last, length_s)]
        fitting = [part for part in passages if length_s[0] <= part.end_s - part.start_s <= length_s[1]]
        if fitting:
            return fitting
    return []


def _within_shots(unit: SpeechUnit, edges_s: TimeArray) -> Interval:
    """Return the start and end of a unit with silence that stops at a cut, lest another scene flash up."""
    before = edges_s[(edges_s > unit.first_s) & (edges_s <= unit.start_s)]
    after = edges_s[(edges_s >= unit.end_s) & (edges_s < unit.last_s)]
    return float(before.max(initial=unit.first_s)), float(after.min(initial=unit.last_s))


def refers(text: str) -> bool:
    """Return whether the first words of an English sentence refer to what was said or shown before."""
    return any(map(_REFERS.fullmatch, re.findall(r"\w+", text.lower())[:_FIRST_WORDS]))


def _pauses(sentences: Sequence[SpokenSentence]) -> list[float]:
    """Return [S + 1] the silence before each sentence in seconds, and after the last."""
    ends_s = [-inf, *(part.end_s for part in sentences)]
    starts_s = [*(part.start_s for part in sentences), inf]
    return [start_s - end_s for end_s, start_s in zip(ends_s, starts_s, strict=True)]


def _spans(
    sentences: Sequence[SpokenSentence],
    pauses_s: Sequence[float],
    begins: Sequence[bool],
    ends: Sequence[bool],
    length_s: Interval,
) -> list[tuple[int, int]]:
    """Return the first and last numbers of runs of sentences that may be long enough with their silence."""
    spans = []
    for first in np.flatnonzero(begins).tolist():
        for last in range(first, len(sentences)):
            said_s = sentences[last].end_s - sentences[first].start_s
            if said_s > length_s[1] or (last > first and pauses_s[last] > _GAP_S):
                break
            if ends[last] and said_s + 2 * SILENCE_S >= length_s[0]:
                spans.append((first, last))
    return spans


def find_scenes(edges_s: TimeArray, length_s: Interval) -> list[ShortPassage]:
    """Return the runs of shots whose length is in a range; of longer shots, parts that overlap by half."""
    shortest_s, longest_s = length_s
    passages = []
    for first, start_s in enumerate(edges_s[:-1].tolist()):
        for end_s in edges_s[first + 1 :].tolist():
            if end_s - start_s > longest_s:
                break
            if end_s - start_s >= shortest_s:
                passages.append(ShortPassage(start_s, end_s))
        end_s = float(edges_s[first + 1])
        if end_s - start_s > longest_s:
            count = int(np.ceil(2 * (end_s - start_s - longest_s) / longest_s)) + 1
            starts_s = np.linspace(start_s, end_s - longest_s, count).tolist()
            passages += [ShortPassage(at_s, at_s + longest_s) for at_s in starts_s]
    return passages


def value_passages(
    passages: Sequence[ShortPassage], content: Content, times: TimeArray, importance: TimeArray
) -> tuple[TimeArray, FloatArray]:
    """Return the values [N] of passages by themselves, and what each shows and says of the video [N, M].

    `importance` [T] is in deviations of people's scores, of samples at `times` [T].
    """
    spans = [samples_between(times, part.start_s, part.end_s) for part in passages]
    chosen = np.unique(np.linspace(0, len(times) - 1, _MOST_SAMPLES).round().astype(int))
    alike = likeness(content, spans, chosen) / np.float32(len(chosen))
    totals = alike.sum(axis=1, dtype=np.float64)
    spread = max(float(totals.std()), _LEAST_SPREAD * float(totals.mean())) or 1.0
    means = np.array([importance[span].mean() for span in spans])
    values = means - means.min(initial=0) + _OPENING * np.array([part.opening for part in passages])
    values *= np.array([part.worth for part in passages])
    return values, alike * np.float32(_SHOWS / spread)


def choose_passages(
    passages: Sequence[ShortPassage], values: TimeArray, shows: FloatArray, count: int
) -> list[tuple[int, float]]:
    """Return the numbers of the best passages, and what each adds in value to those before it, best first.

    Each is the best of those that neither overlap one before nor say the same, so fewer are the beginning of
    more. `shows` [N, J] is what each shows of the video, or says, see `vidsum.summary.objective`.
    """
    objective = Objective(values, shows, np.zeros(shows.shape[1], np.float32))
    starts_s, ends_s = (np.array([getattr(part, end) for part in passages]) for end in ("start_s", "end_s"))
    said = [_word_triples(part.texts) for part in passages]
    chosen, free, covered = list[tuple[int, float]](), np.arange(len(passages)), objective.base
    while len(chosen) < count and len(free):
        gains = gains_of(objective, covered, free)
        best = int(free[gains.argmax()])
        chosen.append((best, float(gains.max())))
        covered = np.maximum(covered, shows[best])
        overlap = (ends_s > starts_s[best]) & (starts_s < ends_s[best])
        free = free[~(overlap | _alike(said, best))[free]]
    return chosen


def _alike(said: Sequence[frozenset[tuple[str, ...]]], number: int) -> BoolArray:
    """Return [N] whether passages say what one says: most of the shorter is in both."""
    mine = said[number]
    least = [_SAME * max(min(len(mine), len(other)), 1) for other in said]
    return np.array([len(mine & other) for other in said]) >= least


def _word_triples(texts: Sequence[str]) -> frozenset[tuple[str, ...]]:
    """Return the runs of three words of sentences."""
    words = [re.findall(r"\w+", text.lower()) for text in texts]
    return frozenset(triple for row in words for triple in zip(row, row[1:], row[2:], strict=False))
