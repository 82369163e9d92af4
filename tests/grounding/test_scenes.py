"""Scenes: runs of shots that look alike, against their definition, one shot at a time."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.grounding.scenes import find_scenes, scene_cosine
from vidsum.models.scaling import unit_rows

LENGTHS = st.lists(st.integers(1, 5), min_size=1, max_size=8)


def slow_scenes(rows: np.ndarray, edges: list[int], least: float) -> list[int]:
    """One row a second: the edges of scenes."""
    starts, unit = [0], unit_rows(rows)
    for start, end in pairwise(edges[1:]):
        before, shot = unit[starts[-1] : start].mean(axis=0), unit[start:end].mean(axis=0)
        if before @ shot / np.linalg.norm(before) / np.linalg.norm(shot) < least:
            starts.append(start)
    return [*starts, edges[-1]]


@given(LENGTHS, st.integers(0, 99), st.sampled_from([0.3, 0.6, 0.9]))
def test_a_shot_that_does_not_look_like_all_before_it_begins_a_scene(
    lengths: list[int], seed: int, least: float
) -> None:
    edges = np.cumsum([0, *lengths])
    rng = np.random.default_rng(seed)
    looks = rng.random((len(lengths), 4)) ** 3 + 0.01
    rows = np.repeat(looks, lengths, axis=0) * rng.uniform(0.5, 2, (edges[-1], 1))
    found = find_scenes(rows.astype(np.float32), np.arange(edges[-1]) + 0.5, edges.astype(float), least)
    assert found.tolist() == slow_scenes(rows, edges.tolist(), least)


def test_a_shot_between_two_samples_looks_like_the_one_before() -> None:
    rows = np.array([[1, 0], [0, 1], [0, 1]], np.float32)
    edges_s = np.array([0.0, 1.6, 1.8, 3.0])
    assert find_scenes(rows, np.array([0.5, 1.5, 2.5]), edges_s, 0.8).tolist() == [0, 1.6, 3]


def test_a_video_of_zeros_has_a_scene_a_shot() -> None:
    edges_s = np.array([0.0, 2, 4])
    assert find_scenes(np.zeros((4, 3), np.float32), np.arange(4.0), edges_s, 0.5).tolist() == [0, 2, 4]


@pytest.mark.parametrize("name", ["efficientnet_lite0", "vse", "clip"])
def test_scenes_are_looser_than_looks(name: str) -> None:
    assert 0.5 < scene_cosine(name) < 0.9
