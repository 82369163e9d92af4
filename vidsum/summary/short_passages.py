"""Passages of a video that make shorts: whole thoughts of what is said, or runs of shots.

A thought is a run of whole sentences; it is worth more the better it stands (`vidsum.summary.standing`).
docs/algorithms/shorts.md says how passages are chosen.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

import numpy as np

from vidsum.grounding.scenes import samples_between
from vidsum.results.transcript import Transcript
from vidsum.summary.content import Content, likeness
from vidsum.summary.housekeeping import is_housekeeping
from vidsum.summary.objective import Objective
from vidsum.summary.optimise import gains_of
from vidsum.summary.sentence_marks import is_question
from vidsum.summary.speech_units import SILENCE_S, with_silence
from vidsum.summary.standing import standing_runs
from vidsum.types import BoolArray, FloatArray, Interval, Progress, TimeArray

_MOST_SAMPLES: Final = 1000  # of a video, that passages are compared with
_LEAST_SPREAD: Final = 0.05  # of what passages show, over the mean: they differ by chance
_STANDING, _SHOWS = 40.0, 1.0
"""Worth of a passage that stands by itself, and of a deviation of what passages show of the video."""
_SAME: Final = 0.5  # fraction of three words in a row that two passages share, if they say the same


@dataclass(frozen=True)
class ShortPassage:
    """A part [start_s, end_s) of a video that may become a short, and its sentences."""

    start_s: float
    end_s: float
    texts: tuple[str, ...] = ()
    standing: float = 0.0  # how well it stands by itself, in [0, 1]
    certain: float = 1.0  # its least certain sentence, in [0, 1]


def find_thoughts(
    transcript: Transcript, edges_s: TimeArray, length_s: Interval, progress: Progress | None = None
) -> list[ShortPassage]:
    """Return the passages of whole sentences with a length in a range, in order of time.

    Silence around a passage stops at a cut of the video, which are `edges_s`. None has a greeting, an
    advertisement or a farewell. None ends with a question, whose answer would be missing, unless all do.
    """
    sentences = transcript.trusted.sentences(inf, 0.0)
    aside = is_housekeeping(sentences)
    shortest_s = max(length_s[0] - 2 * SILENCE_S, 0.0)
    is_english = transcript.language in (None, "en")
    runs = standing_runs(sentences, (shortest_s, length_s[1]), is_english=is_english, progress=progress)
    passages = list[ShortPassage]()
    for run in runs:
        inside = slice(run.first, run.last + 1)
        texts = tuple(sentence.text for sentence in sentences[inside])
        unit = with_silence(sentences, run.first, run.last, 0.0, transcript.duration_s)
        start_s, end_s = unit.between_cuts(edges_s)
        if run.is_whole and not any(aside[inside]) and length_s[0] <= end_s - start_s <= length_s[1]:
            passages.append(ShortPassage(start_s, end_s, texts, run.standing, unit.certain))
    return [part for part in passages if not is_question(part.texts[-1])] or passages


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
    values = means - means.min(initial=0) + _STANDING * np.array([part.standing for part in passages])
    values *= np.array([part.certain for part in passages])
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
