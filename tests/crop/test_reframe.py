"""The path of a crop."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vidsum.crop.reframe import SPEED, plan_path

SHARES = st.floats(0.05, 0.97)


@st.composite
def scored(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    steps = draw(st.lists(st.floats(0.04, 0.6), min_size=1, max_size=30))
    scores = draw(arrays(np.float64, (len(steps), draw(st.integers(2, 40))), elements=st.floats(0, 1)))
    return np.cumsum(steps), scores


@given(scored(), SHARES)
def test_path_stays_within_the_picture(case: tuple[np.ndarray, np.ndarray], share: float) -> None:
    times_s, scores = case
    path = plan_path(times_s, scores, share)
    assert len(path) == len(times_s)
    assert np.all((path >= 0) & (path <= 1))


@given(scored(), SHARES)
def test_path_is_never_too_quick(case: tuple[np.ndarray, np.ndarray], share: float) -> None:
    times_s, scores = case
    lengths = np.abs(np.diff(plan_path(times_s, scores, share))) * (1 - share) / share
    assert np.all(lengths <= SPEED * np.diff(times_s) + 1e-6)


@given(scored(), SHARES)
def test_path_of_constant_scores_stands_at_the_best_place(
    case: tuple[np.ndarray, np.ndarray], share: float
) -> None:
    times_s, scores = case
    path = plan_path(times_s, np.tile(scores[0], (len(times_s), 1)), share)
    assert np.ptp(path) < 1e-9
    place = round(path[0] * (scores.shape[1] - 1))
    assert scores[0, place] >= scores[0].max() - 1e-4


TIMES_S, PLACES = np.arange(0, 12, 0.25), np.linspace(0, 1, 65)


def test_path_follows_motion() -> None:
    moved = np.clip((TIMES_S - 4) / 4, 0, 1)
    path = plan_path(TIMES_S, np.exp(-(((PLACES - moved[:, None]) / 0.15) ** 2)), 0.4)
    assert path[0] == pytest.approx(0.0, abs=0.15)
    assert path[-1] == pytest.approx(1.0, abs=0.15)
    assert np.all(np.diff(path) >= -1e-9)


def test_path_takes_its_time_where_the_best_place_jumps() -> None:
    times_s = np.arange(0, 8, 0.2)
    left, right = (np.exp(-(((PLACES - place) / 0.15) ** 2)) for place in (0, 1))
    path = plan_path(times_s, np.where(times_s[:, None] < 4, left, right), 0.4)
    assert (path[0], path[-1]) == (0, 1)
    assert np.all(np.abs(np.diff(path)) * (1 - 0.4) / 0.4 <= SPEED * np.diff(times_s) + 1e-6)


def test_path_ignores_what_happens_for_a_moment() -> None:
    scores = np.tile(np.exp(-(((PLACES - 0.2) / 0.15) ** 2)), (len(TIMES_S), 1))
    scores[20] = scores[20, ::-1]
    assert np.ptp(plan_path(TIMES_S, scores, 0.4)) < 1e-9
