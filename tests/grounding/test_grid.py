"""Features on one grid of clips, against a slow direct average."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.grounding.grid import grid, on_grid
from vidsum.types import Features


def features(starts_s: npt.ArrayLike, covers_s: float, duration_s: float = 60.0) -> Features:
    """Features with these clips; row n is (n, n squared)."""
    numbers = np.arange(len(np.atleast_1d(starts_s)), dtype=np.float32)
    return Features(
        array=np.stack([numbers, numbers**2], axis=1),
        timestamps=np.asarray(starts_s, np.float64),
        step_s=1.0,
        covers_s=covers_s,
        duration_s=duration_s,
        video_fps=25.0,
    )


@pytest.mark.parametrize(
    ("duration_s", "step_s", "starts"),
    [(3.0, 1.0, [0, 1, 2]), (3.01, 1.0, [0, 1, 2, 3]), (0.2, 1.0, [0]), (2.0, 0.64, [0, 0.64, 1.28, 1.92])],
)
def test_a_grid_covers_the_whole_video(duration_s: float, step_s: float, starts: list[float]) -> None:
    np.testing.assert_allclose(grid(duration_s, step_s), starts)


def test_rounding_of_the_length_adds_no_clip() -> None:
    assert len(grid(0.1 * 3, 0.1)) == 3  # 0.30000000000000004


@given(
    gaps=st.lists(st.floats(0.05, 4), min_size=1, max_size=12),
    covers_s=st.floats(0.1, 5),
    step_s=st.floats(0.2, 3),
)
def test_each_clip_is_the_mean_of_the_features_by_the_time_shared(
    gaps: list[float], covers_s: float, step_s: float
) -> None:
    one = features(np.cumsum(gaps), covers_s)
    times = grid(sum(gaps) + covers_s + 2, step_s)
    found = on_grid(one.array, one, times, step_s)
    for time, row in zip(times, found, strict=True):
        shared = [
            max(0.0, min(begin + covers_s, time + step_s) - max(begin, time)) for begin in one.timestamps
        ]
        if sum(shared) > 1e-9:
            expected = np.average(one.array, axis=0, weights=shared)
            np.testing.assert_allclose(row, expected, rtol=1e-4, atol=1e-4)
        elif sum(shared) == 0:
            assert row.tolist() in one.array.tolist()


def test_clips_that_no_feature_covers_take_the_nearest() -> None:
    one = features([2.0, 10.0], covers_s=1.0)
    found = on_grid(one.array, one, grid(14.0, 1.0), 1.0)[:, 0]
    assert found.tolist() == [0] * 7 + [1] * 7  # the middles of the two are at 2.5 and 10.5


def test_a_single_feature_is_that_of_every_clip() -> None:
    one = features([0.0], covers_s=0.5)
    assert on_grid(one.array + 7, one, grid(3.0, 1.0), 1.0).tolist() == [[7, 7]] * 3
