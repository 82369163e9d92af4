"""Shots by any method: defaults, limits in seconds, and errors."""

import math
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.shots.conftest import sequence
from tests.shots.direct import direct_change_points
from vidsum.errors import UsageError
from vidsum.results.features import Features
from vidsum.results.shots import Shots
from vidsum.shots.segmentation import equal_edges, find
from vidsum.shots.settings import ShotMethod, ShotSettings

METHODS = get_args(ShotMethod)


def cut(features: Features, **settings: Any) -> Shots:
    return find(features, ShotSettings(**settings))


def steps(*lengths: int, fps: float = 2.0, duration_s: float | None = None) -> Features:
    """Features that are equal for these numbers of samples, then turn at a right angle."""
    labels = np.repeat(np.arange(len(lengths)), lengths)
    return Features.from_array(np.eye(len(lengths))[labels], fps, duration_s=duration_s)


@pytest.mark.parametrize(
    ("features", "settings", "edges_s"),
    [
        (steps(10, 20, 14), {}, [0, 5, 15, 22]),
        (steps(10, 20, duration_s=15.4), {}, [0, 5, 15.4]),
        (steps(10, 1, 10), {"min_shot_s": 0.5}, [0, 5, 5.5, 10.5]),
        (steps(5, 10), {"min_shot_s": 8.0}, [0, 7.5]),
        (steps(5, 10), {"min_shot_s": 100.0}, [0, 7.5]),
        (steps(40), {"shots": "uniform", "max_shot_s": 4.0}, [0, 4, 8, 12, 16, 20]),
    ],
)
def test_find_edges(features: Features, settings: dict[str, Any], edges_s: list[float]) -> None:
    assert cut(features, **settings).edges_s.tolist() == edges_s


@pytest.mark.parametrize("n", [1, 2, 3, 8])
@pytest.mark.parametrize("method", METHODS)
def test_find_few_samples(method: str, n: int) -> None:
    features = Features.from_array(np.eye(8)[:n], video_fps=25.0)
    shots = cut(features, shots=method)
    assert (shots.edges_s[0], shots.edges_s[-1]) == (0, features.duration_s)
    assert (shots.method, shots.video_fps) == (method, 25.0)


def test_find_counts_stills_as_their_samples() -> None:
    rng = np.random.default_rng(3)
    rows = np.repeat(sequence(rng, 60, 16, 5, 0.4), rng.integers(2, 8, 60), axis=0)
    edges_s = find(Features.from_array(rows, 2.0, video_fps=25.0)).edges_s
    assert edges_s[1:-1].tolist() == [place / 2 for place in direct_change_points(rows, shortest=2)]


def test_find_slow_film() -> None:
    rng = np.random.default_rng(3)
    rows = sequence(rng, 120, 16, 8, 0.3)
    once = find(Features.from_array(rows, 0.5, video_fps=0.5))
    often = find(Features.from_array(np.repeat(rows, 4, axis=0), 2.0, video_fps=0.5))
    assert len(once) > 1
    np.testing.assert_allclose(often.edges_s, once.edges_s, atol=1.0)  # between samples
    slides = np.ones((100, 8)) + rng.normal(0, 0.1, (100, 8))
    assert len(find(Features.from_array(slides, 0.5, video_fps=0.5))) == 1


def test_find_kts_ignores_lengths() -> None:
    features = steps(10, 20, 14)
    scaled = Features.from_array(features.array * np.linspace(1e-30, 1e30, 44)[:, None])
    assert find(scaled).edges_s.tolist() == find(features).edges_s.tolist()


def test_find_kts_is_the_direct_implementation() -> None:
    rows = sequence(np.random.default_rng(0), 200, 32, 10, 0.3)
    shots = cut(Features.from_array(rows), min_shot_s=0, max_shot_s=math.inf)
    assert (shots.edges_s[1:-1] * 2).tolist() == direct_change_points(rows)


def test_find_constant_features() -> None:
    assert len(find(Features.from_array(np.ones((100, 4))))) == 1
    hour = Features.from_array(np.zeros((7200, 4)))
    assert len(find(hour)) == 1
    assert np.diff(cut(hour, max_shot_s=60.0).edges_s).max() == 60.0


def test_find_kts_default_shortest() -> None:
    features = steps(10, 1, 10)
    assert np.diff(find(features).edges_s).min() >= 1.0
    assert np.diff(cut(features, max_shot_s=0.5).edges_s).max() == 0.5


@pytest.mark.parametrize("fps", [0.5, 2.0, 5.0, 29.97])
def test_find_limits_at_any_rate(fps: float) -> None:
    rows = sequence(np.random.default_rng(1), 300, 16, 4, 0.2)
    lengths = np.diff(cut(Features.from_array(rows, fps), min_shot_s=2.0, max_shot_s=9.0).edges_s)
    assert lengths.min() >= 2.0 - 1e-6
    assert lengths.max() <= 9.0 + 1e-6


@pytest.mark.parametrize("max_shots", [1, 2, 5])
def test_find_max_shots(max_shots: int) -> None:
    rows = sequence(np.random.default_rng(2), 600, 8, 20, 0.2)
    assert len(cut(Features.from_array(rows), max_shots=max_shots)) <= max_shots


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
def test_find_errors(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        cut(Features.from_array(np.ones((20, 2))), **parameters)


@pytest.mark.parametrize("method", METHODS)
def test_find_features_longer_than_the_video(method: str) -> None:
    features = Features.from_array(np.ones((20, 2)), duration_s=9.5)
    with pytest.raises(UsageError, match=r"last feature is at 9.5 s, but the video ends at 9.5 s"):
        cut(features, shots=method)


def test_find_memory_limit() -> None:
    features = Features.from_array(np.ones((30000, 1)))
    with pytest.raises(UsageError, match="takes too much memory") as error:
        cut(features, max_shot_s=math.inf)
    assert error.value.hint == "lower max_shot_s, or sample fewer frames a second"


@pytest.mark.parametrize(
    ("duration", "limits", "shots"),
    [
        (60.0, {}, 12),
        (62.0, {}, 12),
        (63.0, {}, 13),
        (1.0, {}, 1),
        (60.0, {"max_shots": 3}, 3),
        (60.0, {"min_shot_s": 7.0}, 8),
        (60.0, {"max_shot_s": 2.0}, 30),
        (60.0, {"max_shot_s": 2.9}, 21),
        (60.0, {"min_shot_s": 100.0}, 1),
    ],
)
def test_equal_edges(duration: float, limits: dict[str, float], shots: int) -> None:
    edges = equal_edges(duration, 5.0, **limits)  # type: ignore[arg-type]
    np.testing.assert_allclose(edges, np.arange(shots + 1) * duration / shots)


@given(
    duration=st.floats(0.04, 7200),
    shot=st.floats(0.1, 100),
    max_shots=st.none() | st.integers(1, 50),
    min_shot=st.just(0.0) | st.floats(0.01, 50),
    max_shot=st.floats(0.5, 100) | st.just(math.inf),
)
def test_equal_edges_limits(
    duration: float, shot: float, max_shots: int | None, min_shot: float, max_shot: float
) -> None:
    try:
        edges = equal_edges(duration, shot, max_shots=max_shots, min_shot_s=min_shot, max_shot_s=max_shot)
    except UsageError:
        fewest = math.ceil(duration / max_shot - 1e-9)
        assert (max_shots is not None and fewest > max_shots) or fewest * min_shot > duration * (1 - 1e-9)
        return
    lengths = np.diff(edges)
    assert edges[0] == 0
    assert edges[-1] == duration
    np.testing.assert_allclose(lengths, lengths[0], rtol=1e-6)
    assert len(lengths) <= (max_shots or math.inf)
    assert len(lengths) == 1 or lengths.min() >= min_shot * (1 - 1e-6)
    assert lengths.max() <= max_shot * (1 + 1e-6)
