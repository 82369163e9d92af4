"""What the public types accept and derive."""

from pathlib import Path

import numpy as np
import pytest

from tests import media
from vidsum.errors import UsageError
from vidsum.results.features import Features
from vidsum.results.shots import Shots
from vidsum.results.summary import Summary
from vidsum.video.probe import probe


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


def test_features_of_a_video_have_its_length_and_rate(tmp_path: Path) -> None:
    film = media.make_video(tmp_path / "film.mp4", n_frames=50).path
    video = probe(film)
    features = Features.from_array(np.ones((round(video.duration_s * 4), 3)), fps=4.0, video=film)
    assert features.video == video
    assert (features.duration_s, features.video_fps) == (video.duration_s, video.fps)
    with pytest.raises(UsageError, match=r"3 features at 0\.1 a second are 30 s") as error:
        Features.from_array(np.ones((3, 1)), fps=0.1, video=video)
    assert error.value.hint == f"fps={3 / video.duration_s:.4g}"
