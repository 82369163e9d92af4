"""What the public types accept and derive."""

import numpy as np
import pytest

from vidsum.errors import UsageError
from vidsum.types import Features, Shots, Summary


def test_features_made_elsewhere_get_the_times_of_their_rate() -> None:
    features = Features.from_array(np.ones((5, 3)), fps=2.0)
    assert features.timestamps.tolist() == [0, 0.5, 1, 1.5, 2]
    assert (features.step_s, features.duration_s, features.dim, len(features)) == (0.5, 2.5, 3, 5)
    assert features.array.dtype == np.float32


@pytest.mark.parametrize(
    "array",
    [np.ones(5), np.ones((0, 3)), np.ones((3, 0)), np.ones((2, 2, 2)), np.float32(1), [[np.nan]], [[np.inf]]],
)
def test_arrays_that_are_no_features_are_refused(array: object) -> None:
    with pytest.raises(UsageError):
        Features.from_array(array)  # type: ignore[arg-type]


@pytest.mark.parametrize("fps", [0, -1, float("nan")])
def test_a_rate_must_be_positive(fps: float) -> None:
    with pytest.raises(UsageError, match="fps must be positive"):
        Features.from_array(np.ones((5, 3)), fps=fps)


def test_timestamps_must_increase() -> None:
    with pytest.raises(UsageError, match="increase"):
        Features(np.ones((2, 1), np.float32), np.array([1.0, 1.0]), 0.5, 0.5, 2.0, 30.0)


def test_shots_tile_the_video_in_frames_as_in_seconds() -> None:
    shots = Shots(np.array([0.0, 1.0, 2.5]), method="uniform", video_fps=30.0)
    assert shots.intervals == [(0.0, 1.0), (1.0, 2.5)]
    assert shots.change_points.tolist() == [[0, 29], [30, 74]]


@pytest.mark.parametrize("edges", [[0.0], [0.0, 0.0], [1.0, 0.5], [[0.0, 1.0]]])
def test_edges_that_do_not_increase_are_refused(edges: list[float]) -> None:
    with pytest.raises(UsageError):
        Shots(np.array(edges), method="uniform")


def test_a_summary_lasts_as_long_as_its_segments() -> None:
    summary = Summary(
        segments=((1.0, 2.0), (5.0, 7.5)),
        shots=(),
        importance=np.ones(3, np.float32),
        timestamps=np.arange(3.0),
        budget_s=4.0,
        video_duration_s=10.0,
        video_fps=25.0,
        model="uniform",
        shot_method="kts",
    )
    assert summary.duration_s == 3.5
