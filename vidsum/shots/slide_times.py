"""Slides of a video, by the measures of `vidsum.video.slide_pictures`: when each is on screen.

A slide stays while its text does: until its text gives way to another slide's text, or the picture is no
slide any more. The picture with which a shot begins is chosen in `vidsum.shots.cuts`.
"""

from itertools import pairwise

import numpy as np

from vidsum.results.features import Features
from vidsum.types import Interval, TimeArray
from vidsum.video.slide_pictures import SPAN_TICKS, TICK_S

_IS_SLIDE, _GONE, _AGO_S = range(8, 11)  # columns of changes
_MIN_GONE = 0.3  # fraction of the text that gives way to another slide's text; a slide that grows loses none
_BRIDGED_S = 1.0  # a slide may move this long, as by a pointer
_MIN_SLIDE_S = 1.0


def find_slide_changes(changes: Features) -> TimeArray:
    """Return when a slide gives way to another, in seconds, ascending: at the picture that changes most."""
    times, amounts, gone = changes.timestamps, changes.array[:, 0], changes.array[:, _GONE]
    seen = np.flatnonzero(gone >= _MIN_GONE)
    middles = times[seen] - changes.array[seen, _AGO_S]
    changed = list[float]()
    # one change is seen by several ticks
    for middle in (
        np.split(middles, np.flatnonzero(np.diff(times[seen]) > 1.5 * TICK_S) + 1) if len(seen) else []
    ):
        end_s = float(np.median(middle))
        first, last = np.searchsorted(
            times, [end_s - 1.5 * TICK_S, end_s + TICK_S / 2], side="right"
        ).tolist()
        changed.append(float(times[first + int(amounts[first:last].argmax())]))
    return np.unique(changed)


def is_cut_of_slide(changes: Features, time_s: float) -> bool:
    """Return whether most of the picture changes with a cut, not a part of it beside or on a slide."""
    first, last = np.searchsorted(changes.timestamps, [time_s, time_s + SPAN_TICKS * TICK_S]).tolist()
    return not changes.array[first : last + 1, _IS_SLIDE].all()


def find_slides(changes: Features | None) -> list[Interval]:
    """Return [start_s, end_s) of slides, in order; two that touch are different slides.

    Lines that are added to a slide belong to it; a speaker beside it may move. The first and the last may be
    off by half a second where no slide is next to them.
    """
    if changes is None or not changes.array[:, _IS_SLIDE].any():
        return []
    times, is_slide = changes.timestamps, changes.array[:, _IS_SLIDE].astype(int)
    turns = np.diff(is_slide, prepend=0, append=0)
    starts = times[np.flatnonzero(turns == 1)] - SPAN_TICKS * TICK_S
    ends = np.append(times, changes.duration_s)[np.flatnonzero(turns == -1)]
    apart = np.flatnonzero(starts[1:] - ends[:-1] > _BRIDGED_S)
    starts, ends = starts[np.append(0, apart + 1)].clip(min=0), ends[np.append(apart, len(ends) - 1)]
    changed, slides = find_slide_changes(changes), list[Interval]()
    for start_s, end_s in zip(starts.tolist(), ends.tolist(), strict=True):
        inside = changed[(changed > start_s) & (changed < end_s)].tolist()
        edges_s = [start_s, *inside, end_s]
        slides += [span for span in pairwise(edges_s) if span[1] - span[0] >= _MIN_SLIDE_S]
    return slides
