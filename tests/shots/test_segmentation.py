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
from vidsum.shots.segmentation import apply_limits, equal_edges, find
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
    ],
    ids=["three", "longer video", "short shot", "minimum", "minimum above all"],
)
def test_shots_begin_where_features_change(
    features: Features, settings: dict[str, Any], edges_s: list[float]
) -> None:
    assert cut(features, **settings).edges_s.tolist() == edges_s


def test_uniform_shots_are_equal_and_no_longer_than_the_longest() -> None:
    assert cut(steps(40), shots="uniform", max_shot_s=4.0).edges_s.tolist() == [0, 4, 8, 12, 16, 20]


@pytest.mark.parametrize("n", [1, 2, 3, 8])
@pytest.mark.parametrize("method", METHODS)
def test_shots_of_few_samples_cover_the_video(method: str, n: int) -> None:
    features = Features.from_array(np.eye(8)[:n], video_fps=25.0)
    shots = cut(features, shots=method)
    assert (shots.edges_s[0], shots.edges_s[-1]) == (0, features.duration_s)


@pytest.mark.parametrize("method", METHODS)
def test_shots_name_their_method_and_frame_rate(method: str) -> None:
    shots = cut(Features.from_array(np.eye(8), video_fps=25.0), shots=method)
    assert (shots.method, shots.video_fps) == (method, 25.0)


def test_stills_count_as_their_samples() -> None:
    rng = np.random.default_rng(3)
    rows = np.repeat(sequence(rng, 60, 16, 5, 0.4), rng.integers(2, 8, 60), axis=0)
    edges_s = find(Features.from_array(rows, 2.0, video_fps=25.0)).edges_s
    assert edges_s[1:-1].tolist() == [place / 2 for place in direct_change_points(rows, shortest=2)]


def test_shots_of_a_slow_film_do_not_depend_on_the_sampling_rate() -> None:
    rows = sequence(np.random.default_rng(3), 120, 16, 8, 0.3)
    once = find(Features.from_array(rows, 0.5, video_fps=0.5))
    often = find(Features.from_array(np.repeat(rows, 4, axis=0), 2.0, video_fps=0.5))
    assert len(once) > 1
    np.testing.assert_allclose(often.edges_s, once.edges_s, atol=1.0)  # between samples


def test_slow_film_of_like_pictures_is_one_shot() -> None:
    slides = np.ones((100, 8)) + np.random.default_rng(3).normal(0, 0.1, (100, 8))
    assert len(find(Features.from_array(slides, 0.5, video_fps=0.5))) == 1


def test_kts_ignores_the_lengths_of_rows() -> None:
    features = steps(10, 20, 14)
    scaled = Features.from_array(features.array * np.linspace(1e-30, 1e30, 44)[:, None])
    assert find(scaled).edges_s.tolist() == find(features).edges_s.tolist()


def test_kts_without_limits_is_the_direct_implementation() -> None:
    rows = sequence(np.random.default_rng(0), 200, 32, 10, 0.3)
    shots = cut(Features.from_array(rows), min_shot_s=0, max_shot_s=math.inf)
    assert (shots.edges_s[1:-1] * 2).tolist() == direct_change_points(rows)


@pytest.mark.parametrize("rows", [np.ones((100, 4)), np.zeros((7200, 4))], ids=["ones", "an hour of zeros"])
def test_constant_features_are_one_shot(rows: Any) -> None:
    assert len(find(Features.from_array(rows))) == 1


def test_constant_features_are_cut_by_the_longest_shot() -> None:
    hour = Features.from_array(np.zeros((7200, 4)))
    assert np.diff(cut(hour, max_shot_s=60.0).edges_s).max() == 60.0


def test_no_shot_is_shorter_than_a_second_by_default() -> None:
    assert np.diff(find(steps(10, 1, 10)).edges_s).min() >= 1.0


def test_longest_shot_may_be_below_the_default_shortest() -> None:
    assert np.diff(cut(steps(10, 1, 10), max_shot_s=0.5).edges_s).max() == 0.5


@pytest.mark.parametrize("fps", [0.5, 2.0, 5.0, 29.97])
def test_limits_in_seconds_hold_at_any_rate(fps: float) -> None:
    rows = sequence(np.random.default_rng(1), 300, 16, 4, 0.2)
    lengths = np.diff(cut(Features.from_array(rows, fps), min_shot_s=2.0, max_shot_s=9.0).edges_s)
    assert lengths.min() >= 2.0 - 1e-6
    assert lengths.max() <= 9.0 + 1e-6


@pytest.mark.parametrize("max_shots", [1, 2, 5])
def test_most_shots_are_obeyed(max_shots: int) -> None:
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
def test_impossible_limits_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        cut(Features.from_array(np.ones((20, 2))), **parameters)


@pytest.mark.parametrize("method", METHODS)
def test_features_longer_than_the_video_are_refused(method: str) -> None:
    features = Features.from_array(np.ones((20, 2)), duration_s=9.5)
    with pytest.raises(UsageError, match=r"last feature is at 9.5 s, but the video ends at 9.5 s"):
        cut(features, shots=method)


def test_shots_that_take_too_much_memory_are_refused() -> None:
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
def test_number_of_equal_shots(duration: float, limits: dict[str, float], shots: int) -> None:
    edges = equal_edges(duration, 5.0, **limits)  # type: ignore[arg-type]
    np.testing.assert_allclose(edges, np.arange(shots + 1) * duration / shots)


@given(
    duration=st.floats(0.04, 7200),
    shot=st.floats(0.1, 100),
    max_shots=st.none() | st.integers(1, 50),
    min_shot=st.just(0.0) | st.floats(0.01, 50),
    max_shot=st.floats(0.5, 100) | st.just(math.inf),
)
def test_equal_shots_obey_limits_that_can_be_met(
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


@given(st.data())
def test_moved_starts_obey_the_limits_of_shots(data: Any) -> None:
    steps = np.array(data.draw(st.lists(st.integers(2, 6), min_size=2, max_size=8)))
    latest = np.cumsum(steps)[:-1].astype(float)
    early = np.array(data.draw(st.lists(st.floats(0, 0.99), min_size=len(latest), max_size=len(latest))))
    shortest, longest = float(steps.min()), float(steps.max())
    moved = apply_limits(latest - early, latest, float(steps.sum()), shortest, longest)
    lengths = np.diff([0.0, *moved, steps.sum()])
    assert (lengths >= shortest - 1e-9).all()
    assert (lengths <= longest + 1e-9).all()
    assert (moved <= latest).all()
    assert (moved > latest - 1).all()


def test_starts_within_the_limits_stay() -> None:
    assert apply_limits(np.array([1.7, 4.1]), np.array([2.0, 4.5]), 6.0, 1.0, 3.0).tolist() == [1.7, 4.1]
