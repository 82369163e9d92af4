"""Highlights: the scenes of a video that stand out, none of which mixes what does not look alike.

A scene is a shot, or a run of shots that look alike. docs/highlights.md has the rule.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Final

import numpy as np

from vidsum.grounding.scenes import find_scenes, scene_cosine
from vidsum.grounding.settings import HighlightSettings
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
    settings: HighlightSettings = HighlightSettings(),
    sentences: Sequence[Interval] = (),
) -> list[Moment]:
    """Return the scenes that stand out, best first; they do not overlap.

    Args:
        importance: [T] of the samples, in [0, 1].
        edges_s: [S + 1] edges of its shots.
        sentences: (start_s, end_s) of the speech, which edges do not cut where the limits allow it.

    The score is half of the peak and half of the mean inside, less the video's mean.
    """
    looks = Looks(features, features.timestamps)
    longest_s = longest_highlight(features.duration_s, settings.max_length_s)
    curve = _Curve(importance, looks, features.step_s, longest_s)
    min_cosine = scene_cosine(features.extractor)
    scenes = pairwise(find_scenes(features.array, features.timestamps, edges_s, min_cosine).tolist())
    spans = [span for scene in scenes for span in curve.parts(scene, edges_s)]
    chosen = list[Moment]()
    for score, span in sorted(((curve.score(span), span) for span in spans), reverse=True):
        if score < PARAMS.min_score or len(chosen) == settings.top_k:
            break
        start_s, end_s = curve.at_sentences(span, sentences)
        if all(end_s <= other.start_s or other.end_s <= start_s for other in chosen):
            chosen.append(Moment(start_s, end_s, score))
    return chosen


@dataclass(frozen=True, eq=False)
class _Curve:
    """Importance [T] of the samples, and the maximum length of a highlight."""

    values: FloatArray
    looks: Looks
    step_s: float
    longest_s: float

    def score(self, span: Interval) -> float:
        inside = self.values[self.looks.samples(*span)]
        return float(inside.max() + inside.mean()) / 2 - float(self.values.mean())

    def parts(self, scene: Interval, edges_s: TimeArray) -> list[Interval]:
        """Return a scene, or the parts around the peaks of one that is too long; nothing shorter than 2 s."""
        if scene[1] - scene[0] <= self.longest_s:
            return [scene] if scene[1] - scene[0] >= PARAMS.min_s else []
        parts = list[Interval]()
        for peak in self._peaks(scene):
            peak_s = float(self.looks.sampled[peak])
            free_s = max([scene[0], *(end for _, end in parts if end <= peak_s)])
            last_s = min([scene[1], *(start for start, _ in parts if start > peak_s)])
            if last_s - free_s < PARAMS.min_s or any(start <= peak_s < end for start, end in parts):
                continue
            part = self._around(peak, (free_s, last_s))
            inside = [edge for edge in edges_s.tolist() if free_s <= edge <= last_s]
            near = [[edge for edge in inside if abs(edge - time_s) <= PARAMS.near_s] for time_s in part]
            part = self._move(part, peak_s, near)
            parts += [part] if part[1] - part[0] >= PARAMS.min_s else []
        return parts

    def _peaks(self, scene: Interval) -> list[int]:
        """Return the samples of a scene that are no lower than those before and after, highest first."""
        padded = np.pad(self.values, 1, constant_values=-np.inf)
        is_peak = (self.values >= padded[:-2]) & (self.values >= padded[2:])
        inside = self.looks.samples(*scene)
        peaks = inside.start + np.flatnonzero(is_peak[inside])
        return [int(peak) for peak in peaks[np.argsort(-self.values[peaks], kind="stable")]]

    def _around(self, peak: int, free: Interval) -> Interval:
        """Return the part around a peak that stays above half of its height, of a usual length at least."""
        enough = float(self.values[peak] + self.values.mean()) / 2
        samples, usual_s = self.looks.samples(*free), min(PARAMS.usual_s, self.longest_s)
        first, last = peak, peak
        while (last - first + 2) * self.step_s <= self.longest_s:
            near = [at for at in (first - 1, last + 1) if samples.start <= at < samples.stop]
            best = max(near, key=lambda at: float(self.values[at]), default=None)
            is_usual = (last - first + 1) * self.step_s >= usual_s
            if best is None or (is_usual and self.values[best] < enough):
                break
            first, last = min(first, best), max(last, best)
        return float(self.looks.sampled[first]), min(float(self.looks.sampled[last]) + self.step_s, free[1])

    def at_sentences(self, span: Interval, sentences: Sequence[Interval]) -> Interval:
        """Return a span whose ends cut no sentence, where that is allowed.

        Inside a sentence that is too long as a whole, both ends stay: to move one would leave it cut.
        """
        inside = self.looks.samples(*span)
        peak_s = float(self.looks.sampled[inside.start + int(self.values[inside].argmax())])
        whole = [
            (start_s, end_s)
            for start_s, end_s in sentences
            if end_s - start_s <= self.longest_s or not (start_s < span[0] and span[1] < end_s)
        ]
        cut = [[end for said in whole if said[0] < time_s < said[1] for end in said] for time_s in span]
        return self._move(span, peak_s, cut)

    def _move(self, span: Interval, peak_s: float, places: list[list[float]]) -> Interval:
        """Return a span with its ends at the nearest places, if the peak is inside and the limits hold."""
        starts, ends = places
        pairs = product((*starts, span[0]), (*ends, span[1]))
        fits = [(a, b) for a, b in pairs if a <= peak_s < b and PARAMS.min_s <= b - a <= self.longest_s]

        def cost(pair: Interval) -> tuple[int, float]:
            is_left = (pair[0] not in starts, pair[1] not in ends)
            return sum(is_left), abs(pair[0] - span[0]) + abs(pair[1] - span[1])

        return min(fits, key=cost, default=span)
