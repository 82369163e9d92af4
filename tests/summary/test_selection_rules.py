"""Rules of a summary that people accept: length, gaps, looks, takes, short shots and short videos."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from vidsum.results.features import Features
from vidsum.results.shots import Shots
from vidsum.speech.silence import gaps_of
from vidsum.summary.selection import SegmentLimits, SelectedSegments, select
from vidsum.types import Interval

FPS = 25.0
LOOKS = np.eye(40, dtype=np.float32)


def features_of(looks: list[int], seconds: list[float]) -> tuple[Features, Shots]:
    """Features, two a second, of shots that look like the rows of `LOOKS`."""
    rows = np.repeat(LOOKS[looks], [round(2 * length) for length in seconds], axis=0)
    # a little noise: no picture stands still
    rows = rows + 0.05 * np.random.default_rng(0).normal(size=rows.shape).astype(np.float32)
    edges = np.concatenate([[0], np.cumsum(seconds)])
    return Features.from_array(rows, video_fps=FPS), Shots(edges, "test", video_fps=FPS)


def blocks(values: list[float], seconds: list[float]) -> np.ndarray:
    return np.repeat(np.array(values, np.float32), [round(2 * length) for length in seconds])


KNOWN = 0.36
"""Slope of the importance that ships, about."""


@given(st.integers(0, 10**6), st.integers(8, 14), st.floats(0.2, 0.4))
def test_no_important_part_longer_than_a_quarter_is_left_out(
    seed: int, n_shots: int, fraction: float
) -> None:
    rng = np.random.default_rng(seed)
    seconds = rng.integers(4, 16, n_shots).astype(float).tolist()
    duration_s = sum(seconds)
    features, shots = features_of(rng.integers(0, 40, n_shots).tolist(), seconds)
    importance = blocks(rng.uniform(0.05, 1, n_shots).tolist(), seconds)
    chosen = select(features, shots, importance, fraction * duration_s, slope=KNOWN)
    high = [shot for shot in chosen.shots if shot.score > np.median(importance) + 1e-6]
    for start, end in gaps_of(chosen.segments, duration_s):
        parts_s = [min(end, shot.end_s) - max(start, shot.start_s) for shot in high]
        # a window of 2 s does not fit if it has to be 2 s away from a window of the same shot
        assert end - start <= duration_s / 4 + 1 / FPS or max(parts_s, default=0) < 4


@pytest.mark.parametrize("fraction", [0.1, 0.2, 0.3])
def test_segment_is_not_mostly_of_worthless_pictures(fraction: float) -> None:
    seconds = [30.0, 6.0, 30.0, 6.0, 48.0]
    features, shots = features_of([0, 1, 0, 2, 0], seconds)
    importance = blocks([0.01, 0.9, 0.01, 0.95, 0.01], seconds)
    importance[72:74] = 0.9  # the first second of the third shot: the end of an event
    chosen = select(features, shots, importance, fraction * sum(seconds), slope=KNOWN)
    events = [(30, 37), (66, 72)]
    for start, end in chosen.segments:
        inside_s = max(min(end, last) - max(start, first) for first, last in events)
        assert inside_s >= (end - start) / 2 - 1 / FPS


@given(st.integers(0, 10**6), st.integers(8, 14), st.floats(0.15, 0.4))
def test_no_scene_is_repeated_before_another_of_half_its_importance(
    seed: int, n_shots: int, fraction: float
) -> None:
    rng = np.random.default_rng(seed)
    looks, seconds = rng.integers(0, 6, n_shots).tolist(), [10.0] * n_shots
    duration_s, values = sum(seconds), rng.uniform(0.05, 1, n_shots)
    chosen = select_from(looks, values.tolist(), seconds, fraction * duration_s, slope=KNOWN)
    shown = [looks[int(start // 10)] for start, _ in chosen.segments]
    best = {look: max(values[shot] for shot in range(n_shots) if looks[shot] == look) for look in looks}
    missing = max((value for look, value in best.items() if look not in shown), default=0)
    for number, look in enumerate(shown):
        others = [segment for place, segment in enumerate(chosen.segments) if place != number]
        is_needed = max(end - start for start, end in gaps_of(others, duration_s)) > 0.24 * duration_s
        assert shown.count(look) == 1 or missing < best[look] / 2 or is_needed


def select_from(
    looks: list[int], values: list[float], seconds: list[float], budget_s: float, **options: Any
) -> SelectedSegments:
    features, shots = features_of(looks, seconds)
    return select(features, shots, blocks(values, seconds), budget_s, **options)


NINE = list(range(9)), [10.0] * 9
"""Nine shots of ten seconds that look different."""


def test_quarter_is_filled_before_better_shots() -> None:
    looks, seconds = NINE
    values = [0.9, 0.8, 0.85, 0.8, 0.3, 0.3, 0.5, 0.3, 0.3]
    chosen = select_from(looks, values, seconds, 9.0).segments
    assert chosen[0][0] < 30
    assert any(start >= 60 and end <= 70 for start, end in chosen)


def test_another_look_comes_before_a_repeated_one() -> None:
    values = [0.7, 0.6, 0.69, 0.6, 0.68, 0.55, 0.67, 0.2]
    looks = [0, 1, 0, 2, 0, 3, 0, 4]
    selected = select_from(looks, values, [10.0] * 8, 8.0, slope=KNOWN).shots
    shown = [look for look, shot in zip(looks, selected, strict=True) if shot.selected]
    assert sorted(shown) == sorted(set(shown))
    assert len(shown) == 4


def test_shot_of_low_quality_gives_way_to_a_good_one() -> None:
    shots = [0, 1, 2], [0.9, 0.8, 0.1], [20.0, 20.0, 20.0]
    plain = select_from(*shots, 3.0)
    better = select_from(*shots, 3.0, quality=blocks([0.5, 1.0, 1.0], shots[2]))
    assert plain.segments[0][0] < 20 <= better.segments[0][0]
    assert [shot.score for shot in plain.shots] == [shot.score for shot in better.shots]


def select_around_a_cut(second: int, longest_s: float) -> tuple[Interval, ...]:
    """The peak lies at a cut, after which the picture looks like `second`."""
    seconds = [10.0, 10.0, 30.0, 30.0]
    features, shots = features_of([0, second, 2, 3], seconds)
    importance = blocks([0.1, 0.1, 0.1, 0.1], seconds)
    importance[16:24] = 0.9
    limits = SegmentLimits(1.5, longest_s)
    return select(features, shots, importance, 4.0, limits=limits).segments


@pytest.mark.parametrize("second", [0, 1], ids=["the same take", "another look"])
def test_touching_segments_are_one(second: int) -> None:
    segments = select_around_a_cut(second, 4.0)
    assert all(end < start for (_, end), (start, _) in pairwise(segments))


@pytest.mark.parametrize("second", [0, 1], ids=["the same take", "another look"])
def test_joined_segments_obey_the_users_maximum(second: int) -> None:
    assert all(end - start <= 3 for start, end in select_around_a_cut(second, 3.0))


@given(st.lists(st.floats(0.4, 9), min_size=1, max_size=12), st.integers(0, 99))
def test_short_videos_have_one_to_three_segments(seconds: list[float], seed: int) -> None:
    seconds = (np.round(2 * np.array(seconds)).clip(1) / 2).tolist()
    rng = np.random.default_rng(seed)
    features, shots = features_of(rng.integers(0, 40, len(seconds)).tolist(), seconds)
    assume(5 <= features.duration_s < 30)
    importance = rng.random(len(features)).astype(np.float32)
    assert 1 <= len(select(features, shots, importance, 5.0).segments) <= 3


def test_single_take_has_few_segments() -> None:
    importance = np.random.default_rng(0).random(40).astype(np.float32)
    segments = select(*features_of([0], [20.0]), importance, 5.0).segments
    assert len(segments) <= 2
    assert sum(end - start for start, end in segments) == pytest.approx(5, abs=0.04)


MANY_SHORT = [1.0, 6.0] * 5 + [1.0] * 10
"""Seconds of twenty shots, of which five are long."""
SPANS = list(pairwise(np.concatenate([[0], np.cumsum(MANY_SHORT)]).tolist()))
LONG_BUT_ONE = [(start, end) for start, end in SPANS if end - start > 1 and start > 5]


def select_from_short(**options: Any) -> tuple[Interval, ...]:
    """The short shots are better than the long ones."""
    return select_from(list(range(20)), [0.9, 0.5] * 5 + [0.8] * 10, MANY_SHORT, 8.0, **options).segments


def test_shots_shorter_than_the_minimum_are_no_segments() -> None:
    assert all(end - start >= 2 - 0.04 for start, end in select_from_short())


def test_short_shots_fill_the_budget_where_long_ones_are_dropped() -> None:
    chosen = select_from_short(drop=LONG_BUT_ONE)
    assert sum(end - start for start, end in chosen) > 7
    assert {span for span in chosen if span[1] - span[0] < 2} <= set(SPANS)


@st.composite
def short_shots(draw: st.DrawFn) -> tuple[tuple[Interval, ...], float]:
    """The segments of a film of short shots, and the budget."""
    seconds = draw(st.lists(st.sampled_from([0.5, 1.0, 1.5, 2.5, 6.0]), min_size=10, max_size=60))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    features, shots = features_of(rng.integers(0, 9, len(seconds)).tolist(), seconds)
    importance = rng.random(len(features)).astype(np.float32)
    budget_s = max(0.15 * features.duration_s, 5.0)
    return select(features, shots, importance, budget_s).segments, budget_s


@given(short_shots())
def test_no_segment_is_shorter_than_the_minimum(made: tuple[tuple[Interval, ...], float]) -> None:
    assert min(end - start for start, end in made[0]) >= 2 - 0.04 - 1e-6


@given(short_shots())
def test_short_shots_use_half_of_the_budget(made: tuple[tuple[Interval, ...], float]) -> None:
    segments, budget_s = made
    assert sum(end - start for start, end in segments) >= 0.5 * budget_s


def test_film_of_short_shots_has_segments_of_several() -> None:
    features, shots = features_of([number % 40 for number in range(60)], [1.0] * 60)
    importance = np.random.default_rng(0).random(len(features)).astype(np.float32)
    chosen = select(features, shots, importance, 9.0).segments
    assert min(end - start for start, end in chosen) >= 2 - 0.04
    assert sum(end - start for start, end in chosen) > 8
