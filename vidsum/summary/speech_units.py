"""Speech of a video as a summary takes it: whole sentences, or clauses where sentences are too long.

A unit keeps at most `SILENCE_S` of silence at both ends, more only where it would be too short. Its speech
may lie across cuts, its silence not.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Final

import numpy as np
import numpy.typing as npt

from vidsum.results.sentences import SpokenSentence, split_clauses
from vidsum.results.transcript import Transcript
from vidsum.summary.constraints import VideoFrames
from vidsum.summary.knapsack import knapsack, values_of
from vidsum.types import BoolArray, Interval, TimeArray

SILENCE_S: Final = 0.3
_UNCERTAIN: Final = 0.5  # weight of speech that was recognized with doubt
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class SpeechUnit:
    """A sentence, or short ones together, in [start_s, end_s), its centrality in [0, 1], and its clauses."""

    start_s: float
    end_s: float
    score: float
    clauses: tuple[Interval, ...] = ()


@dataclass(frozen=True)
class ChosenSpeech:
    """The frames of chosen speech, and of all speech."""

    chosen: BoolArray
    spoken: BoolArray
    edges: tuple[int, ...]  # at which a chosen unit begins


def speech_units(transcript: Transcript, shortest_s: float, longest_s: float = inf) -> list[SpeechUnit]:
    """Return the units of a transcript, in order: its sentences, each `shortest_s` long if there is room.

    One longer than `longest_s` is split, see `vidsum.results.sentences`; silence counts.
    """
    sentences = transcript.sentences(max(longest_s - 2 * SILENCE_S, shortest_s), shortest_s)
    if not sentences:
        return []
    units = [
        SpeechUnit(
            sentence.start_s,
            sentence.end_s,
            score,
            tuple((part.start_s, part.end_s) for part in split_clauses(sentence, shortest_s)),
        )
        for sentence, score in zip(sentences, _centrality(sentences).tolist(), strict=True)
    ]
    return _with_silence(units, shortest_s, transcript.duration_s)


def _centrality(sentences: Sequence[SpokenSentence]) -> Floats:
    """Return [N] in [0, 1] the similarity of each sentence's words (TF-IDF) with the words of all."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    counted = TfidfVectorizer(sublinear_tf=True, token_pattern=r"(?u)\b\w+\b")
    try:
        vectors = counted.fit_transform([sentence.text for sentence in sentences])
    except ValueError:  # there is no word in any
        return np.ones(len(sentences))
    similar = np.asarray(vectors @ np.asarray(vectors.mean(axis=0)).T, np.float64).ravel()
    trust = np.array([_UNCERTAIN + (1 - _UNCERTAIN) * sentence.certain for sentence in sentences])
    return np.asarray(trust * similar / max(float(similar.max()), 1e-9))


def _with_silence(units: Sequence[SpeechUnit], shortest_s: float, duration_s: float) -> list[SpeechUnit]:
    """Return the units, each with some of the silence before and after it, half of a pause at most."""
    pauses = [max(after.start_s - before.end_s, 0.0) for before, after in itertools.pairwise(units)]
    rooms = [max(units[0].start_s, 0.0), *[pause / 2 for pause in pauses]]
    rooms.append(max(duration_s - units[-1].end_s, 0.0))
    longer = list[SpeechUnit]()
    for unit, before_s, after_s in zip(units, rooms, rooms[1:], strict=False):
        missing_s = max(shortest_s - (unit.end_s - unit.start_s), 0.0)
        most_s = max(SILENCE_S, missing_s / 2, missing_s - before_s, missing_s - after_s)
        start_s, end_s = unit.start_s - min(before_s, most_s), unit.end_s + min(after_s, most_s)
        longer.append(replace(unit, start_s=max(start_s, 0.0), end_s=end_s))
    return longer


def split_long(units: Sequence[SpeechUnit], video: VideoFrames, longest_s: float) -> list[SpeechUnit]:
    """Return the units; of one longer than `longest_s` that lies across two or more cuts, the clauses.

    Where the recognizer sets no full stop, a "sentence" runs over scenes of which few may be important.
    """
    parts = list[SpeechUnit]()
    for unit in units:
        start, end = video.span(unit.start_s, unit.end_s)
        n_cuts = int(((video.edges > start) & (video.edges < end)).sum())
        is_split = unit.clauses and n_cuts > 1 and unit.end_s - unit.start_s > longest_s
        clauses = [SpeechUnit(*clause, unit.score, (clause,)) for clause in unit.clauses]
        parts += clauses if is_split else [unit]
    return parts


def _frames(unit: SpeechUnit, video: VideoFrames) -> tuple[int, int]:
    """Return the frames [start, end) of a unit; its silence stops at a cut, lest another scene flash up."""
    start, end = video.span(unit.start_s, unit.end_s)
    if not unit.clauses:
        return start, end
    first, last = video.span(unit.clauses[0][0], unit.clauses[-1][1])
    cuts = [edge for edge in video.edges.tolist() if start < edge < end]
    before, after = [cut for cut in cuts if cut <= first], [cut for cut in cuts if cut >= last]
    return max([start, *before]), min([end, *after])


def choose_speech(
    units: Sequence[SpeechUnit],
    video: VideoFrames,
    sums: TimeArray,
    *,
    is_whole: bool,
    first: Sequence[SpeechUnit] = (),
    shortest: int = 1,
) -> ChosenSpeech:
    """Choose the units with the highest sum of score times length that fit, then clauses of the others.

    The score is the mean of the speech's centrality and the picture's importance, relative to the highest.
    The choice of units is optimal, and so is the choice of clauses in the room that they leave.

    Args:
        video: its frames; speech that must not be in is left out.
        sums: [F + 1] of the importance before each frame.
        is_whole: no clauses, sentences alone.
        first: units that are chosen before the others.
        shortest: frames of a segment; shorter speech is left out.
    """
    n_frames = len(video.required)
    spans = [_frames(unit, video) for unit in units]
    spoken = np.zeros(n_frames, np.bool_)
    for start, end in spans:
        spoken[start:end] = True
    chosen, starts = np.zeros(n_frames, np.bool_), list[int]()

    def add(parts: Sequence[tuple[int, int]], scores: Sequence[float]) -> list[bool]:
        is_in = _best_parts(parts, scores, video, chosen, sums, shortest)
        for (start, end), is_taken in zip(parts, is_in, strict=True):
            if is_taken:
                chosen[start:end] = True
                starts.append(start)
        return is_in

    add([_frames(unit, video) for unit in first], [unit.score for unit in first])
    taken = add(spans, [unit.score for unit in units])
    if not is_whole:
        left = [unit for unit, is_taken in zip(units, taken, strict=True) if not is_taken]
        parts = [(video.span(*clause), unit.score) for unit in left for clause in unit.clauses]
        add([part for part, _ in parts], [score for _, score in parts])
    return ChosenSpeech(chosen, spoken, tuple(sorted(starts)))


def _best_parts(
    parts: Sequence[tuple[int, int]],
    scores: Sequence[float],
    video: VideoFrames,
    chosen: BoolArray,
    sums: TimeArray,
    shortest: int,
) -> list[bool]:
    """Return which parts to take; frames that are in anyway cost nothing."""
    is_in = video.required | chosen
    room = video.capacity - int(is_in.sum())
    sizes = np.array([int((~is_in[start:end]).sum()) for start, end in parts], np.int64)
    is_free = [
        size > 0 and end - start >= shortest and not video.dropped[start:end].any()
        for (start, end), size in zip(parts, sizes, strict=True)
    ]
    seen = np.array([(sums[end] - sums[start]) / (end - start) for start, end in parts])
    values = (np.asarray(scores) + seen / max(float(seen.max(initial=0)), 1e-9)) / 2
    values = np.where(is_free, np.maximum(values, 1e-3), 0)
    taken = knapsack(values_of(values) * sizes, np.maximum(sizes, 1), room)
    return [bool(is_taken) for is_taken in taken]
