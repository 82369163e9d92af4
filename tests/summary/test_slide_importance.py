"""Slides in summaries: one segment for each important one, and none of titles in other films."""

from itertools import pairwise

import numpy as np
import pytest

from vidsum.results.features import Features
from vidsum.results.shots import Shots
from vidsum.summary.looks import Coverage, Looks
from vidsum.summary.selection import SegmentLimits, select
from vidsum.summary.slide_importance import number_slides, slides_of_talk, weigh_slides
from vidsum.summary.speech_units import SpeechUnit
from vidsum.types import FloatArray, Interval

FPS = 25
EDGES_S = [0, 20, 40, 43, 60, 80, 100]
SLIDES = list(pairwise(EDGES_S))
"""Six slides, of which the third is too short to be important."""


def rows_of(numbers: list[int]) -> FloatArray:
    """Features of slides that look alike, as slides of one design do."""
    rng = np.random.default_rng(0)
    pictures = 10 + rng.uniform(0, 1, (7, 64))
    return pictures[numbers].astype(np.float32)


def talk(numbers: list[int] | None = None) -> Features:
    times = np.arange(200) / 2
    slide = np.searchsorted(EDGES_S[1:-1], times, side="right")
    rows = rows_of([(numbers or list(range(6)))[number] for number in slide])
    return Features(rows, times, 0.5, 0.5, 100.0, FPS, extractor="efficientnet_lite0")


def summarize(
    features: Features, slides: list[Interval], budget_s: float, speech: tuple[SpeechUnit, ...] = ()
) -> list[int]:
    """Return the slides that a summary shows, one number for each segment."""
    shots = Shots(np.array(EDGES_S, np.float64), "kts")
    curve = np.linspace(0.5, 1, 200).astype(np.float32)
    chosen = select(
        features, shots, curve, budget_s, slides=slides, speech=speech, limits=SegmentLimits(2.0, 5.0)
    )
    assert sum(end_s - start_s for start_s, end_s in chosen.segments) <= budget_s + 1e-6
    return [int(np.searchsorted(EDGES_S, (a + b) / 2)) - 1 for a, b in chosen.segments]


def test_summary_shows_important_slides() -> None:
    for budget_s in (10.0, 11.0, 15.0, 25.0):
        assert summarize(talk(), SLIDES, budget_s) == [0, 1, 3, 4, 5]
    assert len(set(summarize(talk(), [], 15.0))) < 5  # which look alike
    numbers = summarize(talk(), SLIDES, 6.0)
    assert len(set(numbers)) == len(numbers) == 3
    assert not set(numbers) & {2, 3}
    ends = [4.0, 7.0, 23.0, 46.0, 63.0, 83.0]
    units = tuple(SpeechUnit(end - 2, end, 1.0 if end < 10 else 0.1) for end in ends)
    assert summarize(talk(), SLIDES, 10.1, units) == [0, 1, 3, 4, 5]
    assert summarize(talk(), [], 10.1, units).count(0) > 0


def test_segment_that_closes_a_gap_is_at_the_end_of_its_slide() -> None:
    edges_s = np.arange(0.0, 61, 12)
    times = np.arange(120) / 2
    slides, slide = [(0.1, 12.0), *pairwise(edges_s[1:].tolist())], (times // 12).astype(int)
    features = Features(rows_of([(0, 1, 2, 3, 1)[number] for number in slide]), times, 0.5, 0.5, 60.0, FPS)
    chosen = select(
        features, Shots(edges_s, "kts"), np.ones(120, np.float32), 15.0, slides=slides, limits=SegmentLimits()
    )
    assert [int(start_s // 12) for start_s, _ in chosen.segments] == [0, 1, 2, 3]
    assert all(11.5 <= end_s % 12 < 11.6 for _, end_s in chosen.segments)
    features = talk([0, 1, 2, 0, 3, 4])
    numbers, important = number_slides(features.array, features.timestamps, SLIDES)
    assert numbers[[0, 50, 82, 100, 130, 170]].tolist() == [0, 1, 2, 0, 3, 4]
    assert important == {0, 1, 3, 4}
    looks = Looks(features, features.timestamps, SLIDES)
    assert looks.are_alike((0, 20), (44, 60))
    assert not looks.are_alike((0, 20), (20, 40))
    assert looks.count([(0, 20), (20, 40), (44, 60)], 9) == 2
    coverage = Coverage(looks, [(0, 20), (20, 40)], [1.0, 1.0])
    coverage.add(0, 20)
    assert coverage.has_look(44, 60)
    assert not coverage.has_look(20, 40)


def test_weigh_slides() -> None:
    times = np.arange(200) / 2
    curve = np.full(200, 0.4, np.float32)
    worth = weigh_slides(curve, times, SLIDES[1:])
    assert (worth[:40] == curve[:40]).all()
    assert worth.max() == pytest.approx(0.4, abs=0.01)
    assert worth[80:86].max() < 0.2 * 0.4  # 3 s, of a median of 20 s
    assert worth[70] > worth[42]  # all of its lines are there
    assert (weigh_slides(curve * 0, times, SLIDES) > 0).any()
    assert (weigh_slides(curve, times, []) == curve).all()
    assert slides_of_talk(SLIDES, 100.0) == SLIDES
    assert slides_of_talk(SLIDES[:2], 40.0) == ()
    assert slides_of_talk([(0.0, 2.0), (50.0, 52.0), (98.0, 100.0)], 100.0) == ()  # titles
