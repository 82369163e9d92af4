"""Highlights: the scenes of a video that stand out, none of which mixes what does not look alike.

A scene is a shot, or a run of shots that look alike. docs/highlights.md has the rule.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from math import inf
from typing import Final

import numpy as np

from vidsum.grounding.scenes import find_scenes, samples_between, scene_cosine
from vidsum.grounding.settings import HighlightSettings
from vidsum.results.features import Features
from vidsum.results.moments import Moment
from vidsum.results.sentences import Edge, SpokenWord, edge_between
from vidsum.types import FloatArray, Interval, TimeArray


@dataclass(frozen=True)
class HighlightParams:
    """Tuned numbers (docs/highlights.md, tests/summary/test_highlight_scenes.py)."""

    min_s: float = 2.0  # length of a highlight, at least
    usual_s: float = 4.0  # length of a part of a long take, at least
    largest_share: float = 0.25  # of a film longer than 40 s
    always_s: float = 10.0  # length that every film of twice that length allows
    near_s: float = 1.0  # a part of a long take begins and ends at edges of shots that are this near
    min_score: float = 0.06  # lower scores do not stand out
    flash_s: float = 0.5  # shorter first and last shots of a scene are left out


PARAMS: Final = HighlightParams()


_BAD: Final = {Edge.STOP: 0, Edge.PAUSE: 1, Edge.COMMA: 2, Edge.NONE: 8}
_CUT_WORD: Final = 16
"""How bad a cut is, by what lies there: two at commas are better than one inside a phrase."""


def longest_highlight(duration_s: float, max_length_s: float) -> float:
    """Return the maximum length of a highlight in a film of `duration_s`, in seconds."""
    share_s = max(PARAMS.largest_share * duration_s, min(PARAMS.always_s, duration_s / 2))
    return max(min(max_length_s, share_s), PARAMS.min_s)


def choose_highlights(
    importance: FloatArray,
    features: Features,
    edges_s: TimeArray,
    settings: HighlightSettings = HighlightSettings(),
    words: Sequence[SpokenWord] = (),
) -> list[Moment]:
    """Return the scenes that stand out, best first; they do not overlap.

    Args:
        importance: [T] of the samples, in [0, 1].
        edges_s: [S + 1] edges of its shots.
        words: of the speech; edges cut no sentence where the limits allow it, else no clause, else no word.
            Without a transcript, words without text: the spans in which somebody speaks.

    The score is half of the peak and half of the mean inside, less the video's mean.
    """
    longest_s = longest_highlight(features.duration_s, settings.max_length_s)
    curve = _Curve(importance, features.timestamps, features.step_s, longest_s)
    min_cosine = scene_cosine(features.extractor)
    scenes = pairwise(find_scenes(features.array, features.timestamps, edges_s, min_cosine).tolist())
    spans = [span for scene in scenes for span in curve.parts(_without_flashes(scene, edges_s), edges_s)]
    chosen = list[Moment]()
    for score, span in sorted(((curve.score(span), span) for span in spans), reverse=True):
        if score < PARAMS.min_score or len(chosen) == settings.top_k:
            break
        start_s, end_s = curve.at_phrases(span, words)
        if all(end_s <= other.start_s or other.end_s <= start_s for other in chosen):
            chosen.append(Moment(start_s, end_s, score))
    return chosen


@dataclass(frozen=True, eq=False)
class _Curve:
    """Importance [T] of the samples, and the maximum length of a highlight."""

    values: FloatArray
    times: TimeArray  # [T] of the samples
    step_s: float
    longest_s: float

    def score(self, span: Interval) -> float:
        inside = self.values[samples_between(self.times, *span)]
        return float(inside.max() + inside.mean()) / 2 - float(self.values.mean())

    def parts(self, scene: Interval, edges_s: TimeArray) -> list[Interval]:
        """Return a scene, or parts around its peaks if it is too long; none shorter than `min_s`."""
        if scene[1] - scene[0] <= self.longest_s:
            return [scene] if scene[1] - scene[0] >= PARAMS.min_s else []
        parts = list[Interval]()
        for peak in self._peaks(scene):
            peak_s = float(self.times[peak])
            free_s = max([scene[0], *(end for _, end in parts if end <= peak_s)])
            last_s = min([scene[1], *(start for start, _ in parts if start > peak_s)])
            if last_s - free_s < PARAMS.min_s or any(start <= peak_s < end for start, end in parts):
                continue
            part = self._around(peak, (free_s, last_s))
            inside = [edge for edge in edges_s.tolist() if free_s <= edge <= last_s]
            near = [
                [(0, edge) for edge in inside if abs(edge - time_s) <= PARAMS.near_s] + [(1, time_s)]
                for time_s in part
            ]
            part = self._move(part, peak_s, near)
            parts += [part] if part[1] - part[0] >= PARAMS.min_s else []
        return parts

    def _peaks(self, scene: Interval) -> list[int]:
        """Return the samples of a scene that are no lower than those before and after, highest first."""
        padded = np.pad(self.values, 1, constant_values=-np.inf)
        is_peak = (self.values >= padded[:-2]) & (self.values >= padded[2:])
        inside = samples_between(self.times, *scene)
        peaks = inside.start + np.flatnonzero(is_peak[inside])
        return [int(peak) for peak in peaks[np.argsort(-self.values[peaks], kind="stable")]]

    def _around(self, peak: int, free: Interval) -> Interval:
        """Return the part around a peak that stays above half of its height, of a usual length at least."""
        enough = float(self.values[peak] + self.values.mean()) / 2
        samples, usual_s = samples_between(self.times, *free), min(PARAMS.usual_s, self.longest_s)
        first, last = peak, peak
        while (last - first + 2) * self.step_s <= self.longest_s:
            near = [at for at in (first - 1, last + 1) if samples.start <= at < samples.stop]
            best = max(near, key=lambda at: float(self.values[at]), default=None)
            is_usual = (last - first + 1) * self.step_s >= usual_s
            if best is None or (is_usual and self.values[best] < enough):
                break
            first, last = min(first, best), max(last, best)
        return float(self.times[first]), min(float(self.times[last]) + self.step_s, free[1])

    def at_phrases(self, span: Interval, words: Sequence[SpokenWord]) -> Interval:
        """Return a span whose ends cut no sentence where that is allowed, else no clause, else no word.

        Inside a word that is too long as a whole, both ends stay: to move one would leave it cut.
        """
        starts_s = [word.start_s for word in words]
        inside = samples_between(self.times, *span)
        peak_s = float(self.times[inside.start + int(self.values[inside].argmax())])
        first, last = (bisect_right(starts_s, time_s) for time_s in span)
        places = [
            list(_places(words, at, time_s, self.longest_s))
            for at, time_s in ((first, span[0]), (last, span[1]))
        ]
        moved = self._move(span, peak_s, places)
        is_inside = first == last > 0 and span[1] < words[last - 1].end_s
        return span if is_inside and (moved[0] == span[0] or moved[1] == span[1]) else moved

    def _move(self, span: Interval, peak_s: float, places: list[list[tuple[int, float]]]) -> Interval:
        """Return a span with its ends at the best places, if the peak is inside and the limits hold.

        A place is how bad it is, and its time; of equal ones the nearest is taken, then the longest span.
        """
        fits = [
            (start, end)
            for start, end in product(*places)
            if start[1] <= peak_s < end[1] and PARAMS.min_s <= end[1] - start[1] <= self.longest_s
        ]

        def cost(ends: tuple[tuple[int, float], ...]) -> tuple[int, float, float]:
            levels, (start_s, end_s) = zip(*ends, strict=True)
            return sum(levels), abs(start_s - span[0]) + abs(end_s - span[1]), start_s - end_s

        best = min(fits, key=cost, default=None)
        return (best[0][1], best[1][1]) if best else span


def _without_flashes(scene: Interval, edges_s: TimeArray) -> Interval:
    """Return a scene without a first and a last shot that are too short to be seen, if there is another."""
    inside = [edge for edge in edges_s.tolist() if scene[0] < edge < scene[1]]
    start_s, end_s = scene
    if inside and inside[0] - start_s < PARAMS.flash_s:
        start_s = inside.pop(0)
    if inside and end_s - inside[-1] < PARAMS.flash_s:
        end_s = inside[-1]
    return start_s, end_s


def _places(
    words: Sequence[SpokenWord], at: int, time_s: float, reach_s: float
) -> Iterator[tuple[int, float]]:
    """Yield how bad a cut at a time is, ahead of the word `at`, and the nearest better places around it."""
    yield _CUT_WORD, time_s
    for step in (0, -1, 1):
        worst, number = _CUT_WORD, at + step
        while 0 <= number <= len(words) and worst > 0:
            low_s = words[number - 1].end_s if number else -inf
            high_s = words[number].start_s if number < len(words) else inf
            place_s = min(max(time_s, low_s), high_s)
            if abs(place_s - time_s) > reach_s:
                break
            is_end = number in (0, len(words))
            bad = _BAD[Edge.STOP if is_end else edge_between(words[number - 1], words[number])]
            if bad < worst:
                worst = bad
                yield bad, place_s
            if step == 0:
                break
            number += step
