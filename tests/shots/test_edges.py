"""Edges of equal shots, and of shots between detected cuts, within the limits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.errors import UsageError
from vidsum.shots.find import edges_between, equal_edges


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


seconds = st.floats(-5, 120, allow_nan=False).map(lambda time: round(time, 3))
cut_lists = st.lists(seconds, max_size=30).map(np.array)
durations = st.floats(0.04, 100).map(lambda time: round(time, 3))


@given(
    cuts=cut_lists,
    duration=durations,
    max_shots=st.none() | st.integers(1, 10),
    min_shot=st.floats(0, 20),
    max_shot=st.floats(0.5, 50) | st.just(math.inf),
)
def test_edges_between_tile_the_video(
    cuts: np.ndarray, duration: float, max_shots: int | None, min_shot: float, max_shot: float
) -> None:
    edges = edges_between(
        cuts, duration, max_shots=max_shots, min_shot_s=min_shot, max_shot_s=max(max_shot, min_shot)
    )
    assert edges[0] == 0
    assert edges[-1] == duration
    assert (np.diff(edges) > 0).all()
    assert np.diff(edges).max() <= max(max_shot, min_shot) * (1 + 1e-6)


@given(cuts=cut_lists, duration=durations, max_shots=st.integers(1, 10), min_shot=st.floats(0, 20))
def test_edges_between_are_cuts(cuts: np.ndarray, duration: float, max_shots: int, min_shot: float) -> None:
    edges = edges_between(cuts, duration, max_shots=max_shots, min_shot_s=min_shot)
    assert set(edges[1:-1]) <= set(cuts)
    assert len(edges) - 1 <= max_shots
    assert len(edges) == 2 or np.diff(edges).min() >= min_shot


@pytest.mark.parametrize(
    ("cuts", "duration_s", "limits", "expected"),
    [
        ([-1, 0, 9, 4, 20, 21], 20, {}, [0, 4, 9, 20]),
        ([4, 5, 8], 20, {"min_shot_s": 2.5}, [0, 4, 8, 20]),
        ([4, 5, 12], 20, {"min_shot_s": 2.5}, [0, 5, 12, 20]),
        ([4, 5, 9], 20, {"min_shot_s": 2.5}, [0, 5, 9, 20]),
        ([1, 9], 20, {"min_shot_s": 2.5}, [0, 9, 20]),
        ([9, 19], 20, {"min_shot_s": 2.5}, [0, 9, 20]),
        ([2, 3, 4, 5], 20, {"min_shot_s": 2.5}, [0, 5, 20]),
        ([3], 24, {"max_shot_s": 7.0}, [0, 3, 10, 17, 24]),
        ([0.1, 0.3], 0.6, {"max_shot_s": 0.3}, [0, 0.1, 0.3, 0.6]),
    ],
)
def test_edges_between(
    cuts: list[float], duration_s: float, limits: dict[str, float], expected: list[float]
) -> None:
    assert edges_between(np.array(cuts, float), duration_s, **limits).tolist() == expected  # type: ignore[arg-type]


def test_equal_edges_error() -> None:
    with pytest.raises(UsageError, match=r"at least 6 would be needed, at most 3 are allowed"):
        equal_edges(60.0, 5.0, max_shots=3, max_shot_s=10.0)
