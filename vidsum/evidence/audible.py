"""Sounds as evidence: the classes of sounds that a query names, and moments in which they sound.

The cosine of a query with a class is the cosine of MiniLM's vectors of the query and of the nearest name of
the class (`sounds.txt`). docs/algorithms/sounds.md explains the rules.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from vidsum import checkpoints
from vidsum.evidence.protocol import ENCODER, Found, Packed, TextQuery
from vidsum.evidence.records import Records, parse_records
from vidsum.features.yamnet import STEP_S
from vidsum.grounding.text_encoders import load_text_encoder
from vidsum.io.cache import cached_rows
from vidsum.results.moments import Moment, shorten
from vidsum.types import FloatArray, IntArray

_N_NEAREST = 3  # names in the message on an unknown sound
_SILENCE = "silence"

# Numbers of the rules, set by hand; slope and offset are fitted (docs/algorithms/sounds.md).
_MIN_COSINE = 0.6  # a class with no nearer name is not what a query means
_MARGIN = 0.1  # classes that are nearly as near as the nearest are meant too
MIN_SCORE = 0.3  # windows with less do not belong to a moment
_MIN_BEST = 0.5  # score of the best window of a moment
_MAX_GAP = 1  # windows below `MIN_SCORE` that do not end a moment
_SLOPE = 0.5  # of the logistic curve from the logit of a moment's score to its probability
_OFFSET = 0.1
MAX_VIDEO_S: Final = 3 * 86_400.0  # longest video of an archive
_MAX_SCORE = 0.999  # scores of 1 say no more than this
EVENTS: Final = {
    "applause": ("applause", "clapping"),
    "cheering": ("cheering",),
    "laughter": ("laughter",),
    "music": ("music",),
}  # sounds that subtitles name, by the first names of their classes


@lru_cache(maxsize=1)
def read_names() -> tuple[tuple[str, ...], ...]:
    """Return the names of each class, in the order of the network's scores."""
    text = files("vidsum.evidence").joinpath("sounds.txt").read_text("utf-8")
    entries = " ".join(line for line in text.splitlines() if not line.startswith("#")).split("; ")
    return tuple(tuple(entry.split(", ")) for entry in entries)


def match_classes(query: TextQuery) -> npt.NDArray[np.intp]:
    """Return the numbers of the classes that a query means, nearest first; none where no name is near.

    Raises WeightsError where the text encoder's weights are unavailable.
    """
    return _nearest(_compare(query))


def describe_unknown(queries: Sequence[TextQuery]) -> tuple[str, ...]:
    """Return a message for each query that names no sound, with the sounds whose names are nearest to it."""
    return tuple(
        f"'{shorten(query.text)}': no sound that can be recognised; the nearest are "
        f"{_list_nearest(_compare(query))} (vidsum help sounds lists all)"
        for query in queries
        if not len(match_classes(query))
    )


def _list_nearest(cosines: FloatArray) -> str:
    return ", ".join(read_names()[number][0] for number in np.argsort(-cosines, kind="stable")[:_N_NEAREST])


def _compare(query: TextQuery) -> FloatArray:
    """Return [N_CLASSES] cosines of a query with the nearest name of each class."""
    names = [name for entry in read_names() for name in entry]
    starts = np.cumsum([0, *(len(entry) for entry in read_names()[:-1])])
    provenance = {"weights_sha256": checkpoints.sha256_of(ENCODER), "names": names}
    vectors = cached_rows("sound_names", provenance, lambda: load_text_encoder(ENCODER).encode(names))
    return np.maximum.reduceat(vectors @ query.vector, starts)


def _nearest(cosines: FloatArray) -> npt.NDArray[np.intp]:
    order = np.argsort(-cosines, kind="stable")
    least = max(_MIN_COSINE, float(cosines[order[0]]) - _MARGIN)
    return order[cosines[order] >= least]


def is_silent(scores: FloatArray) -> bool:
    """Return whether scores [T, N_CLASSES] are scores of silence from start to end."""
    number = next(number for number, entry in enumerate(read_names()) if entry[0] == _SILENCE)
    return len(scores) > 0 and bool((scores[:, number] >= _MIN_BEST).all())


def find_events(scores: FloatArray, duration_s: float) -> list[tuple[str, Moment]]:
    """Return the `EVENTS` in scores [T, N_CLASSES], in time order."""
    numbers = {entry[0]: number for number, entry in enumerate(read_names())}
    events = [
        (sound, moment)
        for sound, names in EVENTS.items()
        for moment in sound_moments(scores[:, [numbers[name] for name in names]].max(axis=1), duration_s)
    ]
    return sorted(events, key=lambda event: (event[1].start_s, event[0]))


def _probability(score: float) -> float:
    """Return how likely a sound is there, by the score of the best window."""
    score = min(score, _MAX_SCORE)
    odds = math.exp(_OFFSET + _SLOPE * math.log(score / (1 - score)))
    return odds / (1 + odds)


def sound_moments(curve: FloatArray, duration_s: float) -> list[Moment]:
    """Return the moments of a curve [T] of scores of windows, `STEP_S` apart, best first."""
    loud = np.flatnonzero(curve >= MIN_SCORE)
    return join_sounds(loud, loud + 1, curve[loud], duration_s)


def join_sounds(first: IntArray, after: IntArray, scores: FloatArray, duration_s: float) -> list[Moment]:
    """Return the moments of runs [N] of loud windows [first, after) with their scores, best first.

    The runs are in order of `first`, and may overlap; those that are near become one.
    """
    if not len(first):
        return []
    ends = np.maximum.accumulate(after)
    starts = np.flatnonzero(np.append(True, first[1:] - ends[:-1] > _MAX_GAP))
    best = np.maximum.reduceat(scores, starts).tolist()
    last = ends[np.append(starts[1:], len(ends)) - 1].tolist()
    spans = [
        (begin * STEP_S, end * STEP_S, score)
        for begin, end, score in zip(first[starts].tolist(), last, best, strict=True)
    ]
    moments = [
        Moment(start_s, min(end_s, duration_s), score, "sound", _probability(score))
        for start_s, end_s, score in spans
        if score >= _MIN_BEST and start_s < duration_s
    ]
    return sorted(moments, key=lambda moment: (-moment.score, moment.start_s))


@dataclass(frozen=True, eq=False)
class SoundScores:
    """How much of each class is in the sound of a video."""

    scores: FloatArray  # [T, N_CLASSES] in [0, 1], each of `STEP_S` from the first picture on
    duration_s: float
    warnings: tuple[str, ...] = ()


RUN: Final = np.dtype([("class", "<u2"), ("first", "<u4"), ("after", "<u4"), ("score", "<f2")])
"""A run of windows [first, after), `STEP_S` apart, in which a class scores `MIN_SCORE` or more; its best."""


@dataclass(frozen=True, eq=False)
class Audible:
    """Sounds of a video: the runs of each class, which hold all that moments are made of."""

    runs: Records  # of `RUN`, by class and time
    duration_s: float
    scores: FloatArray | None = None  # [T, N_CLASSES] that the runs are of; an archive has none

    @classmethod
    def of(cls, made: SoundScores) -> Self:
        """Return the runs of scores."""
        scores = made.scores
        is_loud = np.pad(MIN_SCORE <= scores.T, ((0, 0), (1, 1)))
        edges = np.diff(is_loud.astype(np.int8))
        classes, starts = np.nonzero(edges == 1)
        runs = np.zeros(len(classes), RUN)
        runs["class"], runs["first"], runs["after"] = classes, starts, np.nonzero(edges == -1)[1]
        runs["score"] = [scores[run["first"] : run["after"], run["class"]].max() for run in runs]
        return cls(runs, made.duration_s, scores)

    def search(self, query: TextQuery, most: int) -> list[Found]:
        """Return the moments of the classes that a query means, with the name of the loudest in each."""
        runs = self.runs[np.isin(self.runs["class"], match_classes(query))]
        order = np.argsort(runs["first"], kind="stable")
        first, after = (runs[name][order].astype(np.int64) for name in ("first", "after"))
        moments = join_sounds(first, after, runs["score"][order].astype(np.float32), self.duration_s)
        listed = []
        for moment in moments[:most]:
            is_in = (runs["first"] * STEP_S < moment.end_s) & (runs["after"] * STEP_S > moment.start_s)
            loudest = runs[is_in][runs[is_in]["score"].argmax()]
            listed.append(Found(moment, read_names()[loudest["class"]][0]))
        return listed

    def curve(self, query: TextQuery) -> FloatArray:
        """Return [T] the score of the loudest class that a query means, per window."""
        assert self.scores is not None
        return np.asarray(self.scores[:, match_classes(query)].max(axis=1, initial=0.0))

    def pack(self) -> Packed:
        return Packed(self.runs.tobytes())

    @classmethod
    def unpack(cls, packed: Packed, duration_s: float) -> Self:
        return cls(_parse_runs(packed.records), duration_s)

    @classmethod
    def rank(cls, records: bytes, query: TextQuery) -> float | None:
        runs = _parse_runs(records)
        scores = runs["score"][np.isin(runs["class"], match_classes(query))]
        return float(scores.max()) if len(scores) else None


def _parse_runs(records: bytes) -> Records:
    runs = parse_records(records, RUN)
    if not _are_runs(runs):
        raise ValueError("has a record out of range")
    return runs


def _are_runs(runs: Records) -> bool:
    """Return whether runs are in order by class and time, apart, and of known classes."""
    first, after, classes = (runs[name].astype(np.int64) for name in ("first", "after", "class"))
    is_next = (np.diff(classes) > 0) | ((np.diff(classes) == 0) & (first[1:] > after[:-1]))
    is_loud = (runs["score"] >= np.float16(MIN_SCORE)) & (runs["score"] <= 1)
    is_inside = (first < after) & (after <= MAX_VIDEO_S) & (classes < len(read_names()))
    return bool(is_next.all() and is_loud.all() and is_inside.all())
