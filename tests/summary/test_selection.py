"""What is kept: never nothing, never more than the budget, and as the user insists."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from vidsum.errors import UsageError
from vidsum.summary.selection import Selected, select
from vidsum.types import Features, Shots

FPS = 25.0


def video(duration_s: float, fps: float = 2.0) -> Features:
    n = max(1, int(np.ceil(duration_s * fps)))
    return Features.from_array(np.ones((n, 2)), fps=fps, duration_s=duration_s, video_fps=FPS)


def cut(*edges_s: float) -> Shots:
    return Shots(np.array(edges_s, dtype=np.float64), method="test", video_fps=FPS)


def length(selected: Selected) -> float:
    return sum(end - start for start, end in selected.segments)


def test_the_shots_with_the_highest_mean_importance_are_chosen() -> None:
    importance = np.repeat([0.2, 0.9, 0.5, 0.4], 20).astype(np.float32)
    selected = select(video(40), cut(0, 10, 20, 30, 40), importance, 20.0)
    assert selected.segments == ((10, 30),)
    assert [shot.score for shot in selected.shots] == pytest.approx([0.2, 0.9, 0.5, 0.4])
    assert [shot.selected for shot in selected.shots] == [False, True, True, False]


@pytest.mark.parametrize("seed", range(20))
def test_the_choice_is_the_best_of_all_choices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 12, 8)  # seconds, each of 2 samples and 25 frames
    edges = np.concatenate([[0], np.cumsum(lengths)])
    importance = rng.random(2 * edges[-1]).astype(np.float32)
    budget = int(rng.integers(12, 30))
    sums = [importance[2 * start : 2 * end].sum() for start, end in itertools.pairwise(edges)]
    best = max(
        sum(sums[i] for i in chosen)
        for size in range(9)
        for chosen in itertools.combinations(range(8), size)
        if sum(lengths[list(chosen)]) <= budget
    )
    selected = select(video(float(edges[-1])), cut(*edges), importance, float(budget))
    total = sum(shot.score * 2 * (shot.end_s - shot.start_s) for shot in selected.shots if shot.selected)
    assert total == pytest.approx(best, abs=1e-5)


def test_one_good_shot_comes_before_short_weak_ones() -> None:
    importance = np.repeat([0.2, 0.8, 0.2, 0.2], [4, 20, 4, 4]).astype(np.float32)
    selected = select(video(16), cut(0, 2, 12, 14, 16), importance, 10.0)
    assert selected.segments == ((2, 12),)


def test_a_flat_curve_does_not_give_the_opening_but_as_many_shots_as_fit() -> None:
    selected = select(video(40), cut(0, 10, 22, 27, 32, 40), np.full(80, 0.5, np.float32), 10.0)
    assert selected.segments == ((22, 32),)


def test_a_shot_longer_than_the_budget_is_split() -> None:
    importance = np.array([0.1] * 40 + [0.9] * 20 + [0.1] * 40, np.float32)
    selected = select(video(50), cut(0, 50), importance, 10.0)
    assert selected.segments == ((20, 30),)
    assert len(selected.shots) == 5


def test_a_shot_between_two_samples_takes_the_nearest() -> None:
    features = Features(np.ones((2, 1), np.float32), np.array([0.0, 5.0]), 5.0, 5.0, 10.0, FPS)
    selected = select(features, cut(0, 1, 2, 4, 10), np.array([0.2, 0.8], np.float32), 3.0)
    assert [shot.score for shot in selected.shots[:3]] == pytest.approx([0.2, 0.2, 0.8])


def test_a_video_that_fits_is_kept_whole_with_a_message() -> None:
    selected = select(video(10.02), cut(0, 4, 10.02), np.zeros(21, np.float32), 60.0)
    assert selected.segments == ((0, 10.02),)
    assert "keeping all" in selected.messages[0]


def test_shots_that_show_nothing_do_not_fill_the_budget() -> None:
    importance = np.repeat(np.array([0.02, 1.0, 0.06, 0.5], np.float32), 4)
    features = Features.from_array(np.eye(16), fps=4.0, video_fps=4.0)
    shots = Shots(np.arange(5.0), "uniform", video_fps=4.0)
    assert select(features, shots, importance, 3.0).segments == ((1.0, 4.0),)
    # with less importance in what is left, the same shot is worth its time
    assert select(features, shots, importance, 2.0, drop=[(1.0, 2.0), (3.0, 4.0)]).segments == (
        (0.0, 1.0),
        (2.0, 3.0),
    )
    assert select(features, shots, importance, 1.0, keep=[(0.0, 1.0)]).segments == ((0.0, 1.0),)


def test_importance_of_zero_everywhere_still_gives_a_summary() -> None:
    assert length(select(video(40), cut(0, 10, 20, 30, 40), np.zeros(80, np.float32), 20.0)) == 20


@pytest.mark.parametrize("duration_s", [0.04, 0.05, 0.5])
def test_the_shortest_videos_keep_a_frame(duration_s: float) -> None:
    selected = select(video(duration_s), cut(0, duration_s), np.zeros(1, np.float32), 0.15 * duration_s)
    assert 0 < length(selected) <= 1.5 / FPS  # of a video that ends within a frame, all of it


def test_a_budget_of_the_whole_length_keeps_the_last_part_of_a_frame() -> None:
    selected = select(video(9.99), cut(0, 4, 9.99), np.ones(20, np.float32), 9.99)
    assert selected.segments == ((0, 9.99),)


def test_samples_at_an_edge_belong_to_the_shot_that_starts_there_at_broadcast_rates() -> None:
    array, fps = np.ones((40, 1), np.float32), 30000 / 1001
    features = Features(array, np.arange(40) / 2, 0.5, 0.5, 20.0, fps)
    importance = np.arange(40, dtype=np.float32) / 40
    shots = cut(*(features.timestamps.tolist()), 20.0)
    assert [shot.score for shot in select(features, shots, importance, 5).shots] == importance.tolist()


def test_keep_and_drop_may_touch_within_a_frame() -> None:
    ones = np.ones(80, np.float32)
    selected = select(video(40), cut(0, 40), ones, 12.0, keep=[(0, 10.5)], drop=[(10.5, 40)])
    assert selected.segments == ((0, 10.52),)


def test_what_keep_leaves_of_the_budget_does_not_chop_up_the_shots() -> None:
    ones = np.ones(80, np.float32)
    selected = select(video(40), cut(0, 10, 20, 30, 40), ones, 10.0, keep=[(0, 9.8)])
    assert [(shot.start_s, shot.end_s) for shot in selected.shots[2:]] == [(10, 20), (20, 30), (30, 40)]


def test_keep_counts_against_the_budget_and_drop_is_out() -> None:
    importance = np.repeat([0.2, 0.9, 0.5, 0.4], 20).astype(np.float32)
    shots = cut(0, 10, 20, 30, 40)
    selected = select(video(40), shots, importance, 20.0, keep=[(32, 36)], drop=[(10, 20)])
    assert any(start <= 32 and end >= 36 for start, end in selected.segments)
    assert all(end <= 10 or start >= 20 for start, end in selected.segments)
    assert length(selected) <= 20


@pytest.mark.parametrize(
    ("keep", "drop", "complaint"),
    [
        ([(50, 60)], [], "after the video's end"),
        ([], [(-1, 3)], "not a time range"),
        ([(3, 3)], [], "not a time range"),
        ([(1, 5)], [(4, 6)], "overlap"),
        ([(0, 30)], [], "more than the budget"),
        ([], [(0, 40)], "leaves nothing"),
    ],
)
def test_wishes_that_cannot_be_met_are_refused(
    keep: list[tuple[float, float]], drop: list[tuple[float, float]], complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        select(video(40), cut(0, 40), np.ones(80, np.float32), 20.0, keep=keep, drop=drop)


@st.composite
def segments(draw: st.DrawFn, duration_s: float) -> list[tuple[float, float]]:
    times = sorted(draw(st.lists(st.floats(0, duration_s * 0.99), max_size=4, unique=True)))
    return [(a, b) for a, b in zip(times[::2], times[1::2], strict=False) if b - a > 0.1]


@settings(max_examples=300, deadline=None)
@given(data=st.data(), duration_s=st.floats(0.05, 120), seed=st.integers(0, 99))
def test_any_summary_obeys_budget_keep_and_drop(data: st.DataObject, duration_s: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    features = video(duration_s)
    inside = rng.uniform(0, duration_s, data.draw(st.integers(0, 12)))
    shots = cut(*np.unique(np.concatenate([[0], inside, [duration_s]])))
    importance = rng.random(len(features)).astype(np.float32)
    budget_s = data.draw(st.floats(0.01, duration_s * 1.2))
    keep, drop = data.draw(segments(duration_s)), data.draw(segments(duration_s))
    try:
        selected = select(features, shots, importance, budget_s, keep=keep, drop=drop)
    except UsageError:
        assume(False)
    frame_s = 1 / FPS
    whole = selected.segments == ((0, duration_s),)  # then the end is the video's, not a frame's
    assert 0 < length(selected) <= max(budget_s, frame_s) + (frame_s / 2 if whole else 1e-6)
    edges = [edge for segment in selected.segments for edge in segment]
    assert edges == sorted(set(edges))
    assert edges[0] >= 0
    assert edges[-1] <= duration_s
    for start, end in keep:
        assert any(first <= start + 1e-6 and end <= last + frame_s for first, last in selected.segments)
    for start, end in drop:
        assert all(last <= start + frame_s or first >= end - frame_s for first, last in selected.segments)
    assert sum(shot.end_s - shot.start_s for shot in selected.shots) == pytest.approx(duration_s, abs=frame_s)
