"""Highlights: the scenes of a video that stand out, none of which mixes what does not look alike.

A scene is a shot, or a run of shots that look alike. docs/highlights.md has the rule.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from vidsum.results.features import Features
from vidsum.results.moments import Moment
from vidsum.summary.looks import Looks
from vidsum.types import FloatArray, Interval, TimeArray


@dataclass(frozen=True)
class HighlightParams:
    """Tuned numbers (docs/highlights.md, tests/summary/test_choosing_highlights.py)."""

    min_s: float = 2.0  # length of a highlight, at least
    usual_s: float = 4.0  # length of a part of a long take, at least
    largest_share: float = 0.25  # of a film longer than 40 s
    always_s: float = 10.0  # length that every film of twice that length allows
    near_s: float = 1.0  # a part of a long take begins and ends at edges of shots that are this near
    slack: float = 0.1  # by which shots of a scene may look less alike than parts of a summary
    min_score: float = 0.06  # lower scores do not stand out


PARAMS: Final = HighlightParams()


def longest_highlight(duration_s: float, max_length_s: float) -> float:
    """Return the maximum length of a highlight in a film of `duration_s`, in seconds."""
    share_s = max(PARAMS.largest_share * duration_s, min(PARAMS.always_s, duration_s / 2))
    return max(min(max_length_s, share_s), PARAMS.min_s)


def choose_highlights(
    importance: FloatArray,
    features: Features,
    edges_s: TimeArray,
    max_length_s: float,
    sentences: Sequence[Interval] = (),
) -> list[Moment]:
    """Return all scenes that stand out, best first; they do not overlap.

    Args:
        importance: [T] of the samples, in [0, 1].
        features: [T, D] of the video.
        edges_s: [S + 1] edges of its shots.
        max_length_s: maximum length of a highlight.
        sentences: (start_s, end_s) of the speech, which edges do not cut where the limits allow it.

    The score is half of the peak and half of the mean inside, less the video's mean.
    """
    level = float(importance.mean())
    longest_s = longest_highlight(features.duration_s, max_length_s)
    curve = _Curve(importance, features.timestamps, features.step_s, longest_s, level)
    spans = [span for scene in _find_scenes(features, edges_s) for span in curve.parts(scene, edges_s)]
    ranked = sorted((-curve.score(span), span) for span in spans)
    chosen = list[Moment]()
    for score, span in ranked:
        start_s, end_s = curve.at_sentences(span, sentences)
        is_free = all(end_s <= other.start_s or other.end_s <= start_s for other in chosen)
        if -score >= PARAMS.min_score and is_free:
            chosen.append(Moment(start_s, end_s, -score))
    return chosen


def _find_scenes(features: Features, edges_s: TimeArray) -> list[Interval]:
    """Return (start_s, end_s) of runs of shots [S + 1], each of which looks like all before it together."""
    looks = Looks(features, np.arange(len(features)))
    firsts = np.searchsorted(features.timestamps, edges_s).tolist()
    scenes, begin = list[Interval](), 0
    for shot in range(1, len(edges_s)):
        seen = looks.absolute(firsts[begin], firsts[shot])
        after = looks.absolute(firsts[shot], firsts[shot + 1]) if shot + 1 < len(firsts) else -seen
        if float(seen @ after) < looks.same - PARAMS.slack:
            scenes.append((float(edges_s[begin]), float(edges_s[shot])))
            begin = shot
    return scenes


@dataclass(frozen=True, eq=False)
class _Curve:
    """Importance of samples at `times` [T], and the maximum length of a highlight."""

    values: FloatArray
    times: TimeArray
    step_s: float
    longest_s: float
    level: float

    def samples(self, span: Interval) -> slice:
        """Return the samples of a span; between two samples, the one before."""
        first, stop = np.searchsorted(self.times, span)
        first = first if first < stop else max(first - 1, 0)
        return slice(int(first), int(max(stop, first + 1)))

    def score(self, span: Interval) -> float:
        inside = self.values[self.samples(span)]
        return (float(inside.max()) + float(inside.mean())) / 2 - self.level

    def parts(self, scene: Interval, edges_s: TimeArray) -> list[Interval]:
        """Return a scene, or the parts around the peaks of one that is too long; nothing shorter than 2 s."""
        start_s, end_s = scene
        if end_s - start_s <= self.longest_s:
            return [scene] if end_s - start_s >= PARAMS.min_s else []
        inside = edges_s[(edges_s >= start_s) & (edges_s <= end_s)]
        parts = list[Interval]()
        for peak in self._peaks(scene):
            peak_s = float(self.times[peak])
            free = (
                max([start_s, *(end for _, end in parts if end <= peak_s)]),
                min([end_s, *(start for start, _ in parts if start > peak_s)]),
            )
            is_taken = any(start <= peak_s < end for start, end in parts)
            if not is_taken and free[1] - free[0] >= PARAMS.min_s:
                parts.append(self._snap(self._around(peak, free), inside, peak_s, free))
        return parts

    def _peaks(self, scene: Interval) -> list[int]:
        """Return the samples of a scene that are no lower than those before and after, highest first."""
        padded = np.pad(self.values, 1, constant_values=-np.inf)
        is_peak = (self.values >= padded[:-2]) & (self.values >= padded[2:])
        inside = self.samples(scene)
        peaks = inside.start + np.flatnonzero(is_peak[inside])
        return [int(peak) for peak in peaks[np.argsort(-self.values[peaks], kind="stable")]]

    def _around(self, peak: int, free: Interval) -> Interval:
        """Return the part around a peak that stays above half of its height, of a usual length at least."""
        enough = (float(self.values[peak]) + self.level) / 2
        steps = self.samples(free)
        first, last = peak, peak
        while (last - first + 2) * self.step_s <= self.longest_s:
            near = [at for at in (first - 1, last + 1) if steps.start <= at < steps.stop]
            best = max(near, key=lambda at: float(self.values[at]), default=None)
            is_usual = (last - first + 1) * self.step_s >= min(PARAMS.usual_s, self.longest_s)
            if best is None or (is_usual and self.values[best] < enough):
                break
            first, last = min(first, best), max(last, best)
        return float(self.times[first]), min(float(self.times[last]) + self.step_s, free[1])

    def _snap(self, part: Interval, edges_s: TimeArray, peak_s: float, free: Interval) -> Interval:
        """Return a part whose ends are at edges of shots that are near, where that is allowed."""
        near = [edge for edge in edges_s.tolist() if free[0] <= edge <= free[1]]
        return self.move(part, peak_s, lambda time_s: [e for e in near if abs(e - time_s) <= PARAMS.near_s])

    def at_sentences(self, span: Interval, sentences: Sequence[Interval]) -> Interval:
        """Return a span whose ends cut no sentence, where that is allowed."""
        inside = self.samples(span)
        peak_s = float(self.times[inside.start + int(self.values[inside].argmax())])

        def ends(time_s: float) -> list[float]:
            return [end for sentence in sentences if sentence[0] < time_s < sentence[1] for end in sentence]

        return self.move(span, peak_s, ends)

    def move(self, span: Interval, peak_s: float, places: Callable[[float], list[float]]) -> Interval:
        """Return a span, each end at the nearest of its places that keeps the peak inside and the limits."""
        start_s, end_s = span
        for place in sorted(places(start_s), key=lambda place: abs(place - start_s)):
            if place <= peak_s and PARAMS.min_s <= end_s - place <= self.longest_s:
                start_s = place
                break
        for place in sorted(places(end_s), key=lambda place: abs(place - end_s)):
            if place > peak_s and PARAMS.min_s <= place - start_s <= self.longest_s:
                return start_s, place
        return start_s, end_s
