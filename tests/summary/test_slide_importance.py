"""Slides in summaries: one segment for each important one, and none of titles in other films."""

from itertools import pairwise

import numpy as np
import pytest

from vidsum.results.features import Features
from vidsum.results.shots import Shots
from vidsum.summary.content import content_of, likeness
from vidsum.summary.selection import SegmentLimits, select
from vidsum.summary.slide_importance import (
    find_first_starts,
    number_slides,
    slides_of_talk,
    weigh_slides,
)
from vidsum.summary.speech_units import SpeechUnit, SpokenParts
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
    features: Features, slides: list[Interval], budget_s: float, speech: SpokenParts = SpokenParts()
) -> list[int]:
    """Return the slides that a summary shows, one number for each segment."""
    shots = Shots(np.array(EDGES_S, np.float64), "kts")
    curve = np.linspace(0.5, 1, 200).astype(np.float32)
    chosen = select(
        features,
        shots,
        curve,
        budget_s,
        slides=slides,
        speech=speech,
        limits=SegmentLimits(2.0, 5.0),
        slope=0.36,
    )
    assert sum(end_s - start_s for start_s, end_s in chosen.segments) <= budget_s + 1e-6
    return [int(np.searchsorted(EDGES_S, (a + b) / 2)) - 1 for a, b in chosen.segments]


@pytest.mark.parametrize("budget_s", [10.0, 11.0, 15.0, 25.0])
def test_summary_shows_each_important_slide_once(budget_s: float) -> None:
    assert summarize(talk(), SLIDES, budget_s) == [0, 1, 3, 4, 5]


def test_small_budget_shows_as_many_slides_as_fit() -> None:
    numbers = summarize(talk(), SLIDES, 6.0)
    assert len(set(numbers)) == len(numbers) == 3
    assert 2 not in numbers


SAID = tuple((end_s - 2.0, end_s) for end_s in (4.0, 7.0, 23.0, 46.0, 63.0, 83.0))
SPEECH = SpokenParts(tuple(SpeechUnit(*said, *said) for said in SAID), SAID)
"""Sentences, of which two are on the first slide."""


def test_sentences_show_each_important_slide() -> None:
    assert summarize(talk(), SLIDES, 10.1, SPEECH) == [0, 1, 3, 4, 5]


@pytest.fixture(scope="module")
def even_talk() -> tuple[Interval, ...]:
    """The summary of five slides of twelve seconds, of which the last is the second again."""
    edges_s = np.arange(0.0, 61, 12)
    times = np.arange(120) / 2
    slides, slide = [(0.1, 12.0), *pairwise(edges_s[1:].tolist())], (times // 12).astype(int)
    features = Features(rows_of([(0, 1, 2, 3, 1)[number] for number in slide]), times, 0.5, 0.5, 60.0, FPS)
    return select(
        features, Shots(edges_s, "kts"), np.ones(120, np.float32), 15.0, slides=slides, limits=SegmentLimits()
    ).segments


def test_slide_that_comes_again_is_not_shown_again(even_talk: tuple[Interval, ...]) -> None:
    assert [int(start_s // 12) for start_s, _ in even_talk] == [0, 1, 2, 3]


def test_segment_is_at_the_end_of_its_slide(even_talk: tuple[Interval, ...]) -> None:
    assert all(11.5 <= end_s % 12 < 11.6 for _, end_s in even_talk)


REPEATED = talk([0, 1, 2, 0, 3, 4])
"""The first slide comes again as the fourth."""


def test_slide_that_comes_again_has_the_same_number() -> None:
    numbers = number_slides(REPEATED, SLIDES)
    assert numbers[[0, 50, 82, 100, 130, 170]].tolist() == [0, 1, 2, 0, 3, 4]


def test_slide_that_comes_again_starts_once() -> None:
    assert find_first_starts(talk(), SLIDES) == EDGES_S[:-1]
    assert find_first_starts(talk([0, 1, 0, 2, 1, 3]), SLIDES) == [0, 20, 43, 80]
    assert find_first_starts(talk(), []) == []


@pytest.mark.parametrize(("other", "alike"), [((100, 120), 1.0), ((40, 60), 0.0)])
def test_only_a_slide_that_comes_again_looks_alike(other: tuple[int, int], alike: float) -> None:
    shots = [slice(2 * start, 2 * end) for start, end in SLIDES]
    content = content_of(REPEATED, shots, number_slides(REPEATED, SLIDES))
    assert likeness(content, [slice(*other)], np.array([10]))[0, 0] == pytest.approx(alike, abs=1e-6)


TIMES_S = np.arange(200) / 2
LEVEL = np.full(200, 0.4, np.float32)
"""Importance that is the same everywhere."""


def test_importance_outside_slides_stays() -> None:
    worth = weigh_slides(LEVEL, TIMES_S, SLIDES[1:])
    assert (worth[:40] == LEVEL[:40]).all()


def test_importance_on_slides_is_no_higher_than_elsewhere() -> None:
    assert weigh_slides(LEVEL, TIMES_S, SLIDES[1:]).max() == pytest.approx(0.4, abs=0.01)


def test_short_slide_is_worth_little() -> None:
    assert weigh_slides(LEVEL, TIMES_S, SLIDES[1:])[80:86].max() < 0.2 * 0.4  # 3 s, of a median of 20 s


def test_end_of_a_slide_is_worth_more_than_its_start() -> None:
    worth = weigh_slides(LEVEL, TIMES_S, SLIDES[1:])
    assert worth[70] > worth[42]  # all of its lines are there


def test_slides_are_worth_something_where_nothing_is_important() -> None:
    assert (weigh_slides(LEVEL * 0, TIMES_S, SLIDES) > 0).any()


def test_importance_without_slides_stays() -> None:
    assert (weigh_slides(LEVEL, TIMES_S, []) == LEVEL).all()


@pytest.mark.parametrize(
    ("slides", "duration_s", "is_talk"),
    [
        (SLIDES, 100.0, True),
        (SLIDES[:2], 40.0, False),
        ([(0.0, 2.0), (50.0, 52.0), (98.0, 100.0)], 100.0, False),
        ([(start, start + 3.0) for start in range(0, 60, 3)], 60.0, False),
    ],
    ids=["slides throughout", "too few", "titles", "still drawings"],
)
def test_only_a_talk_has_slides(slides: list[Interval], duration_s: float, is_talk: bool) -> None:
    assert slides_of_talk(slides, duration_s) == (slides if is_talk else ())


def test_slide_between_two_samples_has_no_number() -> None:
    features = Features.from_array(rows_of([0, 1]), 1.0)
    assert number_slides(features, [(0.2, 0.8), (1.0, 2.0)]).tolist() == [-1, 0]
