"""Slides: found in drawn talks, built up line by line, faded, or beside a speaker; none in ordinary takes."""

from collections.abc import Callable
from functools import cache
from itertools import pairwise

import av
import numpy as np
import numpy.typing as npt
import pytest

from vidsum.results.features import Features
from vidsum.shots.cuts import ShotPictures, WithCuts, add_cuts
from vidsum.shots.slide_times import find_slide_changes, find_slides
from vidsum.video.changes import ChangeMeter

FPS, DURATION_S = 8, 24
WIDTH, HEIGHT = 320, 180
EDGES_S = [0, 6, 13, 24]
Image = npt.NDArray[np.float64]
Film = Callable[[float], Image]


@cache
def paint(slide: int, n_lines: int = 4, *, paper: float = 250, ink: float = 30) -> Image:
    """A heading that all slides have, and lines of strokes."""
    image = np.full((HEIGHT, WIDTH), paper)
    image[8:24, 20:200] = strokes(99, 16, 180, paper, ink)
    for row in range(n_lines):
        image[40 + 34 * row : 54 + 34 * row, 20:180] = strokes(10 * slide + row, 14, 160, paper, ink)
    return image


def strokes(seed: int, height: int, width: int, paper: float, ink: float) -> Image:
    letters = np.random.default_rng(seed).random((height // 2, width // 2)) < 0.4
    return np.where(letters, ink, paper).repeat(2, axis=0).repeat(2, axis=1)


def number_at(time_s: float) -> tuple[int, float]:
    number = int(np.searchsorted(EDGES_S[1:-1], time_s + 1e-6))
    return number, time_s - EDGES_S[number]


def plain(time_s: float) -> Image:
    return paint(number_at(time_s)[0])


def dark(time_s: float) -> Image:
    return paint(number_at(time_s)[0], paper=20, ink=120)


def built(time_s: float) -> Image:
    number, since_s = number_at(time_s)
    return paint(number, min(4, 1 + int(since_s / 1.4)))


def faded(time_s: float) -> Image:
    number, since_s = number_at(time_s + 0.4)
    weight = min(since_s / 0.8, 1.0) if number else 1.0
    return weight * paint(number) + (1 - weight) * paint(max(number - 1, 0))


def beside_speaker(time_s: float) -> Image:
    image = built(time_s).copy()
    image[110:, 220:] = np.random.default_rng(int(time_s * FPS)).uniform(0, 255, (HEIGHT - 110, WIDTH - 220))
    return image


def beside_cuts(time_s: float) -> Image:
    """A slide beside another film, whose shots are a second long."""
    image = paint(number_at(time_s)[0]).copy()
    image[90:, 180:] = 255 * (int(time_s + 0.4) % 2)
    return image


def wall(time_s: float) -> Image:
    """A take with a wall that is not evenly lit, before which things are put and taken away."""
    image = np.linspace(120, 200, HEIGHT)[:, None] + np.linspace(0, 40, WIDTH)
    image[60:150, 40:110] = strokes(number_at(time_s)[0], 90, 70, 150, 60)
    return image


def noise(time_s: float) -> Image:
    return np.random.default_rng(int(time_s * FPS)).uniform(0, 255, (HEIGHT, WIDTH))


@cache
def measure(film: Film) -> Features:
    meter = ChangeMeter()
    for number in range(FPS * DURATION_S):
        picture = np.rint(film(number / FPS)).clip(0, 255).astype(np.uint8)
        meter.add(number / FPS, av.VideoFrame.from_ndarray(picture, format="gray").reformat(format="yuv420p"))
    result = meter.result("talk.mp4")
    return Features(result.array, result.timestamps, 1 / FPS, 1 / FPS, DURATION_S, FPS)


TALKS = pytest.mark.parametrize("film", [plain, dark, built, faded, beside_speaker])


@TALKS
def test_changes_of_slides_are_found(film: Film) -> None:
    assert find_slide_changes(measure(film)).tolist() == pytest.approx(EDGES_S[1:-1], abs=0.3)


@TALKS
def test_slides_are_found(film: Film) -> None:
    expected = np.array(list(pairwise(EDGES_S)))
    assert np.array(find_slides(measure(film))) == pytest.approx(expected, abs=0.5)


def blank(time_s: float) -> Image:
    return np.full((HEIGHT, WIDTH), 250.0)


@pytest.mark.parametrize("film", [wall, noise, blank])
def test_ordinary_takes_have_neither_slides_nor_their_changes(film: Film) -> None:
    changes = measure(film)
    assert find_slides(changes) == []
    assert find_slide_changes(changes).tolist() == []


def test_take_between_slides_is_no_slide() -> None:
    changes = measure(lambda time_s: noise(time_s) if 6 <= time_s < 13 else plain(time_s))
    assert np.array(find_slides(changes)) == pytest.approx(np.array([[0, 6], [13, 24]]), abs=0.5)
    assert len(find_slide_changes(changes)) == 0


def test_slide_of_a_moment_is_no_slide() -> None:
    changes = measure(lambda time_s: paint(1 if time_s < 6 else 3 if time_s < 6.75 else 2))
    assert np.array(find_slides(changes)) == pytest.approx(np.array([[0, 6], [6.75, 24]]), abs=0.2)


def test_unknown_changes_have_no_slides() -> None:
    assert find_slides(None) == []


@pytest.mark.parametrize("film", [built, faded, beside_speaker, beside_cuts])
@pytest.mark.parametrize("first", [[], [12, 26], [5, 11, 19, 40]], ids=str)
@pytest.mark.parametrize("cuts", ["added", "only"])
def test_every_shot_begins_with_a_slide(film: Film, first: list[int], cuts: WithCuts) -> None:
    """No shot begins inside a slide, whatever KTS says, nor do two begin at one change."""
    n_samples = 2 * DURATION_S
    rows = np.eye(4, dtype=np.float32)[[number_at(n / 2)[0] for n in range(n_samples)]]
    features = Features(rows, np.arange(n_samples) / 2, 0.5, 0.5, DURATION_S, FPS)
    starts = add_cuts(features, np.array(first, np.int64), ShotPictures(measure(film)), cuts)
    assert starts.tolist() == pytest.approx(EDGES_S[1:-1], abs=0.5)


def test_slide_too_short_to_be_seen_ends_with_its_cut() -> None:
    film = measure(lambda time_s: 255 - paint(1) if time_s < 0.75 else paint(2))
    rows = np.repeat(np.eye(2, dtype=np.float32), [2, 46], axis=0)
    features = Features(rows, np.arange(48) / 2, 0.5, 0.5, DURATION_S, FPS)
    assert add_cuts(features, np.array([2]), ShotPictures(film), "only").tolist() == [0.75]
