"""Quality of pictures, and where one fades into another, by the measures of `vidsum.video.changes`."""

from typing import Final

import numpy as np

from vidsum.results.features import Features
from vidsum.types import BoolArray, FloatArray, Interval, TimeArray

_DISSOLVE, _DISSOLVED_S, _CONTRAST, _SHARPNESS = 3, 4, 6, 7  # columns of changes
_SHARP: Final = (0.1, 0.6)  # sharpness with the least and with full quality: out of focus it is .2 at most
_LEAST_SHARP: Final = 0.25  # quality of what is not sharp: few edges may be a title, or a bird in the sky
_CONTRASTS: Final = (4.0, 16.0)  # deviation of levels without and with quality: a covered lens has 6 at most
_BLANK: Final = 4.0  # contrast of a picture of one colour
_FADE_S: Final = (0.2, 2.5)  # a shorter change is a cut, a longer one an event
_FULL: Final = 0.9  # fraction of the contrast of what fades in, at which it has done so
_MARGIN_S: Final = 0.6  # a dissolve begins and ends at most this far from its middle
_NEAR_S: Final = 0.4  # from the edge of a shot to the dissolve that made it


def quality_at(changes: Features | None, times_s: TimeArray) -> FloatArray:
    """Return [T] the quality in [0, 1] of the pictures at `times_s`: less if blurred, dark or flat.

    A picture that is black or of one colour has none; far out of focus it has little. 1 where no picture was
    measured.
    """
    if changes is None:
        return np.ones(len(times_s), np.float32)
    latest = np.maximum(changes.timestamps.searchsorted(times_s + 1e-3) - 1, 0)
    rows = changes.array[latest]
    sharp = np.interp(rows[:, _SHARPNESS], _SHARP, (_LEAST_SHARP, 1))
    flat = np.interp(rows[:, _CONTRAST], _CONTRASTS, (0, 1))
    return np.asarray(np.minimum(sharp, flat), np.float32)


def find_fades(changes: Features | None, edges_s: TimeArray) -> list[Interval]:
    """Return (start_s, end_s) of fades from and to one colour, and of dissolves at edges [S + 1] of shots."""
    if changes is None:
        return []
    times, contrast = changes.timestamps, changes.array[:, _CONTRAST]
    backwards = [(-end, -start) for start, end in _fades_in(-times[::-1], contrast[::-1])]
    return [*_fades_in(times, contrast), *backwards, *_dissolves(changes, edges_s)]


def _fades_in(times: TimeArray, contrast: FloatArray) -> list[Interval]:
    """Return (start_s, end_s) from the last picture of one colour to full contrast."""
    is_blank = contrast < _BLANK
    fades = []
    for last in np.flatnonzero(is_blank[:-1] & ~is_blank[1:]).tolist():
        stop = int(np.searchsorted(times, times[last] + _FADE_S[1], side="right"))
        rising = contrast[last:stop]
        full = last + int((rising >= _FULL * rising.max()).argmax())
        if times[full] - times[last] >= _FADE_S[0]:
            fades.append((float(times[last]), float(times[full])))
    return fades


def _dissolves(changes: Features, edges_s: TimeArray) -> list[Interval]:
    seen: BoolArray = changes.array[:, _DISSOLVE] > 0
    middles = changes.timestamps[seen] - changes.array[seen, _DISSOLVED_S]
    return [
        (edge - _MARGIN_S, edge + _MARGIN_S)
        for edge in edges_s[1:-1].tolist()
        if len(middles) and np.abs(middles - edge).min() <= _NEAR_S
    ]
