"""Edges of equal shots, within the limits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.errors import UsageError
from vidsum.shots.find import equal_edges


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
