"""The picture at which a shot begins: where a cut is clear, gradual, not decoded, or absent."""

from collections.abc import Sequence
from typing import Any

import av
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vidsum.results.features import Features
from vidsum.shots.cuts import ShotPictures, WithCuts, add_cuts, place_starts
from vidsum.shots.segmentation import apply_limits
from vidsum.types import Interval
from vidsum.video.changes import ChangeMeter

FPS = 25
SAMPLES = 10
"""Two a second, of pictures."""


def samples(n_frames: int | None = 1) -> Features:
    """Features of single pictures or clips, or made elsewhere."""
    facts = {"parameters": {"clip_frames": n_frames}} if n_frames else {}
    half = np.repeat(np.eye(2, dtype=np.float32), [6, SAMPLES - 6], axis=0)
    return Features(half, np.arange(SAMPLES) / 2, 0.5, 0.5, SAMPLES / 2, FPS, provenance=facts)


def changes(amounts: dict[int, float], left_out: Sequence[int] = (), usual: float = 0.5) -> Features:
    """Changes of the decoded pictures, `usual` for all but those of `amounts`; nothing stays changed."""
    decoded = np.setdiff1d(np.arange(SAMPLES / 2 * FPS, dtype=np.int64), left_out)
    rows = [(amounts.get(int(n), usual), n == 0 or n - 1 in decoded, *[0] * 9) for n in decoded]
    return Features(np.array(rows, np.float32), decoded / FPS, 1 / FPS, 1 / FPS, SAMPLES / 2, FPS)


def start(pictures: ShotPictures | None, features: Features | None = None, first: int = 6) -> float:
    return float(place_starts(features or samples(), np.array([first]), pictures)[0])


@pytest.mark.parametrize(
    ("amounts", "usual", "start_s"),
    [
        *(({number: 40.0}, 0.5, number / FPS) for number in range(63, 76)),
        *(({66: 40.0, **others}, 0.5, 66 / FPS) for others in ({70: 21.0}, {62: 39.0, 76: 39.0}, {64: 39.0})),
        (dict.fromkeys(range(66, 73), 8.0), 0.0, 69 / FPS),  # a gradual change: its middle
        ({}, 0.01, 2.75),  # nothing changes: the middle between the samples
        ({62: 90.0, 76: 90.0}, 0.0, 2.75),  # changes outside do not count
    ],
)
def test_place_starts(amounts: dict[int, float], usual: float, start_s: float) -> None:
    assert start(ShotPictures(changes(amounts, usual=usual))) == start_s


@pytest.mark.parametrize(
    "pictures", [None, ShotPictures(None), ShotPictures(changes({}, left_out=range(60, 80)))]
)
def test_place_starts_without_pictures(pictures: ShotPictures | None) -> None:
    assert start(pictures) == 2.75


def test_place_starts_of_clips() -> None:
    for features in (samples(16), samples(None)):
        assert start(None, features) == 3.0
        assert start(ShotPictures(changes({80: 40.0})), features) == 80 / FPS


def test_place_starts_decodes_skipped_pictures() -> None:
    decoded: list[Interval] = []

    def decode(segments: Sequence[Interval]) -> Features:
        decoded.extend(segments)
        return changes({70: 40.0, 71: 5.0, 72: 30.0})

    sparse = changes({72: 45.0}, left_out=[70, 71])
    assert start(ShotPictures(sparse, decode)) == 70 / FPS
    assert decoded == [pytest.approx((69 / FPS, 73 / FPS))]
    assert start(ShotPictures(sparse)) == 72 / FPS  # as with --fast
    assert start(ShotPictures(sparse, lambda _: None)) == 72 / FPS  # nothing decodes
    assert start(ShotPictures(None, lambda _: changes({65: 40.0}))) == 65 / FPS


@given(st.data())
def test_apply_limits(data: Any) -> None:
    steps = np.array(data.draw(st.lists(st.integers(2, 6), min_size=2, max_size=8)))
    latest = np.cumsum(steps)[:-1].astype(float)
    early = np.array(data.draw(st.lists(st.floats(0, 0.99), min_size=len(latest), max_size=len(latest))))
    shortest, longest = float(steps.min()), float(steps.max())
    moved = apply_limits(latest - early, latest, float(steps.sum()), shortest, longest)
    lengths = np.diff([0.0, *moved, steps.sum()])
    assert (lengths >= shortest - 1e-9).all()
    assert (lengths <= longest + 1e-9).all()
    assert (moved <= latest).all()
    assert (moved > latest - 1).all()
    assert apply_limits(np.array([1.7, 4.1]), np.array([2.0, 4.5]), 6.0, 1.0, 3.0).tolist() == [1.7, 4.1]


# --- cuts that are no change points, and change points that are no cuts ---


def scene(seed: int) -> npt.NDArray[np.float64]:
    """A picture of smooth spots, [18, 64, 3], twice as wide as a picture of the film."""
    coarse = np.random.default_rng(seed).uniform(0, 255, (6, 16, 3))
    return coarse.repeat(3, axis=0).repeat(4, axis=1)


FIRST, SECOND = scene(1)[:, :32], scene(2)[:, :32]
CUT = [FIRST] * 60 + [SECOND] * 65
FLASH = [FIRST] * 60 + [FIRST * 0 + 255] + [FIRST] * 64
FADE = [FIRST] * 60 + [FIRST + (SECOND - FIRST) * n / 12 for n in range(12)] + [SECOND] * 53
TEXT = FIRST.copy()
TEXT[6:9, 4:20] += np.where(TEXT[6:9, 4:20] > 128, -6, 6)  # a slide of low contrast
WIPE = [np.concatenate([SECOND[:, :n], FIRST[:, n:]], axis=1) for n in [0] * 57 + [*range(1, 32)] + [32] * 37]
LONG_FLASH = (
    [FIRST] * 60 + [FIRST + (255 - FIRST) * n / 8 for n in [*range(9), *range(8, 0, -1)]] + [FIRST] * 48
)
TO_BLACK = [FIRST] * 60 + [FIRST * (1 - n / 25) for n in range(25)] + [FIRST * 0] * 40
LONG_PAN = [scene(1)[:, n : n + 32] for n in [0] * 30 + [n // 2 for n in range(64)] + [31] * 31]
PAN = [scene(1)[:, n : n + 32] for n in [0] * 60 + [*range(0, 32, 4), *range(32, 0, -4)] + [0] * 49]


def find_starts(
    film: Sequence[npt.NDArray[np.float64]], cuts: WithCuts, first: Sequence[int], every: int = 1
) -> list[int]:
    """The pictures at which shots begin, of a film of which every `every`th picture is decoded."""
    meter = ChangeMeter()
    for number in range(0, len(film), every):
        frame = av.VideoFrame.from_ndarray(np.rint(film[number]).astype(np.uint8), format="rgb24")
        meter.add(number / FPS, frame)
    result = meter.result("film.mp4")
    pictures = ShotPictures(Features(result.array, result.timestamps, 1 / FPS, 1 / FPS, SAMPLES / 2, FPS))
    starts = add_cuts(samples(), np.array(first, np.int64), pictures, cuts)
    return np.rint(starts * FPS).astype(int).tolist()


@pytest.mark.parametrize(
    ("film", "cuts", "first", "starts"),
    [
        (CUT, "added", [], [60]),
        (CUT, "only", [], [60]),
        (CUT, "only", [5], [60]),
        (CUT, "added", [6], [60]),  # a change point gives way to a cut next to it
        (CUT, "added", [9], [60, 106]),
        (FLASH, "added", [], []),
        (WIPE, "only", [], []),
        (LONG_FLASH, "only", [], []),
        (TO_BLACK, "only", [], []),
        (LONG_PAN, "only", [], []),
        ([FIRST] * 70 + [TEXT] * 55, "only", [], [70]),
        ([FIRST] * 40 + [TEXT] * 30 + [FIRST] * 55, "only", [], []),  # a change that comes and goes
    ],
)
def test_add_cuts(film: Any, cuts: WithCuts, first: list[int], starts: list[int]) -> None:
    assert find_starts(film, cuts, first) == starts


def test_add_cuts_few_pictures() -> None:
    assert find_starts(PAN, "only", [5], every=10) == find_starts(PAN, "added", [5], every=10)
    assert len(find_starts(PAN, "only", [5], every=10)) == 1


@pytest.mark.parametrize("frames", [13, 25, 50])
def test_add_cuts_dissolve(frames: int) -> None:
    mixed = [FIRST + (SECOND - FIRST) * n / frames for n in range(frames)]
    begin = 72 - frames // 2
    film = [FIRST] * begin + mixed + [SECOND] * (125 - begin - frames)
    for first in ([], [5], [6]):  # samples before which KTS sees a change point
        (cut,) = find_starts(film, "only", first)
        assert begin <= cut <= begin + frames


def test_add_cuts_gradual() -> None:
    for film, is_cut in ((FADE, True), (PAN, False)):
        (gradual,) = find_starts(film, "added", [5])
        assert 60 <= gradual <= 73
        assert find_starts(film, "only", [5]) == [gradual] * is_cut
