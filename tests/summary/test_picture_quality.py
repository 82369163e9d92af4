"""Quality of pictures and fades, measured on pictures that are made for it."""

from collections.abc import Callable

import av
import cv2
import numpy as np
import pytest

from tests.media import make_video
from vidsum.features.settings import Extraction
from vidsum.pipelines.plan import open_input
from vidsum.results.features import Features
from vidsum.summary.picture_quality import find_fades, quality_at
from vidsum.types import Picture
from vidsum.video.changes import ChangeMeter

FPS = 25
SCENE = np.random.default_rng(0).integers(0, 255, (6, 8, 3)).astype(np.uint8)
SHARP: Picture = cv2.resize(SCENE, (320, 180), interpolation=cv2.INTER_NEAREST)
SOFT = cv2.GaussianBlur(SHARP, (0, 0), 2.5)
BLURRED = cv2.GaussianBlur(SHARP, (0, 0), 12)
TITLE = cv2.rectangle(np.zeros_like(SHARP), (120, 80), (200, 100), (255, 255, 255), -1)
"""Sharp, with few edges."""


def changes_of(paint: Callable[[int], Picture], n_frames: int) -> Features:
    meter = ChangeMeter()
    for number in range(n_frames):
        meter.add(number / FPS, av.VideoFrame.from_ndarray(paint(number), format="rgb24"))
    changes = meter.result("made up")
    return Features(changes.array, changes.timestamps, 1 / FPS, 1 / FPS, n_frames / FPS, FPS)


def dimmed(picture: Picture, share: float) -> Picture:
    return (picture * min(max(share, 0), 1)).astype(np.uint8)


@pytest.mark.parametrize(
    "picture", [BLURRED, np.full_like(SHARP, 20)], ids=["of contrast but blurred", "flat"]
)
def test_picture_is_as_good_as_the_worse_of_its_sharpness_and_contrast(picture: Picture) -> None:
    assert quality_at(changes_of(lambda _: picture, 3), np.array([0.0]))[0] < 0.5


@pytest.mark.parametrize(
    ("picture", "low", "high"),
    [
        (SHARP, 1, 1), (dimmed(SHARP, 0.25), 1, 1), (SOFT, 0.1, 0.9), (BLURRED, 0.2, 0.4), (TITLE, 0.2, 0.4),
        (np.full_like(SHARP, 20), 0, 0), (dimmed(SHARP, 0.04), 0, 0.1),
        ((235 + SHARP // 13).astype(np.uint8), 0, 0.2),
    ],
    ids=["sharp", "night", "soft", "blurred", "title", "plain", "dark", "overexposed"],
)  # fmt: skip
def test_dark_blurred_and_flat_pictures_are_of_low_quality(picture: Picture, low: float, high: float) -> None:
    quality = quality_at(changes_of(lambda _: picture, 30), np.array([0.0, 0.5, 1.0]))
    assert (low <= quality).all()
    assert (quality <= high).all()


def test_quality_is_of_the_picture_at_that_time() -> None:
    changes = changes_of(lambda number: SHARP if number < 25 else BLURRED, 50)
    quality = quality_at(changes, np.array([0.0, 0.9, 1.1, 1.9]))
    assert (quality == 1).tolist() == [True, True, False, False]


@pytest.mark.parametrize("n_frames", [1, 2])
def test_time_before_the_first_picture_has_the_quality_of_the_first(n_frames: int) -> None:
    changes = changes_of(lambda number: BLURRED if number else SHARP, n_frames)
    assert quality_at(changes, np.array([-0.1])).tolist() == [1]


def test_unknown_pictures_are_of_full_quality() -> None:
    assert quality_at(None, np.zeros(3)).tolist() == [1, 1, 1]


def test_fades_in_and_out_are_found() -> None:
    changes = changes_of(lambda number: dimmed(SHARP, min(number - 25, 175 - number) / 25), 200)
    (start, end), (begin, stop) = find_fades(changes, np.array([0.0, 8.0]))
    assert start == pytest.approx(1, abs=0.15)
    assert end == pytest.approx(1.95, abs=0.1)
    assert begin == pytest.approx(6.1, abs=0.15)
    assert stop == pytest.approx(7, abs=0.15)


def test_cut_from_black_is_no_fade() -> None:
    cut = changes_of(lambda number: SHARP if number >= 25 else np.zeros_like(SHARP), 50)
    assert find_fades(cut, np.array([0.0, 2.0])) == []


def test_unknown_pictures_have_no_fades() -> None:
    assert find_fades(None, np.array([0.0, 2.0])) == []


@pytest.fixture(scope="module")
def dissolving(tmp_path_factory: pytest.TempPathFactory) -> Features:
    """The changes of a film in which a picture becomes another from 2.5 to 3.5 s."""
    other = np.ascontiguousarray(255 - SHARP[::-1])

    def paint(number: int, width: int, height: int) -> Picture:
        share = min(max((number - 62) / 25, 0), 1)
        mixed = (SHARP * (1 - share) + other * share).astype(np.uint8)
        return cv2.resize(mixed, (width, height))

    film = make_video(tmp_path_factory.mktemp("d") / "film.mp4", n_frames=150, fps=FPS, paint=paint).path
    _, pictures = open_input(film, Extraction(device="cpu", cache=False)).read()
    assert pictures is not None
    assert pictures.changes is not None
    return pictures.changes


def test_dissolve_at_the_edge_of_a_shot_is_a_fade(dissolving: Features) -> None:
    fades = find_fades(dissolving, np.array([0.0, 3.0, 6.0]))
    assert fades == [(pytest.approx(2.4), pytest.approx(3.6))]


def test_dissolve_inside_a_shot_is_no_fade(dissolving: Features) -> None:
    assert find_fades(dissolving, np.array([0.0, 5.0, 6.0])) == []
