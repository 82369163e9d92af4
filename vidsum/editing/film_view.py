"""A film as the page shows it: its units, one picture each, what a click takes, where edges snap."""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import ceil
from threading import Lock

import numpy as np

from vidsum.editing.short_clips import sentence_edges
from vidsum.errors import MissingError
from vidsum.results.edits import Editable, edit_groups
from vidsum.results.moments import Grounding, Highlights
from vidsum.results.result import round_number
from vidsum.results.sentences import SpokenSentence
from vidsum.results.shorts import Shorts
from vidsum.results.summary import Summary, Trim
from vidsum.results.transcript import Transcript
from vidsum.types import FloatArray, Interval, TimeArray, VideoInfo
from vidsum.video.read import read_jpegs

_LONG_S, _PART_S = 15.0, 10.0  # a longer shot is shown in parts of about that length
_PIECE_S = 2.0, 5.0  # shortest and longest piece that a click takes of a long unit
_WHOLE = 1.6  # pieces; a unit that is not longer is taken as a whole
_NEAR_S = 2.0  # how far a piece moves to the edge of a sentence
_REACH_S = 0.15  # of a cut from the word that it spares
PICTURE_SIDE, PICTURE_QUALITY = 240, 78  # pixels of the longest side, quality of the JPEG
_TOGETHER = 6  # pictures that are decoded together
_MAX_PICTURES = 4000  # in memory: about 40 MB


def split_units(edges_s: Sequence[float], sentences: Sequence[SpokenSentence]) -> list[Interval]:
    """Return the units of a film: its shots, long ones in parts that end with sentences if there are any."""
    units, ends_s = list[Interval](), [sentence.end_s for sentence in sentences]
    for start_s, end_s in pairwise(edges_s):
        if end_s - start_s <= _LONG_S:
            units.append((start_s, end_s))
            continue
        inside, cuts = [time for time in ends_s if start_s < time < end_s], [start_s]
        while end_s - cuts[-1] > _LONG_S:
            wanted = cuts[-1] + (end_s - cuts[-1]) / ceil((end_s - cuts[-1]) / _PART_S)
            near = [time for time in inside if abs(time - wanted) < _PART_S / 2]
            cuts.append(min(near, key=lambda time: abs(time - wanted), default=wanted))
        units += pairwise([*cuts, end_s])
    return units


def choose_pieces(
    units: Sequence[Interval],
    curve: FloatArray,
    times_s: TimeArray,
    sentences: Sequence[SpokenSentence],
    piece_s: float = _PIECE_S[1],
) -> list[Interval]:
    """Return what a click takes of each unit: all of it, or of a long one its best piece.

    `curve` [T] at `times_s` [T] says which is the best. A piece begins and ends with sentences that are near.
    """
    sums = np.concatenate([[0.0], np.cumsum(curve, dtype=np.float64)])
    ends = np.searchsorted(times_s, times_s + piece_s)  # empty without a curve: pieces begin with units
    means = (sums[ends] - sums[: len(times_s)]) / np.maximum(ends - np.arange(len(times_s)), 1)
    begins_s, finishes_s = [said.start_s for said in sentences], [said.end_s for said in sentences]
    pieces = list[Interval]()
    for start_s, end_s in units:
        if end_s - start_s <= _WHOLE * piece_s:
            pieces.append((start_s, end_s))
            continue
        first, last = np.searchsorted(times_s, (start_s, end_s - piece_s))
        best_s = float(times_s[first + int(np.argmax(means[first:last]))]) if last > first else start_s
        begin_s = _nearest(begins_s, best_s, (start_s, end_s))
        finish_s = _nearest(finishes_s, best_s + piece_s, (begin_s + 1, end_s))
        pieces.append((begin_s, finish_s))
    return pieces


def usual_length(result: Editable) -> float:
    """Return the length of a piece, in seconds: of a summary as long as its segments mostly are."""
    shortest_s, longest_s = _PIECE_S
    if not isinstance(result, Summary) or not result.segments:
        return longest_s
    usual_s = float(np.median([end_s - start_s for start_s, end_s in result.segments]))
    return min(max(usual_s, shortest_s), longest_s)


def _nearest(times_s: Sequence[float], time_s: float, span: Interval) -> float:
    """Return the nearest of some times, in order, that is in a span and near enough; else the time itself."""
    number = bisect_left(times_s, time_s)
    around = [time for time in times_s[max(0, number - 1) : number + 1] if span[0] <= time <= span[1]]
    nearest = min(around, key=lambda time: abs(time - time_s), default=time_s)
    return nearest if abs(nearest - time_s) <= _NEAR_S else time_s


def curves_of(result: Editable) -> tuple[list[FloatArray], TimeArray]:
    """Return the curve by which the parts of each group of a result were chosen, and the times of all.

    Trimmed films and chapters have none, and moments that were saved without curves.
    """
    if isinstance(result, Summary):
        return [result.importance], result.timestamps
    if isinstance(result, Highlights):
        return [result.saliency], result.timestamps
    if isinstance(result, Grounding) and len(result.timestamps):
        return [query.saliency for query in result.queries], result.timestamps
    groups = len(result.queries) if isinstance(result, Grounding) else 1
    return [np.zeros(0, np.float32)] * groups, np.zeros(0)


def spoken_spans(transcript: Transcript | None) -> list[tuple[float, float, str]]:
    """Return the words of speech with the times at which a cut falls: in the middle of the pauses between."""
    words = transcript.trusted.spoken if transcript else []
    edges_s = [(max(word.start_s - _REACH_S, 0.0), word.end_s + _REACH_S) for word in words]
    for number, (word, after) in enumerate(pairwise(words)):
        middle_s = (word.end_s + after.start_s) / 2
        edges_s[number] = edges_s[number][0], min(edges_s[number][1], middle_s)
        edges_s[number + 1] = max(edges_s[number + 1][0], middle_s), edges_s[number + 1][1]
    return [
        (round_number(start_s), round_number(max(end_s, start_s)), word.text.strip())
        for (start_s, end_s), word in zip(edges_s, words, strict=True)
    ]


def snap_places(
    result: Editable,
    cuts_s: Sequence[float],
    sentences: Sequence[SpokenSentence],
    words: Sequence[tuple[float, float, str]],
) -> list[float]:
    """Return the times that ends snap to: cuts, sentences or words, and ends of the result as it was made.

    Shorts of speech end with sentences alone.
    """
    spans: list[Interval] = [(said.start_s, said.end_s) for said in sentences]
    if isinstance(result, Trim):
        spans = [(start_s, end_s) for start_s, end_s, _ in words]
    if isinstance(result, Shorts) and sentences:
        spans, cuts_s = sentence_edges(sentences, cuts_s, result.video_duration_s), ()
    spans += [part.interval for group in edit_groups(result, []) for part in group.parts]
    edges_s, duration_s = {round_number(edge_s) for span in spans for edge_s in span}, result.video_duration_s
    inside = (edge_s for edge_s in edges_s if 0 <= edge_s <= duration_s)
    return sorted({*cuts_s, 0.0, round_number(duration_s), *inside})


class PictureCache:
    """The pictures of units, decoded when they are asked for, several at a time, and kept in memory."""

    def __init__(
        self,
        video: VideoInfo,
        units: Sequence[Interval],
        read: Callable[[VideoInfo, Sequence[float], int, int], list[bytes]] = read_jpegs,
    ) -> None:
        self._video, self._units, self._read = video, units, read
        self._pictures, self._lock = OrderedDict[int, bytes](), Lock()

    def picture(self, number: int) -> bytes:
        """Return the JPEG of a unit. Raises MissingError: there is none. InputError: see `read_jpegs`."""
        if not 0 <= number < len(self._units):
            raise MissingError("no such picture")
        with self._lock:
            if number not in self._pictures:
                numbers = range(number, min(number + _TOGETHER, len(self._units)))
                missing = [other for other in numbers if other not in self._pictures]
                times_s = [(self._units[other][0] + self._units[other][1]) / 2 for other in missing]
                jpegs = self._read(self._video, times_s, PICTURE_SIDE, PICTURE_QUALITY)
                self._pictures.update(zip(missing, jpegs, strict=True))
            jpeg = self._pictures[number]
            self._pictures.move_to_end(number)
            while len(self._pictures) > _MAX_PICTURES:
                self._pictures.popitem(last=False)
        return jpeg
