"""Selected segments: never none, within the budget, and as the user requires."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.conftest import fewer_examples
from tests.media import video_info
from vidsum.errors import UsageError
from vidsum.results.features import Features
from vidsum.results.shots import Shots
from vidsum.summary.selection import SegmentLimits, SelectedSegments, select
from vidsum.types import FloatArray

FPS = 25.0
WHOLE = {"limits": SegmentLimits(1.0, None)}
"""Whole shots, not pieces of them."""


def video(duration_s: float, fps: float = 2.0) -> Features:
    n = max(1, int(np.ceil(duration_s * fps)))
    return Features.from_array(np.ones((n, 2)), fps=fps, duration_s=duration_s, video_fps=FPS)


def varied(duration_s: float, fps: float = 2.0) -> Features:
    rows = np.random.default_rng(0).normal(size=(max(1, int(np.ceil(duration_s * fps))), 64))
    return replace(video(duration_s, fps), array=rows.astype(np.float32))


def cut(*edges_s: float) -> Shots:
    return Shots(np.array(edges_s, dtype=np.float64), method="test", video_fps=FPS)


def length(selected: SelectedSegments) -> float:
    return sum(end - start for start, end in selected.segments)


def blocks(values: Sequence[float], counts: Any) -> Any:
    return np.repeat(np.array(values, np.float32), counts)


def test_whole_shots_of_the_highest_mean_are_selected() -> None:
    importance = blocks([0.2, 0.9, 0.5, 0.4], 20)
    assert select(video(40), cut(0, 10, 20, 30, 40), importance, 20.0, **WHOLE).segments == ((10, 30),)


def test_long_good_shot_is_selected_before_short_weak_ones() -> None:
    importance = blocks([0.2, 0.8, 0.2, 0.2], [4, 20, 4, 4])
    assert select(video(16), cut(0, 2, 12, 14, 16), importance, 10.0, **WHOLE).segments == ((2, 12),)


def test_budget_is_filled_by_whole_shots_where_all_are_equal() -> None:
    shots = cut(0, 10, 22, 27, 32, 40)
    assert select(video(40), shots, blocks([0.5], 80), 10.0, **WHOLE).segments == ((22, 32),)


def test_video_as_long_as_the_budget_is_kept_to_its_end() -> None:
    assert select(video(9.99), cut(0, 4, 9.99), blocks([1], 20), 9.99).segments == ((0, 9.99),)


def test_frame_in_which_keep_and_drop_meet_is_kept() -> None:
    parts: dict[str, Any] = {"keep": [(0, 10.5)], "drop": [(10.5, 40)]}
    assert select(video(40), cut(0, 40), blocks([1], 80), 12.0, **parts).segments == ((0, 10.52),)


def test_single_take_gives_its_middle_peak() -> None:
    importance = np.full(120, 0.2, np.float32)
    importance[[20, 21, 22, 23, 70, 71, 72, 73, 100, 101, 102, 103]] = 0.8
    assert select(video(60), cut(0, 60), importance, 3.0).segments == ((34.52, 37.52),)


@pytest.mark.parametrize("seed", range(20))
def test_whole_shots_are_the_best_choice(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 12, 8)  # seconds, each a sample and 25 frames
    edges = np.concatenate([[0], np.cumsum(lengths)])
    importance = rng.uniform(0.1, 1, edges[-1]).astype(np.float32)
    budget = int(rng.integers(12, 30))
    sums = [importance[start:end].sum() for start, end in itertools.pairwise(edges)]
    best = max(
        sum(sums[i] for i in chosen)
        for size in range(9)
        for chosen in itertools.combinations(range(8), size)
        if sum(lengths[list(chosen)]) <= budget
    )
    selected = select(video(float(edges[-1]), 1.0), cut(*edges), importance, float(budget), **WHOLE)
    total = sum(shot.score * (shot.end_s - shot.start_s) for shot in selected.shots if shot.selected)
    assert total == pytest.approx(best, abs=1e-5)


def test_shot_longer_than_the_budget_gives_its_best_part() -> None:
    importance = np.array([0.1] * 42 + [0.9] * 20 + [0.1] * 38, np.float32)
    selected = select(video(50), cut(0, 50), importance, 10.0, **WHOLE)
    assert selected.segments == ((21, 31),)
    assert [(shot.score, shot.selected) for shot in selected.shots] == [(pytest.approx(0.9), True)]


def test_shot_without_a_sample_has_the_score_of_the_sample_before_it() -> None:
    features = Features(np.ones((2, 1), np.float32), np.array([0.0, 5.0]), 5.0, 5.0, 10.0, FPS)
    selected = select(features, cut(0, 1, 2, 4, 10), np.array([0.2, 0.8], np.float32), 3.0)
    assert [shot.score for shot in selected.shots] == pytest.approx([0.2, 0.2, 0.2, 0.8])


def test_budget_above_the_length_keeps_all_with_a_message() -> None:
    selected = select(video(10.02), cut(0, 4, 10.02), np.zeros(21, np.float32), 60.0)
    assert selected.segments == ((0, 10.02),)
    assert "keeping all" in selected.messages[0]


@pytest.mark.parametrize(("drop", "is_named"), [((), False), (((0.0, 1.0),), True)])
def test_message_that_all_is_kept_names_what_is_dropped(
    drop: tuple[tuple[float, float], ...], is_named: bool
) -> None:
    selected = select(video(10.0), cut(0, 4, 10.0), np.zeros(20, np.float32), 60.0, drop=drop)
    assert ("except what is dropped" in selected.messages[0]) == is_named


def test_good_shots_are_selected_with_their_scores() -> None:
    importance = np.repeat([0.9, 0.3, 0.8, 0.75], [32, 8, 32, 32]).astype(np.float32)
    selected = select(varied(52), cut(0, 16, 20, 36, 52), importance, 12.0)
    assert [shot.selected for shot in selected.shots] == [True, False, True, True]
    assert len(selected.segments) > 3
    assert [shot.score for shot in selected.shots] == pytest.approx([0.9, 0.3, 0.8, 0.75])


RISING = np.arange(20, dtype=np.float32) / 20


def test_shots_of_half_a_second_alone_are_selected_all_the_same() -> None:
    flashes = cut(*np.arange(0, 10.5, 0.5))
    assert 0 < length(select(video(10), flashes, RISING, 1.5)) <= 1.5


FOUR_SECONDS = Features.from_array(np.eye(16), fps=4.0, video_fps=4.0)
SECONDS = Shots(np.arange(5.0), "uniform", video_fps=4.0)
WORTH = np.repeat(np.array([0.02, 1.0, 0.06, 0.5], np.float32), 4)


def test_shot_of_little_worth_fills_the_budget_before_a_lesser_one() -> None:
    assert select(FOUR_SECONDS, SECONDS, WORTH, 3.0, **WHOLE).segments == ((1.0, 4.0),)


def test_shot_of_little_worth_is_selected_where_the_better_ones_are_dropped() -> None:
    features = Features.from_array(np.eye(20), fps=4.0, video_fps=4.0)
    shots = Shots(np.arange(6.0), "uniform", video_fps=4.0)
    worth = np.repeat(np.array([0.02, 1.0, 0.06, 0.5, 0.03], np.float32), 4)
    selected = select(features, shots, worth, 2.0, drop=[(1.0, 2.0), (3.0, 4.0)], **WHOLE)
    assert selected.segments == ((2.0, 3.0), (4.0, 5.0))


def test_all_that_is_not_dropped_is_kept_where_it_fits() -> None:
    selected = select(FOUR_SECONDS, SECONDS, WORTH, 2.0, drop=[(1.0, 2.0), (3.0, 4.0)], **WHOLE)
    assert selected.segments == ((0.0, 1.0), (2.0, 3.0))


def test_kept_shot_may_take_the_whole_budget() -> None:
    assert select(FOUR_SECONDS, SECONDS, WORTH, 1.0, keep=[(0.0, 1.0)]).segments == ((0.0, 1.0),)


@pytest.mark.parametrize("longest_s", [5.0, None], ids=["pieces", "whole shots"])
def test_budget_is_used_where_nothing_is_important(longest_s: float | None) -> None:
    zeros = np.zeros(80, np.float32)
    selected = select(video(40), cut(0, 10, 20, 30, 40), zeros, 20.0, limits=SegmentLimits(1.0, longest_s))
    assert 15 <= length(selected) <= 20


@pytest.mark.parametrize("duration_s", [0.04, 0.05, 0.5])
def test_video_of_a_frame_has_a_summary(duration_s: float) -> None:
    selected = select(video(duration_s), cut(0, duration_s), np.zeros(1, np.float32), 0.15 * duration_s)
    assert 0 < length(selected) <= 1.5 / FPS  # of a video that ends within a frame, all of it


def test_shots_between_frames_of_a_broadcast_rate_have_their_own_sample() -> None:
    array, fps = np.ones((40, 1), np.float32), 30000 / 1001
    features = Features(array, np.arange(40) / 2, 0.5, 0.5, 20.0, fps)
    importance = np.arange(40, dtype=np.float32) / 40
    shots = cut(*(features.timestamps.tolist()), 20.0)
    assert [shot.score for shot in select(features, shots, importance, 5).shots] == importance.tolist()


def test_shot_shorter_than_a_frame_is_no_hole_in_the_whole_video() -> None:
    features = replace(video(1.0), video=video_info(duration_s=1.0))
    selected = select(features, cut(0, 0.0165, 0.6, 1.0), np.ones(2, np.float32), 1.0, keep=[(0, 0.5)])
    assert selected.segments == ((0, 1.0),)


def test_kept_part_is_whole_where_cuts_lie_between_frames() -> None:
    features = replace(video(4), video=video_info(duration_s=4))
    shots = cut(0, 0.215, 1.005, 4)  # inside the frames that begin at .20 and end at 1.00 s
    selected = select(features, shots, np.ones(8, np.float32), 2.0, keep=[(0.203, 1.0)])
    start, end = selected.segments[0]
    assert start <= 0.203
    assert end >= 1.0


@pytest.mark.parametrize(("keep", "drop", "complaint"), [
    ([(50, 60)], [], "after the video's end"), ([], [(-1, 3)], "not a time range"),
    ([(3, 3)], [], "not a time range"), ([(1, 5)], [(4, 6)], "overlap"),
    ([(0, 30)], [], "more than the budget"), ([], [(0, 40)], "leaves nothing"),
], ids=["behind the end", "before 0", "empty", "overlapping", "over budget", "all dropped"])  # fmt: skip
def test_impossible_keep_and_drop_are_refused(
    keep: list[tuple[float, float]], drop: list[tuple[float, float]], complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        select(video(40), cut(0, 40), np.ones(80, np.float32), 20.0, keep=keep, drop=drop)


@st.composite
def segments(draw: st.DrawFn, duration_s: float) -> list[tuple[float, float]]:
    times = sorted(draw(st.lists(st.floats(0, duration_s * 0.99), max_size=4, unique=True)))
    return [(a, b) for a, b in zip(times[::2], times[1::2], strict=False) if b - a > 0.1]


@dataclass(frozen=True)
class Selected:
    """A summary of a made-up video, and what it had to obey."""

    duration_s: float
    budget_s: float
    keep: list[tuple[float, float]]
    drop: list[tuple[float, float]]
    result: SelectedSegments


@st.composite
def selections(draw: st.DrawFn) -> Selected:
    duration_s, rng = draw(st.floats(0.05, 60)), np.random.default_rng(draw(st.integers(0, 99)))
    shortest_s, longest_s = draw(st.sampled_from([(1.0, 5.0), (0.5, 0.5), (2.0, 30.0), (1.0, None)]))
    # of a film, edges stay where they are, though they are between frames
    film = video_info(duration_s=duration_s) if draw(st.booleans()) else None
    features = replace(video(duration_s), video=film)
    inside = rng.uniform(0, duration_s, draw(st.integers(0, 12)))
    shots = cut(*np.unique(np.concatenate([[0], inside, [duration_s]])))
    importance = rng.random(len(features)).astype(np.float32)
    budget_s = draw(st.floats(0.01, duration_s * 1.2))
    keep, drop = draw(segments(duration_s)), draw(segments(duration_s))
    limits = SegmentLimits(shortest_s, longest_s)
    try:
        result = select(features, shots, importance, budget_s, keep=keep, drop=drop, limits=limits)
    except UsageError:
        assume(False)
    return Selected(duration_s, budget_s, keep, drop, result)


BY_PROPERTY = fewer_examples(2)


@BY_PROPERTY
@given(selections())
def test_summary_is_within_its_budget_and_not_empty(made: Selected) -> None:
    assert 0 < length(made.result) <= made.budget_s + 1e-6


@BY_PROPERTY
@given(selections())
def test_segments_are_in_order_apart_and_within_the_video(made: Selected) -> None:
    edges = [edge for segment in made.result.segments for edge in segment]
    assert edges == sorted(edges)
    assert all(start < end for start, end in made.result.segments)
    assert edges[0] >= 0
    assert edges[-1] <= made.duration_s


@BY_PROPERTY
@given(selections())
def test_kept_parts_are_in_the_summary(made: Selected) -> None:
    for start, end in made.keep:
        assert any(first <= start + 1e-6 and end <= last + 1 / FPS for first, last in made.result.segments)


@BY_PROPERTY
@given(selections())
def test_dropped_parts_are_not_in_the_summary(made: Selected) -> None:
    for start, end in made.drop:
        assert all(last <= start + 1 / FPS or first >= end - 1 / FPS for first, last in made.result.segments)


@BY_PROPERTY
@given(selections())
def test_selected_shots_are_those_that_segments_show(made: Selected) -> None:
    shots = made.result.shots
    assert sum(shot.end_s - shot.start_s for shot in shots) == pytest.approx(made.duration_s, abs=1 / FPS)
    for shot in shots:
        overlaps = (min(end, shot.end_s) > max(start, shot.start_s) for start, end in made.result.segments)
        assert shot.selected == any(overlaps)


@dataclass(frozen=True)
class Pieces:
    """Pieces of shots, with strict limits, of less than half of a video."""

    edges_s: FloatArray
    shortest_s: float
    longest_s: float
    result: SelectedSegments


@st.composite
def chosen_pieces(draw: st.DrawFn) -> Pieces:
    lengths = draw(st.lists(st.floats(1.2, 12), min_size=1, max_size=8))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    shortest_s, longest_s = draw(st.floats(0.3, 1.2)), draw(st.floats(1.2, 9))
    edges_s = np.round(np.concatenate([[0], np.cumsum(lengths)]) * FPS) / FPS
    features = varied(float(edges_s[-1]))
    importance = rng.random(len(features)).astype(np.float32)
    budget_s = max(draw(st.floats(0.02, 0.45)) * edges_s[-1], shortest_s + 1 / FPS)
    assume(budget_s < edges_s[-1] / 2)
    limits = SegmentLimits(shortest_s, longest_s)
    return Pieces(
        edges_s, shortest_s, longest_s, select(features, cut(*edges_s), importance, budget_s, limits=limits)
    )


@BY_PROPERTY
@given(chosen_pieces())
def test_every_part_of_a_shot_has_the_minimum_length(made: Pieces) -> None:
    for start, end in made.result.segments:
        parts = (min(end, last) - max(start, first) for first, last in pairwise(made.edges_s))
        assert all(part >= made.shortest_s - 1 / FPS for part in parts if part > 1e-6)


@BY_PROPERTY
@given(chosen_pieces())
def test_every_piece_is_within_the_limits(made: Pieces) -> None:
    for start, end in made.result.segments:
        assert made.shortest_s - 1 / FPS <= end - start <= made.longest_s + 1e-6


@BY_PROPERTY
@given(chosen_pieces())
def test_pieces_are_apart(made: Pieces) -> None:
    for (_, end), (start, _) in pairwise(made.result.segments):
        assert start - end >= made.shortest_s / 4 - 2 / FPS


@pytest.mark.parametrize("seed", range(5))
def test_less_than_a_second_of_the_budget_is_left(seed: int) -> None:
    rng = np.random.default_rng(seed)
    importance = np.convolve(rng.random(26), np.ones(7) / 7, "valid").astype(np.float32)
    for budget_s in np.arange(1, 10, 0.5):
        chosen = select(video(10), cut(0, 10), importance, float(budget_s), limits=SegmentLimits(1.0, 5.0))
        assert budget_s - 1 < length(chosen) <= budget_s + 1e-6


PEAK_AT_CUT = np.repeat([0.1, 0.9, 0.9, 0.1], [18, 2, 2, 18]).astype(np.float32)


def test_pieces_that_touch_at_a_cut_are_one() -> None:
    selected = select(varied(20), cut(0, 10, 20), PEAK_AT_CUT, 2.0, limits=SegmentLimits(1.0))
    assert selected.segments == ((9, 11),)


def test_whole_shots_that_touch_are_one_segment() -> None:
    importance = np.repeat([0.5, 0.9, 0.0], [16, 12, 12]).astype(np.float32)
    assert select(varied(20), cut(0, 8, 14, 20), importance, 14.0).segments == ((0, 14),)


def test_kept_part_goes_on_over_a_cut() -> None:
    # within a shot, and over the edge in the part that is kept, there is no cut
    selected = select(video(20), cut(0, 10, 20), PEAK_AT_CUT, 3.0, keep=[(9.6, 10.4)])
    assert selected.segments == ((7.4, 10.4),)


def test_kept_part_does_not_move_the_edges_of_other_shots() -> None:
    selected = select(video(40), cut(0, 10, 20, 30, 40), np.ones(80, np.float32), 10.0, keep=[(0, 9.8)])
    assert [(shot.start_s, shot.end_s) for shot in selected.shots[2:]] == [(10, 20), (20, 30), (30, 40)]


def test_keep_and_drop_hold_together() -> None:
    importance = np.repeat([0.2, 0.9, 0.5, 0.4], 20).astype(np.float32)
    shots = cut(0, 10, 20, 30, 40)
    selected = select(video(40), shots, importance, 20.0, keep=[(32, 36)], drop=[(10, 20)])
    assert any(start <= 32 and end >= 36 for start, end in selected.segments)
    assert all(end <= 10 or start >= 20 for start, end in selected.segments)
    assert length(selected) <= 20


def test_word_without_an_end_does_not_empty_the_summary() -> None:
    assert length(select(video(10), cut(0, 10), RISING, 2.0, uncut=[(-1.0, 11.0)])) == 2


def test_kept_part_may_cut_a_word() -> None:
    words = [(1.8, 2.2), (4.8, 5.2)]
    chosen = select(video(10), cut(0, 5, 10), np.ones(20, np.float32), 1.0, keep=[(2.0, 3.0)], uncut=words)
    assert chosen.segments == ((2.0, 3.0),)


@pytest.mark.parametrize("budget_s", [9.0, 1.5, 20.0])
@pytest.mark.parametrize("longest_s", [5.0, None], ids=["pieces", "whole shots"])
def test_no_word_is_cut(budget_s: float, longest_s: float | None) -> None:
    features = Features.from_array(np.random.default_rng(0).normal(size=(60, 8)), fps=2.0)
    shots = Shots(np.arange(0, 31, 2.0), "uniform")
    importance = np.random.default_rng(1).random(60).astype(np.float32)
    words = [(start + 0.3, start + 0.9) for start in np.arange(1.5, 29, 1.0).tolist()]
    limits = SegmentLimits(1.0, longest_s)
    without = select(features, shots, importance, budget_s, limits=limits).segments
    chosen = select(features, shots, importance, budget_s, uncut=words, limits=limits).segments

    def cuts(segments: tuple[tuple[float, float], ...]) -> int:
        edges = [edge for segment in segments for edge in segment]
        return sum(start < edge < end for edge in edges for start, end in words)

    assert cuts(without) > 0
    assert cuts(chosen) == 0
    assert 0 < sum(end - start for start, end in chosen) <= budget_s + 1e-9
