"""Shots of an annotated video: first and last frames."""

from typing import Any

import numpy as np
import pytest

from vidsum.lab.datasets.group import shot_frames

TEN = 10


class Group:
    """A group of an HDF5 file that has change points alone."""

    def __init__(self, *points: tuple[int, int]) -> None:
        self.points, self.warnings = np.array(points), list[str]()

    def needed(self, name: str) -> Any:
        return self.points

    def fault(self, text: str) -> Exception:
        return ValueError(text)


def shots_of(*points: tuple[int, int]) -> tuple[list[list[int]], list[str]]:
    group: Any = Group(*points)
    return shot_frames(group, TEN).tolist(), group.warnings


def test_shot_that_ends_with_the_last_frame_stays() -> None:
    assert shots_of((0, 4), (5, 9)) == ([[0, 4], [5, 9]], [])


def test_shot_that_ends_a_frame_behind_the_video_is_cut_with_a_warning() -> None:
    assert shots_of((0, 4), (5, 10)) == ([[0, 4], [5, 9]], ["the last shot ends at frame 10 of 10: cut"])


@pytest.mark.parametrize("points", [((0, 5), (5, 9)), ((5, 9), (0, 4)), ((4, 0), (5, 9))])
def test_shots_that_overlap_or_go_back_are_refused(points: tuple[tuple[int, int], ...]) -> None:
    with pytest.raises(ValueError, match="overlap or do not increase"):
        shots_of(*points)


def test_shot_that_begins_behind_the_video_is_refused() -> None:
    with pytest.raises(ValueError, match="but n_frames is 10"):
        shots_of((0, 4), (12, 13))
