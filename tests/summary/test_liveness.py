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


@pytest.mark.parametrize("extractor", [LITE, "mobilenet_v2", "custom"])
def test_liveness_of_frozen_footage(extractor: str) -> None:
    array = lively(30)
    assert live(array, extractor).min() > 0.95
    assert live(np.repeat(array[:1], 30, axis=0), extractor).max() == 0
    curve = live(np.concatenate([array, np.repeat(array[-1:], 9, axis=0)]), extractor)
    assert curve[[0, 29, 38]] == pytest.approx([1, 0, 0], abs=0.05)


def test_liveness_at_a_cut() -> None:
    curve = live(np.concatenate([lively(8), np.repeat(lively(1, seed=1), 8, axis=0)]))
    assert curve[:8].min() > 0.95
    assert curve[8:].max() == 0
    array = lively(20)
    dull = np.zeros((20, 1280), np.float32)
    assert live(np.concatenate([array, dull]))[:20] == pytest.approx(live(array), abs=1e-6)
    sparse, dull = lively(10), lively(10)
    sparse[:, 60:] = 0
    dull[:, list(DULL_UNITS)] += 6
    assert live(sparse).max() < 0.05
    assert live(dull).max() < 0.05
    assert live(dull, "mobilenet_v2").min() > 0.95  # its units are others
    array = lively(4)
    expected_sum = (array / np.linalg.norm(array, axis=1, keepdims=True))[:, list(DULL_UNITS)].sum(axis=1)
    assert measures(array)[:, 0] == pytest.approx(entropy(array, axis=1), rel=1e-6)
    assert measures(array)[:, 1] == pytest.approx(expected_sum, rel=1e-5)


@given(st.floats(-6, -1), st.floats(0.01, 1))
@example(exponent=-4.0, step=0.25)
def test_liveness_grows_with_change(exponent: float, step: float) -> None:
    def of_change(distance: float) -> float:
        angle = 2 * np.arcsin(np.sqrt(distance / 2))
        return float(live(np.array([[np.cos(k * angle), np.sin(k * angle)] for k in range(5)]), "custom")[2])

    less, more = of_change(10**exponent), of_change(min(10 ** (exponent + step), 0.2))
    assert less <= more + 1e-6
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


def test_motion_of_slides() -> None:
    slides = np.repeat(lively(13), 20, axis=0)
    assert motion(Features.from_array(slides)).min() == pytest.approx(0.5)
    assert motion(Features.from_array(slides[:20])).max() == 0
    moving = np.concatenate([slides[:200], lively(60, seed=1)])
    assert motion(Features.from_array(moving))[205:].min() > 0.95
    frozen = np.concatenate([slides[:60], lively(100, seed=1)])
    assert motion(Features.from_array(frozen))[:60].max() == 0
    rng = np.random.default_rng(0)
    still = np.repeat(rng.random((1, 64), dtype=np.float32), 40, axis=0)
    still[10:13] += 0.3 * rng.random((3, 64), dtype=np.float32)
    assert motion(Features.from_array(still)).max() < 0.01
    moving = still.copy()
    moving[20:] += 0.3 * rng.random((20, 64), dtype=np.float32)
    live = motion(Features.from_array(moving))
    assert live[:20].max() < 0.01
    assert live[22:].min() > 0.9
