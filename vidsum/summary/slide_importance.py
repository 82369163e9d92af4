"""Slides in a summary: each is a look of its own, and one that is long on screen is important."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from vidsum.models.scaling import unit_rows
from vidsum.results.features import Features
from vidsum.types import FloatArray, IntArray, Interval, TimeArray

_TALK_SLIDES, _TALK = 3, 0.25  # a talk has so many slides, for such a fraction of its length
_TALK_SLIDE_S: Final = 4.0  # that each stays at least: drawings of an animated film stay for two or three
_SAME: Final = 0.9995  # cosine of the last features of two slides that are one
_LAST_ROWS = 4  # of a slide, when all of its lines are there
_END_S = 1.0  # before the end of a slide, where it may fade
_UNFINISHED: Final = 0.9  # worth of the beginning of a slide, relative to its end


def slides_of_talk(slides: Sequence[Interval], duration_s: float) -> Sequence[Interval]:
    """Return the slides of a video that is a talk; none of another, in which they are titles or drawings."""
    stays_s = [end - start for start, end in slides if end - start >= _TALK_SLIDE_S]
    is_talk = len(stays_s) >= _TALK_SLIDES and sum(stays_s) >= _TALK * duration_s
    return slides if is_talk else ()


def number_slides(features: Features, slides: Sequence[Interval]) -> IntArray:
    """Return [T] the number of the slide of each sample of features [T, D], -1 where there is none.

    A slide that comes again keeps its number.
    """
    rows, times = features.array, features.timestamps
    numbers, known = np.full(len(rows), -1), list[FloatArray]()
    for start_s, end_s in slides:
        inside = (times >= start_s) & (times < end_s)
        if not inside.any():
            continue
        last = np.asarray(unit_rows(unit_rows(rows[inside][-_LAST_ROWS:]).mean(axis=0)[None])[0], np.float32)
        same = [number for number, other in enumerate(known) if float(other @ last) >= _SAME]
        numbers[inside] = same[0] if same else len(known)
        known += [] if same else [last]
    return numbers


def weigh_slides(worth: FloatArray, times: TimeArray, slides: Sequence[Interval]) -> FloatArray:
    """Return worth [T], of slides by their time on screen: a still picture says nothing about its text.

    A slide that stays for the median time or longer has the highest worth of the video, others less in
    proportion. Its last pictures count more, since all of its lines are there.
    """
    weighed, highest = worth.copy(), float(worth.max()) or 1.0
    for (start_s, end_s), share in zip(slides, _shares(slides), strict=True):
        inside = (times >= start_s) & (times < end_s)
        age = (times[inside] - start_s) / max(end_s - _END_S - start_s, 1e-3)
        finished = _UNFINISHED + (1 - _UNFINISHED) * np.where(age <= 1, age, 0)
        weighed[inside] = highest * share * finished
    return weighed


def _shares(slides: Sequence[Interval]) -> list[float]:
    """Return the time on screen of each slide over their median, at most 1."""
    lengths = np.array([end_s - start_s for start_s, end_s in slides])
    return [] if not len(lengths) else np.minimum(lengths / np.median(lengths), 1).tolist()
