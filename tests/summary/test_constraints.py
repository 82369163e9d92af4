"""Runs of frames and cells of shots."""

import numpy as np
import pytest

from vidsum.summary.constraints import cut_edges, join_cells, marked_runs


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
