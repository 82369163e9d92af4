"""Speech as a summary takes it: sentences that can be understood by themselves, with a little silence.

Speech may lie across cuts, the silence around it not (docs/algorithms/selection.md).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from string import ascii_lowercase
from typing import Final

import numpy as np

from vidsum.results.screen_text import ScreenText
from vidsum.results.sentences import SpokenSentence, is_stop
from vidsum.results.transcript import Transcript
from vidsum.summary.constraints import VideoFrames
from vidsum.summary.content import TimedText
from vidsum.summary.housekeeping import is_housekeeping
from vidsum.summary.standing import StandingRun, standing_runs
from vidsum.types import BoolArray, Interval, Progress, TimeArray

SILENCE_S: Final = 0.3
_NEAR_S: Final = 0.1  # from a cut to the edge of a word, by which times of words err
_LONG_S: Final = 20.0  # of a unit, or a third of the budget: shorter ones say little
_LONGEST_S: Final = 60.0  # of a unit: longer ones are several that touch
_OPENING_S: Final = 4.0, 30.0  # of the passage that opens a summary, at most a third of the budget
_OPENING_BUDGET_S: Final = 60.0  # an opening leaves too little of less (docs/results.md)
_OPENING_END: Final = 0.25  # fraction of the video in which it begins
_UNCERTAIN: Final = 0.5  # worth of speech that was recognized with doubt
_SUBJECT: Final = re.compile(r"(the|an?|i|we|you|my|our|your) ", re.IGNORECASE)
"""A beginning with a subject: a part that also ends its sentence, and has a verb, says something."""
_VERB: Final = re.compile(
    r"\b(am|is|are|was|were|has|have|had|do|does|did|can|could|may|might|must|shall|should|will|would"
    r"|\w+'(s|re|ve|ll|d|t))\b",
    re.IGNORECASE,
)
"""English verbs that can be known without a grammar."""


@dataclass(frozen=True)
class SpeechUnit:
    """Speech in [start_s, end_s), and with the silence around it in [first_s, last_s)."""

    start_s: float
    end_s: float
    first_s: float
    last_s: float
    certain: float = 1.0  # how sure its words are, in [0, 1]
    worth: float = 1.0  # see `StandingRun.worth`

    def frames(self, video: VideoFrames) -> tuple[int, int]:
        """Return its frames [start, end); silence stops at a cut, lest another scene flash up.

        Both are the nearest frames: units that meet in a pause meet in a frame too, and do not overlap.
        """
        first, last = video.span(self.start_s, self.end_s)
        start = min(round(self.first_s * video.fps), last - 1)
        end = min(max(round(self.last_s * video.fps), start + 1), len(video.required))
        before = [cut for cut in video.edges.tolist() if start < cut <= first]
        after = [cut for cut in video.edges.tolist() if last <= cut < end]
        return max([start, *before]), min([end, *after])

    def between_cuts(self, cuts_s: TimeArray) -> Interval:
        """Return its start and end with silence that stops at a cut, lest another scene flash up.

        A cut that is barely within the first or last word is at its edge, as times of words err by as much.
        """
        near_s = min(_NEAR_S, (self.end_s - self.start_s) / 4)
        before = cuts_s[(cuts_s > self.first_s) & (cuts_s <= self.start_s + near_s)]
        after = cuts_s[(cuts_s >= self.end_s - near_s) & (cuts_s < self.last_s)]
        return float(before.max(initial=self.first_s)), float(after.min(initial=self.last_s))


@dataclass(frozen=True)
class SpokenParts:
    """The units of speech that a summary may take, and all that is said: sentences (start_s, end_s)."""

    units: tuple[SpeechUnit, ...] = ()
    sentences: tuple[Interval, ...] = ()

    def is_said(self, video: VideoFrames) -> BoolArray:
        """Return [F] whether something is said at each frame; a unit's silence belongs to it."""
        said = np.zeros(len(video.required), np.bool_)
        for start, end in [
            *(unit.frames(video) for unit in self.units),
            *(video.span(*sentence) for sentence in self.sentences),
        ]:
            said[start:end] = True
        return said


def find_speech_units(
    transcript: Transcript,
    shortest_s: float,
    longest_s: float = inf,
    decided: Sequence[Interval] = (),
    progress: Progress | None = None,
) -> SpokenParts:
    """Return the speech of a transcript, with its units up to `longest_s`, in order of time.

    No unit reaches into spans that are `decided`: they are in, or out.

    Units are runs of sentences without greetings and advertisements, those that stand best by themselves
    (`vidsum.summary.standing`); where none is short enough, all runs; where no sentence is, clauses that end
    one; then parts with which a sentence begins; then all parts (see `vidsum.results.sentences`). Each is at
    least `shortest_s` long if there is silence. English speech is opened by what states its subject.
    """
    sentences = [part for part in transcript.sentences(inf, 0.0) if re.search(r"\w", part.text)]
    is_english = transcript.language in (None, "en")
    most_s = min(longest_s, max(longest_s / 2, _LONG_S), _LONGEST_S)
    runs = standing_runs(sentences, (0.0, most_s), is_english=is_english, progress=progress)
    aside = is_housekeeping(sentences)
    parts = transcript.sentences(max(longest_s - 2 * SILENCE_S, shortest_s), shortest_s)
    starts_s = {part.start_s for part in sentences if not part.text.startswith(tuple(ascii_lowercase))}
    alone = [StandingRun(at, at, 1.0) for at in range(len(parts))]
    content = [run for run in runs if not any(aside[run.first : run.last + 1])]
    choices = (
        (sentences, content),
        (sentences, runs),
        (parts, [run for run in alone if is_english and _is_statement(parts[run.first].text)]),
        (parts, [run for run in alone if parts[run.first].start_s in starts_s]),
        (parts, alone),
    )
    units = list[SpeechUnit]()
    for said, some in choices:
        made = _units(said, some, (shortest_s, longest_s), transcript.duration_s)
        if units := [unit for unit in made if not _reaches(unit, decided)]:
            break
    opening = list[SpeechUnit]()
    if is_english and longest_s >= _OPENING_BUDGET_S:
        openings = _openings(sentences, content, longest_s, transcript.duration_s)
        opening = [unit for unit in openings if not _reaches(unit, decided)][:1]
    return SpokenParts(
        tuple(_best(units, longest_s, opening)),
        tuple((sentence.start_s, sentence.end_s) for sentence in sentences),
    )


def _units(
    sentences: Sequence[SpokenSentence], runs: Sequence[StandingRun], length_s: Interval, duration_s: float
) -> list[SpeechUnit]:
    """Return the units of runs that are short enough with their silence.

    Only those that are long enough to say something, if any; else those of half that length; else all.
    """
    units = [
        replace(with_silence(sentences, run.first, run.last, length_s[0], duration_s), worth=run.worth)
        for run in runs
    ]
    fitting = [unit for unit in units if unit.last_s - unit.first_s <= length_s[1]]
    enough_s = min(_LONG_S, length_s[1] / 3)
    for least_s in max(enough_s, length_s[0]), max(enough_s / 2, length_s[0]), length_s[0]:
        if long := [unit for unit in fitting if unit.last_s - unit.first_s >= least_s - 1e-6]:
            return long
    return fitting


def _openings(
    sentences: Sequence[SpokenSentence], runs: Sequence[StandingRun], budget_s: float, duration_s: float
) -> list[SpeechUnit]:
    """Return the units that may open a summary, best first: a talk states its subject near its start."""
    shortest_s, longest_s = _OPENING_S[0], min(budget_s / 3, _OPENING_S[1])
    early = [run for run in runs if sentences[run.first].start_s < _OPENING_END * duration_s]
    early.sort(key=lambda run: -(run.standing**4) * run.subject**2)
    units = [
        replace(with_silence(sentences, run.first, run.last, 0.0, duration_s), worth=run.worth)
        for run in early
    ]
    return [unit for unit in units if shortest_s <= unit.last_s - unit.first_s <= longest_s]


def _best(
    units: Sequence[SpeechUnit], budget_s: float, opening: Sequence[SpeechUnit] = ()
) -> list[SpeechUnit]:
    """Return an opening and units of the highest worth that do not overlap and fit into a budget together, in
    order.
    """
    best, left_s = list[SpeechUnit](), budget_s + 1e-6
    for unit in [*opening, *sorted(units, key=lambda unit: -unit.worth * unit.certain)]:
        if unit.last_s - unit.first_s <= left_s and all(
            unit.last_s <= other.first_s or unit.first_s >= other.last_s for other in best
        ):
            best.append(unit)
            left_s -= unit.last_s - unit.first_s
    return sorted(best, key=lambda unit: unit.first_s)


def _reaches(unit: SpeechUnit, spans: Sequence[Interval]) -> bool:
    return any(unit.first_s < end_s and start_s < unit.last_s for start_s, end_s in spans)


def _is_statement(text: str) -> bool:
    """Return whether an English clause says something by itself, and ends."""
    return is_stop(text) and bool(_SUBJECT.match(text) and _VERB.search(text))


def timed_texts(transcript: Transcript | None, on_screen: ScreenText | None) -> list[TimedText]:
    """Return the sentences of a video and the lines on its screen, as far as they are known."""
    said = (
        [TimedText(part.start_s, part.end_s, part.text) for part in transcript.sentences()]
        if transcript
        else []
    )
    lines = on_screen.lines if on_screen else ()
    return [*said, *(TimedText(line.start_s, line.end_s, line.text) for line in lines)]


def with_silence(
    sentences: Sequence[SpokenSentence], first: int, last: int, shortest_s: float, duration_s: float
) -> SpeechUnit:
    """Return the unit of some sentences, with some silence before and after, half of a pause at most."""
    inside = sentences[first : last + 1]
    start_s, end_s = max(inside[0].start_s, 0.0), inside[-1].end_s
    before_s = max(start_s - sentences[first - 1].end_s, 0.0) / 2 if first else start_s
    is_last = last + 1 == len(sentences)
    after_s = max(duration_s - end_s, 0.0) if is_last else max(sentences[last + 1].start_s - end_s, 0.0) / 2
    missing_s = max(shortest_s - (end_s - start_s), 0.0)
    most_s = max(SILENCE_S, missing_s / 2, missing_s - before_s, missing_s - after_s)
    # of the worst: a few wrong words would not count in the mean of a long answer, which they spoil
    certain = 1 - (1 - _UNCERTAIN) * (1 - min(sentence.certain for sentence in inside))
    return SpeechUnit(start_s, end_s, start_s - min(before_s, most_s), end_s + min(after_s, most_s), certain)
