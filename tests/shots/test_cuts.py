"""Shots between a detector's cuts: they tile the video and obey the limits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.shots.edges import edges_between

seconds = st.floats(-5, 120, allow_nan=False).map(lambda time: round(time, 3))
cut_lists = st.lists(seconds, max_size=30).map(np.array)
durations = st.floats(0.04, 100).map(lambda time: round(time, 3))


@given(
    cuts=cut_lists,
    duration=durations,
    max_shots=st.none() | st.integers(1, 10),
    min_shot=st.floats(0, 20),
    max_shot=st.floats(0.5, 50) | st.just(math.inf),
)
def test_shots_tile_the_video(
    cuts: np.ndarray, duration: float, max_shots: int | None, min_shot: float, max_shot: float
) -> None:
    edges = edges_between(
        cuts, duration, max_shots=max_shots, min_shot_s=min_shot, max_shot_s=max(max_shot, min_shot)
    )
    assert edges[0] == 0
    assert edges[-1] == duration
    assert (np.diff(edges) > 0).all()
    assert np.diff(edges).max() <= max(max_shot, min_shot) * (1 + 1e-6)


@given(cuts=cut_lists, duration=durations, max_shots=st.integers(1, 10), min_shot=st.floats(0, 20))
def test_without_splitting_all_shots_are_cuts_and_obey_the_limits(
    cuts: np.ndarray, duration: float, max_shots: int, min_shot: float
) -> None:
    edges = edges_between(cuts, duration, max_shots=max_shots, min_shot_s=min_shot)
    assert set(edges[1:-1]) <= set(cuts)
    assert len(edges) - 1 <= max_shots
    assert len(edges) == 2 or np.diff(edges).min() >= min_shot


@given(cuts=cut_lists, duration=durations)
def test_without_limits_each_cut_inside_the_video_starts_a_shot(cuts: np.ndarray, duration: float) -> None:
    inside = sorted({cut for cut in cuts.tolist() if 0 < cut < duration})
    assert edges_between(cuts, duration).tolist() == [0, *inside, duration]


@pytest.mark.parametrize(
    ("cuts", "expected"),
    [
        ([4, 5, 8], [0, 4, 8, 20]),
        ([4, 5, 12], [0, 5, 12, 20]),
        ([4, 5, 9], [0, 5, 9, 20]),
        ([1, 9], [0, 9, 20]),
        ([9, 19], [0, 9, 20]),
        ([2, 3, 4, 5], [0, 5, 20]),
    ],
    ids=["shorter after", "shorter before", "equal goes before", "first", "last", "many"],
)
def test_a_short_shot_joins_its_shorter_neighbour(cuts: list[float], expected: list[float]) -> None:
    assert edges_between(np.array(cuts, float), 20.0, min_shot_s=2.5).tolist() == expected


def test_a_long_shot_is_split_into_the_fewest_equal_ones() -> None:
    assert edges_between(np.array([3.0]), 24.0, max_shot_s=7.0).tolist() == [0, 3, 10, 17, 24]


def test_a_shot_of_exactly_the_longest_length_stays() -> None:
    assert edges_between(np.array([0.1, 0.3]), 0.6, max_shot_s=0.3).tolist() == [0, 0.1, 0.3, 0.6]
