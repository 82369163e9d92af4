"""Saliency by place: curves of one sum, motion without that of the camera."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vidsum.crop.saliency import FACE_WEIGHT, SIDE, STEP, SaliencyModel, motion_curve, normalise
from vidsum.types import Picture


@given(arrays(np.float64, st.integers(2, 90), elements=st.floats(-5, 5)))
def test_mass_of_a_curve_is_one_or_nothing(curve: np.ndarray) -> None:
    found = normalise(curve)
    assert np.all(found >= 0)
    assert found.sum() == pytest.approx(1, abs=1e-3) or np.ptp(curve) < 1e-5 or found.sum() < 1


def noise(shift: int = 0) -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.roll(np.kron(rng.uniform(0, 255, (14, 30)), np.ones((8, 8))), shift, axis=1).astype(np.float32)


def test_motion_is_found_at_its_place() -> None:
    after = noise()
    after[30:90, 160:200] = noise(13)[30:90, 160:200]
    curve = motion_curve(noise(), after, 30)
    assert curve.sum() > 0.5
    assert curve[19:26].sum() > 0.9 * curve.sum()


def test_still_picture_has_no_motion() -> None:
    assert np.all(motion_curve(noise(), noise(), 30) == 0)


def test_move_of_the_camera_is_no_motion() -> None:
    assert motion_curve(noise(), noise(4), 30)[3:-3].sum() < 0.01


def bright_model(faces: np.ndarray) -> SaliencyModel:
    """A network that sees brightness, and a detector that sees these faces in any picture."""
    model = SaliencyModel.__new__(SaliencyModel)
    model._cells = lambda squares: np.stack(  # type: ignore[method-assign]
        [square[0].reshape(7, 32, 7, 32, 3).mean(axis=(1, 3)).transpose(2, 0, 1) for square in squares]
    ).astype(np.float32)
    model._dim = 3
    model._detect = lambda picture: faces  # type: ignore[method-assign]
    return model


def picture_of(length: int) -> Picture:
    """A black picture that is bright near its right end."""
    picture = np.zeros((SIDE, length, 3), np.uint8)
    picture[:, length - 60 : length - 20] = 200
    return picture


NO_FACES = np.zeros((0, 5))


@pytest.mark.parametrize("length", [SIDE, 300, 398, 799])
def test_curve_of_a_picture_of_any_width_has_one_mass_where_the_network_sees_something(length: int) -> None:
    curve = bright_model(NO_FACES).look(picture_of(length)).curve
    assert len(curve) == len(np.arange(STEP / 2, length, STEP))
    assert curve.sum() == pytest.approx(1, abs=1e-3)
    assert abs(curve @ np.arange(len(curve)) * STEP - (length - 40)) < 20


@pytest.mark.parametrize(("is_turned", "first"), [(False, 0.1), (True, 0.3)], ids=["across", "along"])
def test_faces_add_their_weight_at_their_place(is_turned: bool, first: float) -> None:
    picture, faces = picture_of(799), np.array([[0.1, 0.3, 0.2, 0.4, 0.9]])
    more = (
        bright_model(faces).look(picture, is_turned=is_turned).curve
        - bright_model(NO_FACES).look(picture).curve
    )
    assert more.sum() == pytest.approx(FACE_WEIGHT)
    places = np.flatnonzero(more > 1e-6) / len(more)
    assert first - 0.02 <= places[0] < places[-1] <= first + 0.1
