"""Shots as intervals and as frames."""

import numpy as np
import pytest

from vidsum.errors import UsageError
from vidsum.results.shots import Shots


def test_intervals_of_shots_lie_between_edges() -> None:
    assert Shots(np.array([0.0, 1.0, 2.5]), "uniform").intervals == [(0.0, 1.0), (1.0, 2.5)]


def test_change_points_are_the_first_and_last_frames_of_shots() -> None:
    shots = Shots(np.array([0.0, 1.0, 2.5]), "uniform", video_fps=30.0)
    assert shots.change_points.tolist() == [[0, 29], [30, 74]]


@pytest.mark.parametrize(
    "edges", [[0.0], [0.0, 0.0], [1.0, 0.5], [[0.0, 1.0]]], ids=["one", "equal", "decreasing", "matrix"]
)
def test_edges_that_do_not_increase_are_refused(edges: list[float]) -> None:
    with pytest.raises(UsageError, match="edges"):
        Shots(np.array(edges), "uniform")
