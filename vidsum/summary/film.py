"""A film as units are chosen by: its frames, their importance, their content; and the objective of units."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from vidsum.grounding.scenes import samples_between
from vidsum.summary.constraints import VideoFrames, marked_runs
from vidsum.summary.content import Content, likeness, scenes_in
from vidsum.summary.demands import Demands
from vidsum.summary.objective import QUARTER, WEIGHTS, Objective, representation, unit_values
from vidsum.summary.units import SPOKEN, WORTHLESS, Unit, ends_of
from vidsum.types import BoolArray, FloatArray, IntArray, TimeArray

_FAIR: Final = 0.5  # a scene with this fraction of the highest importance is worth as much as any
_MOST_SAMPLES: Final = 1000  # of a film, that a summary represents
_QUARTERS: Final = 200  # places of a quarter of the film
_SCENE_S: Final = 2.0  # of a scene show it
_PASSAGE: Final = 3  # shots that take as long to understand as the subject of what is said
_BLOCK: Final = 500  # units that are compared with the film at once


@dataclass(frozen=True, eq=False)
class Film:
    """A video, its T samples, and sums [F + 1] of curves before each frame."""

    video: VideoFrames
    worth: TimeArray  # importance in [0, 1]
    expected: TimeArray  # importance in deviations of people's scores
    cuts: Sequence[IntArray]  # frames before which a cut may be, ascending: the best, then more, then all
    sampled: IntArray  # [T] frames of the samples, ascending
    content: Content

    @property
    def places(self) -> IntArray:
        """All frames before which a cut may be."""
        return self.cuts[-1]

    @property
    def enough(self) -> int:
        """Samples of a scene that show it."""
        return max(round(_SCENE_S * self.video.fps * len(self.sampled) / len(self.video.required)), 1)

    @property
    def least(self) -> float:
        """Importance of a frame that a window may begin or end with."""
        return WORTHLESS * float(np.diff(self.worth).max())

    @property
    def room(self) -> int:
        """Frames of the budget that units may use."""
        return self.video.capacity - int(self.video.required.sum())


def mean_in(sums: TimeArray, units: Sequence[Unit]) -> TimeArray:
    """Return [N] the means of a curve in units, from its sums [F + 1] before each frame."""
    starts, ends = ends_of(units)
    return np.asarray((sums[ends] - sums[starts]) / np.maximum(ends - starts, 1), np.float64)


def objective_of(film: Film, units: Mapping[Unit, float]) -> Objective:
    """Return the objective of units with how certain it is, in [0, 1], that something is said in them."""
    video, listed = film.video, list(units)
    starts, ends = ends_of(listed)
    is_window = np.array([unit.cell != SPOKEN for unit in listed])  # speech goes on over cuts
    n_cuts = np.searchsorted(video.edges, ends) - np.searchsorted(video.edges, starts, side="right")
    n_cuts += _edges_in_words(film, starts, ends, is_window)
    importance, n_shots = mean_in(film.expected, listed), np.where(is_window, 1 + n_cuts, _PASSAGE)
    values = unit_values((ends - starts) / video.fps, importance, n_shots, list(units.values()))
    is_all_spoken = not is_window.any()
    blocks = (listed[first : first + _BLOCK] for first in range(0, len(listed), _BLOCK))
    shows = np.empty((0, 0), np.float32)
    for number, block in enumerate(blocks):  # all at once would take several times the memory
        rows = _shows(film, block, is_all_spoken=is_all_spoken)
        if not number:
            shows = np.empty((len(listed), rows.shape[1]), np.float32)
        shows[number * _BLOCK : (number + 1) * _BLOCK] = rows
    required = [Unit(*run, SPOKEN) for run in marked_runs(video.required)]
    base = np.zeros(shows.shape[1], np.float32)
    if required:
        base = _shows(film, required, is_all_spoken=is_all_spoken).max(axis=0)
    return Objective(values, shows, base)


def _edges_in_words(film: Film, starts: IntArray, ends: IntArray, is_window: BoolArray) -> IntArray:
    """Return [N] how many edges of units lie in words: each takes as long to understand as a shot.

    0 where no window is without: the choice is as if nothing were known of speech.
    """
    if len(film.cuts) == 1:  # nobody speaks, or the words are known
        return np.zeros(len(starts), np.int64)
    pauses = film.cuts[-2]
    count = (~np.isin(starts, pauses)).astype(np.int64) + ~np.isin(ends, pauses)
    return count * bool((is_window & (count == 0)).any())


def _shows(film: Film, parts: Sequence[Unit], *, is_all_spoken: bool) -> FloatArray:
    """Return [N, J] how much parts show of the film: of its samples, its quarters and its scenes."""
    video, sampled = film.video, film.sampled
    worth = np.diff(film.worth)[sampled]
    worth = np.where(video.dropped[sampled], 0, worth)
    samples = np.unique(np.linspace(0, len(sampled) - 1, _MOST_SAMPLES).astype(np.int64))
    shares = (worth[samples] >= max(WORTHLESS * worth.max(), 1e-9)).astype(np.float32)
    spans = [samples_between(sampled, part.start, part.end) for part in parts]
    looks = likeness(film.content, spans, samples)
    looks *= shares / max(shares.sum(), 1)

    quarters = _round_quarters(film, parts) if is_all_spoken else _quarters(film, parts)[0]

    highest = np.zeros(int(film.content.scenes.max()) + 1)
    np.maximum.at(highest, film.content.scenes, worth)
    weights = np.where(film.content.are_slides, WEIGHTS.slide, WEIGHTS.scene)
    fair = np.minimum(highest / max(_FAIR * highest.max(), 1e-9), 1)
    scenes = scenes_in(film.content, spans, film.enough) * (weights * fair)
    return representation(looks, quarters, scenes, film.room / video.fps)


def _quarters(film: Film, parts: Sequence[Unit]) -> tuple[BoolArray, BoolArray]:
    """Return [N, Q] in which quarters of the film parts lie, and [N, Q] in which whole, to a place's step."""
    n_frames = len(film.video.required)
    middles, half = n_frames * np.linspace(QUARTER / 2, 1 - QUARTER / 2, _QUARTERS), n_frames * QUARTER / 2
    step = middles[1] - middles[0]
    starts, ends = (edges[:, None] for edges in ends_of(parts))
    is_in = (starts < middles + half) & (ends > middles - half)
    return is_in, (starts >= middles - half - step) & (ends <= middles + half + step)


def _round_quarters(film: Film, parts: Sequence[Unit]) -> BoolArray:
    """Return [N, Q] in which quarters parts lie, where they go on from the end of the film to its beginning.

    Other quarters lie mostly in the middle, which has few reasons to be preferred in speech: it begins with
    its subject and ends with its conclusion.
    """
    n_frames = len(film.video.required)
    middles = n_frames * np.linspace(0, 1, _QUARTERS, endpoint=False)
    starts, ends = (edges[:, None] for edges in ends_of(parts))
    to_middle = np.abs((starts + ends) / 2 - middles)
    distance = np.minimum(to_middle, n_frames - to_middle)
    return np.asarray(distance < (ends - starts) / 2 + n_frames * QUARTER / 2)


def demands_of(film: Film, units: Sequence[Unit]) -> Demands:
    """Return what a choice of units must not lack: a quarter in which a unit lies that is more important
    than half of the film, and scenes.
    """
    required = [Unit(*run, SPOKEN) for run in marked_runs(film.video.required)]
    parts = [*units, *required]
    spans = [samples_between(film.sampled, part.start, part.end) for part in parts]
    (quarters, whole), scenes = _quarters(film, parts), scenes_in(film.content, spans, film.enough) >= 1
    importance, count = mean_in(film.worth, units), len(units)
    is_high = importance > np.median(np.diff(film.worth)[film.sampled])
    is_high &= any(unit.cell != SPOKEN for unit in units)  # of few sentences, another one costs too much
    return Demands(
        np.stack(ends_of(units), axis=1),
        quarters[:count],
        scenes[:count],
        np.where(scenes[:count], importance[:, None], 0).max(axis=0, initial=0),
        np.asarray(quarters[count:].any(axis=0) | ~whole[:count][is_high].any(axis=0)),
        np.asarray(scenes[count:].any(axis=0)),
    )
