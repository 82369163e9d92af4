"""Features of arrays: their times, lengths and types, and arrays that are none."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import vidsum
from tests.media import make_video
from vidsum.errors import UsageError
from vidsum.results.features import Features, _check


@pytest.fixture
def features() -> Features:
    return Features.from_array(np.ones((5, 3)), fps=2.0)


def test_video_may_last_a_minute_and_twice_as_long_as_its_features_cover(features: Features) -> None:
    seen_s = 2.0 + features.covers_s + features.step_s
    _check(replace(features, duration_s=2 * seen_s + 60))
    with pytest.raises(UsageError, match="but its features end at 3 s"):
        _check(replace(features, duration_s=2 * seen_s + 61))


def test_rate_of_a_video_that_no_camera_has_is_refused(features: Features) -> None:
    with pytest.raises(UsageError, match="frames a second"):
        _check(replace(features, video_fps=1e7))


def test_scores_for_another_number_of_features_are_refused(features: Features) -> None:
    with pytest.raises(UsageError, match=r"5 features have logits of the shape \[4, 2\]"):
        _check(replace(features, logits=np.zeros((4, 2), np.float32)))


def test_features_of_an_array_have_times_by_their_rate(features: Features) -> None:
    assert features.timestamps.tolist() == [0, 0.5, 1, 1.5, 2]
    assert (features.step_s, features.duration_s) == (0.5, 2.5)


def test_features_of_an_array_have_its_size(features: Features) -> None:
    assert (features.dim, len(features)) == (3, 5)


def test_features_of_an_array_are_of_32_bits(features: Features) -> None:
    assert features.array.dtype == np.float32


@pytest.mark.parametrize("fps", [0, -1, np.nan])
def test_rate_that_is_not_positive_is_refused(fps: float) -> None:
    with pytest.raises(UsageError, match="fps must be positive"):
        Features.from_array(np.ones((5, 3)), fps=fps)


def test_times_that_do_not_increase_are_refused() -> None:
    with pytest.raises(UsageError, match="increase"):
        Features(np.ones((2, 1), np.float32), np.ones(2), 0.5, 0.5, 2.0, 30.0)


@pytest.mark.parametrize(
    "array",
    [np.ones(5), np.ones((0, 3)), np.ones((3, 0)), np.ones((2, 2, 2)), np.float32(1), [[np.nan]], [[np.inf]]],
    ids=["vector", "no rows", "no columns", "cube", "number", "not a number", "infinite"],
)
def test_array_that_is_no_finite_matrix_is_refused(array: object) -> None:
    with pytest.raises(UsageError):
        Features.from_array(array)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_video(tmp_path_factory.mktemp("films") / "film.mp4", n_frames=50).path


def test_features_of_a_video_have_its_facts(film: Path) -> None:
    video = vidsum.probe(film)
    features = Features.from_array(np.ones((round(video.duration_s * 4), 3)), fps=4.0, video=film)
    assert features.video == video
    assert (features.duration_s, features.video_fps) == (video.duration_s, video.fps)


def test_features_that_are_too_many_for_their_video_are_refused_with_a_rate(film: Path) -> None:
    video = vidsum.probe(film)
    with pytest.raises(UsageError, match=r"3 features at 0\.1 a second are 30 s") as error:
        Features.from_array(np.ones((3, 1)), fps=0.1, video=video)
    assert error.value.hint == f"fps={3 / video.duration_s:.4g}"
