"""One function for all ways of cutting a video: defaults, limits in seconds, and every wrong parameter."""

import math
from typing import Any, get_args

import numpy as np
import pytest

from tests.shots.conftest import sequence
from tests.shots.direct import direct_change_points
from vidsum.errors import UsageError
from vidsum.results.features import Features
from vidsum.results.shots import Shots
from vidsum.shots.find import find
from vidsum.shots.settings import ShotMethod, ShotSettings

METHODS = get_args(ShotMethod)


def _cut(features: Features, **settings: Any) -> Shots:
    return find(features, ShotSettings(**settings))


def _steps(*lengths: int, fps: float = 2.0, duration_s: float | None = None) -> Features:
    """Features that are the same for so many samples, then turn at a right angle."""
    labels = np.repeat(np.arange(len(lengths)), lengths)
    return Features.from_array(np.eye(len(lengths))[labels], fps, duration_s=duration_s)


def test_kts_puts_edges_where_the_features_change() -> None:
    shots = find(_steps(10, 20, 14))
    assert shots.edges_s.tolist() == [0, 5, 15, 22]
    assert shots.method == "kts"


def test_kts_looks_at_directions_not_at_lengths() -> None:
    features = _steps(10, 20, 14)
    scaled = Features.from_array(features.array * np.linspace(1e-30, 1e30, 44)[:, None])
    assert find(scaled).edges_s.tolist() == find(features).edges_s.tolist()


def test_kts_without_limits_is_the_direct_implementation() -> None:
    rows = sequence(np.random.default_rng(0), 200, 32, 10, 0.3)
    shots = _cut(Features.from_array(rows), min_shot_s=0, max_shot_s=math.inf)
    assert (shots.edges_s[1:-1] * 2).tolist() == direct_change_points(rows)


@pytest.mark.parametrize("method", METHODS)
def test_video_fps_and_video_are_handed_on(method: str) -> None:
    features = Features.from_array(np.ones((8, 2)), video_fps=25.0)
    shots = _cut(features, shots=method)
    assert shots.video_fps == 25.0
    assert shots.method == method


def test_uniform_and_transnetv2_obey_the_same_limits() -> None:
    features = Features.from_array(np.ones((40, 2)))
    transitions = np.zeros((200, 1))
    transitions[[29, 34, 119]] = 1  # cuts at 3, 3.5 and 12 s
    uniform = _cut(features, shots="uniform", max_shot_s=4.0)
    seen = Features.from_array(transitions, fps=10.0)
    between = _cut(seen, shots="transnetv2", min_shot_s=1.0, max_shot_s=6.0)
    assert uniform.edges_s.tolist() == [0, 4, 8, 12, 16, 20]
    assert between.edges_s.tolist() == [0, 3.5, 7.75, 12, 16, 20]


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("method", METHODS)
def test_a_few_samples_are_cut_without_a_fault(method: str, n: int) -> None:
    features = Features.from_array(np.eye(3)[:n])
    shots = _cut(features, shots=method)
    assert shots.edges_s[0] == 0
    assert shots.edges_s[-1] == features.duration_s


def test_constant_features_are_one_shot_unless_its_length_is_limited() -> None:
    assert len(find(Features.from_array(np.ones((100, 4))))) == 1
    hour = Features.from_array(np.zeros((7200, 4)))
    assert len(find(hour)) == 1
    assert np.diff(_cut(hour, max_shot_s=60.0).edges_s).max() == 60.0


def test_how_often_a_picture_is_sampled_does_not_change_the_shots() -> None:
    rows = sequence(np.random.default_rng(3), 120, 16, 8, 0.3)
    once = find(Features.from_array(rows, 0.5, video_fps=0.5))
    often = find(Features.from_array(np.repeat(rows, 4, axis=0), 2.0, video_fps=0.5))
    assert len(once) > 1
    np.testing.assert_allclose(often.edges_s, once.edges_s, atol=1.0)  # between samples


def test_the_last_shot_reaches_to_the_end_of_the_video() -> None:
    shots = find(_steps(10, 20, duration_s=15.4))
    assert shots.edges_s.tolist() == [0, 5, 15.4]


def test_kts_keeps_shots_of_at_least_a_second_unless_asked() -> None:
    features = _steps(10, 1, 10)
    assert np.diff(find(features).edges_s).min() >= 1.0
    assert _cut(features, min_shot_s=0.5).edges_s.tolist() == [0, 5, 5.5, 10.5]
    assert np.diff(_cut(features, max_shot_s=0.5).edges_s).max() == 0.5


@pytest.mark.parametrize("fps", [0.5, 2.0, 5.0, 29.97])
def test_limits_in_seconds_hold_at_any_rate(fps: float) -> None:
    rows = sequence(np.random.default_rng(1), 300, 16, 4, 0.2)
    lengths = np.diff(_cut(Features.from_array(rows, fps), min_shot_s=2.0, max_shot_s=9.0).edges_s)
    assert lengths.min() >= 2.0 - 1e-6
    assert lengths.max() <= 9.0 + 1e-6


@pytest.mark.parametrize("min_shot_s", [8.0, 100.0])
def test_a_video_shorter_than_two_shortest_shots_is_one(min_shot_s: float) -> None:
    assert _cut(_steps(5, 10), min_shot_s=min_shot_s).edges_s.tolist() == [0, 7.5]


@pytest.mark.parametrize("max_shots", [1, 2, 5])
def test_a_small_number_of_shots_lifts_the_default_longest(max_shots: int) -> None:
    rows = sequence(np.random.default_rng(2), 2000, 8, 20, 0.2)
    assert len(_cut(Features.from_array(rows), max_shots=max_shots)) <= max_shots


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"shots": "scenes"}, "shots must be one of kts"),
        ({"max_shots": 0}, "at least 1"),
        ({"min_shot_s": -1.0}, "at least 0, not -1"),
        ({"min_shot_s": math.inf}, "inf s, is longer than the longest"),
        ({"min_shot_s": math.nan}, "a number, not nan"),
        ({"max_shot_s": 0.0}, "above 0, not 0"),
        ({"max_shot_s": 0.01}, "at least as long as a frame, not 0.01"),
        ({"max_shot_s": math.nan}, "a number, not nan"),
        ({"min_shot_s": 5.0, "max_shot_s": 4.0}, "longer than the longest"),
        ({"max_shots": 2, "max_shot_s": 4.0}, "20 samples, 0.5 s apart, cannot be cut into at most 2 shots"),
        ({"min_shot_s": 6.0, "max_shot_s": 7.0}, "cannot be cut into at most 1 shots of 12 to 14 samples"),
        ({"max_shot_s": 0.2}, "cannot be cut"),
        ({"shots": "uniform", "max_shots": 2, "max_shot_s": 4.0}, "cannot be cut into equal shots"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        _cut(Features.from_array(np.ones((20, 2))), **parameters)


@pytest.mark.parametrize("method", METHODS)
def test_features_longer_than_the_video_are_refused(method: str) -> None:
    features = Features.from_array(np.ones((20, 2)), duration_s=9.5)
    with pytest.raises(UsageError, match=r"last feature is at 9.5 s, but the video ends at 9.5 s"):
        _cut(features, shots=method)


def test_more_memory_than_a_laptop_has_is_refused_before_it_is_taken() -> None:
    features = Features.from_array(np.ones((30000, 1)))
    with pytest.raises(UsageError, match="takes too much memory") as error:
        _cut(features, max_shot_s=math.inf)
    assert error.value.hint == "lower --max-shot, or sample fewer frames a second"
