"""Saliency by place: curves of one sum, motion without that of the camera."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vidsum.crop.saliency import FACE_WEIGHT, SIDE, STEP, SaliencyModel, motion_curve, normalise


@given(arrays(np.float64, st.integers(2, 90), elements=st.floats(-5, 5)))
def test_a_mass_is_one_or_nothing(curve: np.ndarray) -> None:
    found = normalise(curve)
    assert np.all(found >= 0)
    assert found.sum() == pytest.approx(1, abs=1e-3) or np.ptp(curve) < 1e-5 or found.sum() < 1


def noise(shift: int = 0) -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.roll(np.kron(rng.uniform(0, 255, (14, 30)), np.ones((8, 8))), shift, axis=1).astype(np.float32)


def test_what_moves_is_found_and_a_move_of_the_camera_is_not() -> None:
    after = noise()
    after[30:90, 160:200] = noise(13)[30:90, 160:200]
    curve = motion_curve(noise(), after, 30)
    assert curve.sum() > 0.5
    assert curve[19:26].sum() > 0.9 * curve.sum()
    assert np.all(motion_curve(noise(), noise(), 30) == 0)
    panned = motion_curve(noise(), noise(4), 30)
    assert panned[3:-3].max() < 0.2


def test_curve_of_brightness_and_faces() -> None:
    """A network that sees brightness, and a detector that sees a face in the upper left of any picture."""
    looker = SaliencyModel.__new__(SaliencyModel)
    looker._cells = lambda squares: np.stack(  # type: ignore[method-assign]
        [square[0].reshape(7, 32, 7, 32, 3).mean(axis=(1, 3)).transpose(2, 0, 1) for square in squares]
    ).astype(np.float32)
    looker._dim, faces = 3, np.zeros((0, 5))
    looker._detect = lambda picture: faces  # type: ignore[method-assign]
    for length in (SIDE, 300, 398, 799):
        picture = np.zeros((SIDE, length, 3), np.uint8)
        picture[:, length - 60 : length - 20] = 200
        curve = looker.curve(picture)
        assert len(curve) == len(np.arange(STEP / 2, length, STEP))
        assert curve.sum() == pytest.approx(1, abs=1e-3)
        assert abs(curve @ np.arange(len(curve)) * STEP - (length - 40)) < 20
    faces = np.array([[0.1, 0.3, 0.2, 0.4, 0.9]])
    for is_turned, first in ((False, 0.1), (True, 0.3)):
        more = looker.curve(picture, is_turned=is_turned) - curve
        assert more.sum() == pytest.approx(FACE_WEIGHT)
        places = np.flatnonzero(more > 1e-6) / len(more)
        assert first - 0.02 <= places[0] < places[-1] <= first + 0.1
