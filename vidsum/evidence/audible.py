"""Sounds as evidence: the classes of sounds that a query names, and moments in which they sound.

The cosine of a query with a class is that of MiniLM's vectors with the nearest of the class's names
(`sounds.txt`). docs/algorithms/sounds.md explains the rules.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Final

import numpy as np
import numpy.typing as npt

from vidsum import checkpoints
from vidsum.features.yamnet import STEP_S
from vidsum.grounding.languages import encode_in
from vidsum.grounding.text_encoders import load_text_encoder
from vidsum.io.cache import cached_rows
from vidsum.results.moments import Moment, shorten
from vidsum.types import FloatArray, IntArray

ENCODER: Final = "minilm"
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


def match_classes(queries: Sequence[str], language: str = "auto") -> list[npt.NDArray[np.intp]]:
    """Return the numbers of the classes that each query means, nearest first; none where no name is near.

    Raises WeightsError where a text encoder's weights are unavailable.
    """
    return [_nearest(row) for row in _compare(queries, language)]


def describe_unknown(queries: Sequence[str], language: str = "auto") -> tuple[str, ...]:
    """Return a message for each query that names no sound, with the sounds whose names are nearest to it."""
    rows = _compare(queries, language)
    return tuple(
        f"'{shorten(text)}': no sound that can be recognised; the nearest are {_list_nearest(row)} "
        "(vidsum help sounds lists all)"
        for text, row in zip(queries, rows, strict=True)
        if not len(_nearest(row))
    )


def _list_nearest(cosines: FloatArray) -> str:
    return ", ".join(read_names()[number][0] for number in np.argsort(-cosines, kind="stable")[:_N_NEAREST])


def _compare(queries: Sequence[str], language: str) -> FloatArray:
    """Return [M, N_CLASSES] cosines of queries with the nearest name of each class."""
    names = [name for entry in read_names() for name in entry]
    starts = np.cumsum([0, *(len(entry) for entry in read_names()[:-1])])
    provenance = {"weights_sha256": checkpoints.sha256_of(ENCODER), "names": names}
    encode = load_text_encoder(ENCODER).encode
    vectors = cached_rows("sound_names", provenance, lambda: encode(names))
    return np.maximum.reduceat(encode_in(queries, language, encode) @ vectors.T, starts, axis=1)


def _nearest(cosines: FloatArray) -> npt.NDArray[np.intp]:
    order = np.argsort(-cosines, kind="stable")
    least = max(_MIN_COSINE, float(cosines[order[0]]) - _MARGIN)
    return order[cosines[order] >= least]


def is_silent(scores: FloatArray) -> bool:
    """Return whether scores [T, N_CLASSES] are those of silence from start to end."""
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
