"""Moving footage against frozen footage, by made-up features."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vidsum.results.features import Features
from vidsum.summary.motion import motion


def lively(n: int, dim: int = 1280, seed: int = 0) -> np.ndarray:
    """Features as ordinary footage has them: a few hundred units answer, others in each sample."""
    rng = np.random.default_rng(seed)
    return rng.exponential(0.3, (n, dim)).astype(np.float32) + 0.1


def motion_of(array: np.ndarray) -> np.ndarray:
    return motion(Features.from_array(array, 2.0))


def test_ordinary_footage_moves() -> None:
    assert motion_of(lively(30)).min() > 0.95


def test_frozen_footage_does_not_move() -> None:
    assert motion_of(np.repeat(lively(1), 30, axis=0)).max() == 0


def test_motion_ends_where_footage_freezes() -> None:
    array = lively(30)
    curve = motion_of(np.concatenate([array, np.repeat(array[-1:], 9, axis=0)]))
    assert curve[[0, 29, 38]] == pytest.approx([1, 0, 0], abs=0.05)


def test_motion_changes_at_a_cut() -> None:
    curve = motion_of(np.concatenate([lively(8), np.repeat(lively(1, seed=1), 8, axis=0)]))
    assert curve[:8].min() > 0.95
    assert curve[8:].max() == 0


def test_frozen_footage_does_not_change_the_motion_of_other_footage() -> None:
    array, frozen = lively(20), np.zeros((20, 1280), np.float32)
    assert motion_of(np.concatenate([array, frozen]))[:20] == pytest.approx(motion_of(array), abs=1e-6)


def of_change(distance: float) -> float:
    """Motion of footage whose samples turn by so much."""
    angle = 2 * np.arcsin(np.sqrt(distance / 2))
    return float(motion_of(np.array([[np.cos(k * angle), np.sin(k * angle)] for k in range(5)]))[2])


@given(st.floats(-6, -1), st.floats(0.01, 1))
@example(exponent=-4.0, step=0.25)
def test_motion_grows_with_change(exponent: float, step: float) -> None:
    assert of_change(10**exponent) <= of_change(min(10 ** (exponent + step), 0.2)) + 1e-6


def test_motion_goes_from_0_to_1() -> None:
    assert of_change(1e-6) < 0.01 < 0.99 < of_change(0.01)


@pytest.mark.parametrize(
    "array", [np.zeros((5, 1280)), np.zeros((5, 3)), -np.ones((5, 1280)), np.ones((1, 7))]
)
def test_motion_is_finite(array: np.ndarray) -> None:
    curve = motion_of(array)
    assert curve.dtype == np.float32
    assert curve.shape == (len(array),)
    assert np.isfinite(curve).all()
    assert (curve == 0).all() or len(array) == 1


SLIDES = np.repeat(lively(13), 20, axis=0)
"""Thirteen pictures that stand still for ten seconds each."""


def test_slides_alone_move_by_half() -> None:
    assert motion_of(SLIDES).min() == pytest.approx(0.5)


def test_single_slide_does_not_move() -> None:
    assert motion_of(SLIDES[:20]).max() == 0


def test_footage_after_slides_moves() -> None:
    moving = np.concatenate([SLIDES[:200], lively(60, seed=1)])
    assert motion_of(moving)[205:].min() > 0.95


def test_slides_before_much_footage_do_not_move() -> None:
    frozen = np.concatenate([SLIDES[:60], lively(100, seed=1)])
    assert motion_of(frozen)[:60].max() == 0


def still_picture() -> np.ndarray:
    return np.repeat(np.random.default_rng(0).random((1, 64), dtype=np.float32), 40, axis=0)


def test_change_of_a_moment_is_no_motion() -> None:
    still = still_picture()
    still[10:13] += 0.3 * np.random.default_rng(1).random((3, 64), dtype=np.float32)
    assert motion_of(still).max() < 0.01


def test_change_that_goes_on_is_motion() -> None:
    moving = still_picture()
    moving[20:] += 0.3 * np.random.default_rng(1).random((20, 64), dtype=np.float32)
    curve = motion_of(moving)
    assert curve[:20].max() < 0.01
    assert curve[22:].min() > 0.9
