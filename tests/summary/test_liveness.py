"""Live footage against dull footage: made-up features, and degraded frames of real clips."""

from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import entropy

from tests.conftest import real_weights
from vidsum.features import describe, get_extractor
from vidsum.results.features import Features
from vidsum.summary.liveness import DULL_UNITS, liveness, measures, motion
from vidsum.video.probe import probe
from vidsum.video.read import read_frames

LITE = "efficientnet_lite0"


def lively(n: int, dim: int = 1280, seed: int = 0) -> np.ndarray:
    """Features as ordinary footage has them: a few hundred units answer, others in each sample."""
    rng = np.random.default_rng(seed)
    return rng.exponential(0.3, (n, dim)).astype(np.float32) + 0.1


def live(array: np.ndarray, extractor: str = LITE) -> np.ndarray:
    return liveness(Features.from_array(array, 2.0, extractor=extractor))


EXTRACTORS = pytest.mark.parametrize("extractor", [LITE, "mobilenet_v2", "custom"])


@EXTRACTORS
def test_ordinary_footage_is_live(extractor: str) -> None:
    assert live(lively(30), extractor).min() > 0.95


@EXTRACTORS
def test_frozen_footage_is_not_live(extractor: str) -> None:
    assert live(np.repeat(lively(1), 30, axis=0), extractor).max() == 0


@EXTRACTORS
def test_liveness_ends_where_footage_freezes(extractor: str) -> None:
    array = lively(30)
    curve = live(np.concatenate([array, np.repeat(array[-1:], 9, axis=0)]), extractor)
    assert curve[[0, 29, 38]] == pytest.approx([1, 0, 0], abs=0.05)


def test_liveness_changes_at_a_cut() -> None:
    curve = live(np.concatenate([lively(8), np.repeat(lively(1, seed=1), 8, axis=0)]))
    assert curve[:8].min() > 0.95
    assert curve[8:].max() == 0


def test_dull_footage_does_not_change_the_liveness_of_other_footage() -> None:
    array, dull = lively(20), np.zeros((20, 1280), np.float32)
    assert live(np.concatenate([array, dull]))[:20] == pytest.approx(live(array), abs=1e-6)


def test_footage_that_few_units_answer_is_not_live() -> None:
    sparse = lively(10)
    sparse[:, 60:] = 0
    assert live(sparse).max() < 0.05


@pytest.mark.parametrize(("extractor", "is_dull"), [(LITE, True), ("mobilenet_v2", False)])
def test_units_of_dull_footage_are_of_one_extractor(extractor: str, is_dull: bool) -> None:
    dull = lively(10)
    dull[:, list(DULL_UNITS)] += 6
    curve = live(dull, extractor)
    assert curve.max() < 0.05 if is_dull else curve.min() > 0.95


def test_measures_are_entropy_and_the_sum_of_dull_units() -> None:
    array = lively(4)
    expected_sum = (array / np.linalg.norm(array, axis=1, keepdims=True))[:, list(DULL_UNITS)].sum(axis=1)
    assert measures(array)[:, 0] == pytest.approx(entropy(array, axis=1), rel=1e-6)
    assert measures(array)[:, 1] == pytest.approx(expected_sum, rel=1e-5)


def of_change(distance: float) -> float:
    """Liveness of footage whose samples turn by so much."""
    angle = 2 * np.arcsin(np.sqrt(distance / 2))
    return float(live(np.array([[np.cos(k * angle), np.sin(k * angle)] for k in range(5)]), "custom")[2])


@given(st.floats(-6, -1), st.floats(0.01, 1))
@example(exponent=-4.0, step=0.25)
def test_liveness_grows_with_change(exponent: float, step: float) -> None:
    assert of_change(10**exponent) <= of_change(min(10 ** (exponent + step), 0.2)) + 1e-6


def test_liveness_goes_from_0_to_1() -> None:
    assert of_change(1e-6) < 0.01 < 0.99 < of_change(0.01)


@pytest.mark.parametrize(
    "array", [np.zeros((5, 1280)), np.zeros((5, 3)), -np.ones((5, 1280)), np.ones((1, 7))]
)
@pytest.mark.parametrize("extractor", [LITE, "custom"])
def test_liveness_is_finite(array: np.ndarray, extractor: str) -> None:
    curve = live(array, extractor)
    assert curve.dtype == np.float32
    assert curve.shape == (len(array),)
    assert np.isfinite(curve).all()
    assert (curve == 0).all() or len(array) == 1


@pytest.mark.deep
@pytest.mark.weights
@pytest.mark.shared
def test_liveness_of_a_real_clip(shared_videos: Path) -> None:
    real_weights(LITE)
    extractor = get_extractor(describe(LITE), device="cpu")
    with read_frames(probe(shared_videos / "making_cake.mp4"), [extractor.spec.sampling]) as frames:
        clip = np.stack([extractor.spec.crop(frame.image) for _, frame in frames])
    dull = {
        "dark": (clip * 0.05).astype(np.uint8),
        "blurred": np.stack([cv2.GaussianBlur(picture, (0, 0), 15) for picture in clip]),
        "blank": np.full_like(clip, 90),
        "frozen": np.repeat(clip[:1], len(clip), axis=0),
    }
    medians = {
        kind: float(np.median(live(extractor.encode(pictures[:, None])[:, : extractor.spec.dim])))
        for kind, pictures in {"live": clip, **dull}.items()
    }
    assert medians.pop("live") > 0.9
    assert max(medians.values()) < 0.5


SLIDES = np.repeat(lively(13), 20, axis=0)
"""Thirteen pictures that stand still for ten seconds each."""


def motion_of(array: np.ndarray) -> np.ndarray:
    return motion(Features.from_array(array))


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
