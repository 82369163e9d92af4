"""Runs of frames and cells of shots."""

import numpy as np
import pytest

from vidsum.summary.constraints import VideoFrames, cut_edges, free_cells, join_cells, marked_runs


def frames(required: range, dropped: range) -> VideoFrames:
    """Ten frames in four shots."""
    marks = np.zeros((2, 10), np.bool_)
    marks[0, required], marks[1, dropped] = True, True
    return VideoFrames(np.array([0, 2, 5, 7, 10]), marks[0], marks[1], 5, 25.0)


def test_shots_that_are_neither_in_nor_out_are_free() -> None:
    assert free_cells(frames(range(2, 5), range(7, 10))) == [(0, (0, 2)), (2, (5, 7))]


@pytest.mark.parametrize(
    ("span_s", "expected"),
    [((0.041, 0.079), (1, 2)), ((0.04, 0.04), (1, 2)), ((0.3, 9.0), (7, 10)), ((5.0, 6.0), (9, 10))],
    ids=["inside a frame", "of no length", "over the end", "behind the end"],
)
def test_span_has_the_frames_on_screen_and_at_least_one(
    span_s: tuple[float, float], expected: tuple[int, int]
) -> None:
    assert frames(range(0), range(0)).span(*span_s) == expected


def test_frames_that_are_not_dropped_are_left() -> None:
    assert frames(range(0), range(7, 10)).n_left == 7


def test_only_cells_that_touch_are_joined() -> None:
    cells = [(0, (0, 5)), (1, (5, 9)), (3, (12, 15))]
    assert join_cells(cells) == [(0, (0, 9)), (3, (12, 15))]


@pytest.mark.parametrize(
    ("breaks", "runs"), [((), [(1, 4), (6, 7)]), ((2, 5), [(1, 2), (2, 4), (6, 7)])], ids=["none", "breaks"]
)
def test_runs_of_marked_frames_are_cut_at_breaks(
    breaks: tuple[int, ...], runs: list[tuple[int, int]]
) -> None:
    marked = np.array([0, 1, 1, 1, 0, 0, 1], np.bool_)
    assert marked_runs(marked, breaks) == runs


def test_shots_are_cut_where_kept_and_dropped_parts_begin_and_end() -> None:
    required, dropped = np.zeros(10, np.bool_), np.zeros(10, np.bool_)
    required[2:4], dropped[7:] = True, True
    assert cut_edges(np.array([0, 5, 10]), required, dropped).tolist() == [0, 2, 4, 5, 7, 10]
