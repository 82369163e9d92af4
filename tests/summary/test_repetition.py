"""Which shots repeat each other: by a plain loop over pairs, and in summaries."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vidsum.summary.repetition import repetition_groups, within_shot_distance
from vidsum.summary.selection import select
from vidsum.types import Features, Shots

FPS = 25.0


def video_of(scenes: list[int], noise: float, seed: int = 0) -> Features:
    """Four seconds at 2 fps of each scene; scenes of one number look alike but for noise."""
    rng = np.random.default_rng(seed)
    looks = np.eye(max(scenes) + 1, 32)
    rows = np.repeat(looks[scenes], 8, axis=0) + noise * rng.random((8 * len(scenes), 32))
    return Features.from_array(rows.astype(np.float32), fps=2.0, video_fps=FPS)


def shots_of(n_scenes: int) -> Shots:
    return Shots(4.0 * np.arange(n_scenes + 1), method="test", video_fps=FPS)


def slow_groups(rows: np.ndarray, shot_of: list[int], n_shots: int) -> list[int]:
    """The same by loops, in double precision."""
    units = [row / np.linalg.norm(row) for row in rows.astype(np.float64)]
    steps = [
        1 - one @ other
        for (one, other), (first, second) in zip(
            itertools.pairwise(units), itertools.pairwise(shot_of), strict=True
        )
        if first == second
    ]
    usual = float(np.median(steps)) if steps else 0.0
    groups = list(range(n_shots))
    for later in range(n_shots):
        for earlier in range(later):
            means = [
                np.mean([unit for unit, shot in zip(units, shot_of, strict=True) if shot == number], axis=0)
                for number in (earlier, later)
                if number in shot_of
            ]
            if groups[earlier] != earlier or len(means) < 2:
                continue
            cosine = means[0] @ means[1] / np.linalg.norm(means[0]) / np.linalg.norm(means[1])
            if 1 - cosine < usual - 1e-5:
                groups[later] = earlier
                break
    return groups


@settings(max_examples=60)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=25), st.integers(0, 1000))
def test_groups_are_those_of_a_plain_loop(steps: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    looks = rng.random((4, 6)) + 0.1
    shot_of = np.cumsum(np.array(steps) > 3)
    scene_of = rng.integers(0, 4, 30)[shot_of]
    rows = (looks[scene_of] + 0.2 * rng.random((len(steps), 6))).astype(np.float32)
    n_shots = int(shot_of[-1]) + 1 + int(rng.integers(2))
    groups = repetition_groups(Features.from_array(rows), shot_of, n_shots)
    assert groups.tolist() == slow_groups(rows, shot_of.tolist(), n_shots)


def test_shots_beyond_one_block_find_their_first_look() -> None:
    scenes = [number % 20 for number in range(300)]
    groups = repetition_groups(video_of(scenes, 0.2), np.repeat(np.arange(300), 8), 300)
    assert groups.tolist() == scenes


def test_the_usual_distance_leaves_out_cuts() -> None:
    rows = np.array([[1, 0], [1, 0], [0, 1], [0.6, 0.8]], np.float32)
    assert within_shot_distance(rows, np.array([0, 0, 1, 1])) == pytest.approx(0.1)  # of 0 and 0.2
    assert within_shot_distance(rows, np.array([0, 1, 2, 3])) == 0


def test_zeros_are_features_too() -> None:
    features = Features.from_array(np.zeros((6, 3), np.float32))
    assert repetition_groups(features, np.array([0, 0, 1, 1, 2, 2]), 3).tolist() == [0, 1, 2]


def test_a_summary_shows_what_differs_before_it_repeats() -> None:
    features = video_of([0, 1, 0, 2, 0], 0.2)
    importance = np.repeat([0.9, 0.3, 0.8, 0.4, 1.0], 8).astype(np.float32)
    for budget_s, expected in [(4, [16]), (8, [12, 16]), (12, [4, 12, 16]), (16, [0, 4, 12, 16])]:
        selected = select(features, shots_of(5), importance, budget_s)
        assert [shot.start_s for shot in selected.shots if shot.selected] == expected


def test_what_is_kept_is_not_repeated() -> None:
    features = video_of([0, 1, 0, 2, 1], 0.2)
    importance = np.repeat([0.2, 0.9, 0.8, 0.4, 1.0], 8).astype(np.float32)
    selected = select(features, shots_of(5), importance, 12, keep=[(0, 4)])
    assert [shot.start_s for shot in selected.shots if shot.selected] == [0, 12, 16]


@settings(max_examples=60)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=7), st.integers(1, 28), st.integers(0, 99))
def test_a_summary_is_filled_with_repetitions_if_need_be(scenes: list[int], budget_s: int, seed: int) -> None:
    importance = np.random.default_rng(seed).random(8 * len(scenes)).astype(np.float32)
    selected = select(video_of(scenes, 0.2, seed), shots_of(len(scenes)), importance, float(budget_s))
    used = sum(end - start for start, end in selected.segments)
    left = [shot.end_s - shot.start_s for shot in selected.shots if not shot.selected]
    assert used <= max(budget_s, 1 / FPS) + 1e-9
    assert all(used + length > budget_s - 1e-9 for length in left)
