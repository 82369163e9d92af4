"""Cuts beside flashes and fast pans, flashes inside a take, and pans without a cut."""

from collections.abc import Sequence
from typing import Any

import av
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import deep_but, fewer_examples
from vidsum.results.features import Features
from vidsum.shots.cuts import ShotPictures, add_cuts, find_cuts
from vidsum.shots.flashes import remove_flashes
from vidsum.video.changes import ChangeMeter

Film = list[npt.NDArray[np.float64]]
RATES = [12.5, 25.0, 30.0, 50.0]
MIN_SHOT_S = 0.3


def scene(seed: int) -> npt.NDArray[np.float64]:
    """A picture of smooth spots that is neither dark nor bright, [18, 32, 3]."""
    coarse = np.random.default_rng(seed).uniform(30, 200, (6, 8, 3))
    return coarse.repeat(3, axis=0).repeat(4, axis=1)


def take(seed: int, seconds: float, fps: float) -> Film:
    """A picture in which a little moves."""
    rng, picture = np.random.default_rng(seed), scene(seed)
    return [picture + rng.normal(0, 2, picture.shape) for _ in range(round(seconds * fps))]


def lit(film: Film, first: int, count: int, level: float, strength: float) -> Film:
    """A film in which some pictures are blended with white or black."""
    return [
        picture + strength * (level - picture) if first <= number < first + count else picture
        for number, picture in enumerate(film)
    ]


def wide_scene(seed: int) -> npt.NDArray[np.float64]:
    """A landscape [18, 512, 3] of spots as wide as most of a picture."""
    coarse = np.random.default_rng(seed).uniform(30, 200, (6, 23, 3)).repeat(3, axis=0)
    at = np.arange(512) / 24
    before, share = at.astype(int), (at % 1)[:, None]
    return coarse[:, before] * (1 - share) + coarse[:, before + 1] * share


def pan(seed: int, seconds: float, fps: float) -> Film:
    """A fast pan of so long, over 80 pixels a second, blurred by its motion."""
    wide, step = wide_scene(seed), 80 / fps
    starts = [round(number * step) for number in range(round(seconds * fps))]
    blur = max(1, round(step))
    return [np.mean([wide[:, at + b : at + b + 32] for b in range(blur)], axis=0) for at in starts]


def changes(film: Sequence[npt.NDArray[np.float64]], fps: float) -> Features:
    meter = ChangeMeter()
    for number, picture in enumerate(film):
        pixels = np.clip(np.rint(picture), 0, 255).astype(np.uint8)
        meter.add(number / fps, av.VideoFrame.from_ndarray(pixels, format="rgb24"))
    result = meter.result("film.mp4")
    return Features(result.array, result.timestamps, 1 / fps, 1 / fps, len(film) / fps, fps)


def cuts(film: Film, fps: float) -> list[int]:
    return np.rint(find_cuts(changes(film, fps)) * fps).astype(int).tolist()


flashes = st.fixed_dictionaries(
    {
        "fps": st.sampled_from(RATES),
        "count": st.integers(1, 4),
        "level": st.sampled_from([255.0, 0.0]),
        "strength": st.floats(0.7, 1.0),
        "seed": st.integers(0, 50),
    }
)


@fewer_examples(2)
@given(flashes, st.integers(0, 4))
def test_a_flash_at_a_cut_is_one_cut(flash: dict[str, Any], ahead: int) -> None:
    fps, count = flash["fps"], flash["count"]
    joined = take(flash["seed"], 2, fps) + take(flash["seed"] + 100, 2, fps)
    cut, ahead = round(2 * fps), min(ahead, count)
    film = lit(joined, cut - ahead, count, flash["level"], flash["strength"])
    (found,) = cuts(film, fps)
    assert cut <= found <= cut + count - ahead


@fewer_examples(2)
@given(flashes)
def test_a_flash_inside_a_take_is_no_cut(flash: dict[str, Any]) -> None:
    fps = flash["fps"]
    film = lit(take(flash["seed"], 4, fps), round(2 * fps), flash["count"], flash["level"], flash["strength"])
    assert cuts(film, fps) == []


@pytest.mark.parametrize("fps", RATES)
def test_a_flash_that_fades_is_no_cut(fps: float) -> None:
    film, first = take(1, 4, fps), round(2 * fps)
    for number, strength in enumerate((1.0, 0.8, 0.6, 0.4)):
        film = lit(film, first + number, 1, 255, strength)
    assert cuts(film, fps) == []


@pytest.mark.parametrize("fps", RATES)
def test_a_flash_at_a_change_point_begins_no_shot(fps: float) -> None:
    measured = changes(lit(take(1, 5, fps), round(2.6 * fps), 2, 255, 0.9), fps)
    half = np.repeat(np.eye(2, dtype=np.float32), [6, 4], axis=0)
    features = Features(
        half, np.arange(10) / 2, 0.5, 0.5, 5, fps, provenance={"parameters": {"clip_frames": 1}}
    )
    assert add_cuts(features, np.array([6]), ShotPictures(measured), "only").tolist() == []


@pytest.mark.parametrize("fps", RATES)
@pytest.mark.parametrize("seed", deep_but(range(2), range(6)))
@pytest.mark.parametrize("seconds", [0.4, 0.8])
def test_a_cut_after_a_fast_pan_is_found(fps: float, seed: int, seconds: float) -> None:
    moving = pan(seed, seconds, fps)
    film = [moving[0]] * round(2 * fps) + moving
    assert len(film) in cuts([*film, *take(seed + 100, 2, fps)], fps)


@pytest.mark.parametrize("fps", RATES)
@pytest.mark.parametrize("seed", range(6))
def test_a_pan_that_stops_is_no_cut(fps: float, seed: int) -> None:
    moving = pan(seed, 0.8, fps)
    still = wide_scene(seed)[:, round(79 / fps * len(moving)) :][:, :32]
    assert cuts([moving[0]] * round(2 * fps) + moving + [still] * round(2 * fps), fps) == []


@pytest.mark.parametrize("fps", [25.0, 50.0])
@pytest.mark.parametrize("seed", range(2))
def test_a_flash_in_a_fast_pan_is_no_cut(fps: float, seed: int) -> None:
    assert cuts(lit(pan(seed, 3, fps), round(1.5 * fps), 2, 255, 0.9), fps) == []


@fewer_examples(2)
@given(st.lists(st.integers(1, 30), min_size=2, max_size=6), st.sampled_from(RATES))
def test_no_shot_between_cuts_is_shorter_than_a_third_of_a_second(lengths: list[int], fps: float) -> None:
    film = take(99, 2, fps)
    for seed, length in enumerate(lengths):
        film += [scene(seed)] * length
    film += take(98, 2, fps)
    assert (np.diff(cuts(film, fps)) >= MIN_SHOT_S * fps - 1e-6).all()


def test_changes_without_flashes_stay_as_they_are() -> None:
    measured = changes(take(1, 2, 25) + take(2, 2, 25), 25)
    assert remove_flashes(measured) is measured


def test_a_bright_shot_is_no_flash() -> None:
    fps = 25.0
    bright = [np.full((18, 32, 3), 230.0)] * 20
    assert cuts(take(1, 2, fps) + bright + take(2, 2, fps), fps) == [50, 70]
