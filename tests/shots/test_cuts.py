"""At which picture a shot begins: where a cut is clear, gradual, not decoded, or not there."""

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
from vidsum.shots.find import apply_limits, find
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
    """The changes of all pictures but those left out, most of them as usual; nothing stays changed."""
    shown = np.setdiff1d(np.arange(SAMPLES / 2 * FPS, dtype=np.int64), left_out)
    rows = [(amounts.get(int(n), usual), n == 0 or n - 1 in shown, 0, 0, 0) for n in shown]
    return Features(np.array(rows, np.float32), shown / FPS, 1 / FPS, 1 / FPS, SAMPLES / 2, FPS)


def start(pictures: ShotPictures | None, features: Features | None = None, first: int = 6) -> float:
    return float(place_starts(features or samples(), np.array([first]), pictures)[0])


@pytest.mark.parametrize("number", range(63, 76))
def test_a_cut_is_at_the_first_picture_of_the_shot(number: int) -> None:
    assert start(ShotPictures(changes({number: 40.0}))) == number / FPS


@pytest.mark.parametrize("others", [{70: 21.0}, {62: 39.0, 76: 39.0}, {64: 39.0}])
def test_a_cut_may_have_a_rival_or_lie_beside_others(others: dict[int, float]) -> None:
    assert start(ShotPictures(changes({66: 40.0, **others}))) == 66 / FPS


def test_of_a_gradual_change_it_is_the_middle() -> None:
    assert start(ShotPictures(changes(dict.fromkeys(range(66, 73), 8.0), usual=0.0))) == 69 / FPS


def test_where_nothing_changes_it_is_the_middle_between_the_samples() -> None:
    assert start(ShotPictures(changes({}, usual=0.01))) == 2.75


@pytest.mark.parametrize(
    "pictures", [None, ShotPictures(None), ShotPictures(changes({}, left_out=range(60, 80)))]
)
def test_without_pictures_it_is_the_middle(pictures: ShotPictures | None) -> None:
    assert start(pictures) == 2.75


def test_features_of_clips_and_those_made_elsewhere_are_seen_at_their_middles() -> None:
    for features in (samples(16), samples(None)):
        assert start(None, features) == 3.0
        assert start(ShotPictures(changes({80: 40.0})), features) == 80 / FPS


def test_pictures_that_were_left_out_are_looked_at() -> None:
    asked: list[Interval] = []

    def look_closer(segments: Sequence[Interval]) -> Features:
        asked.extend(segments)
        return changes({70: 40.0, 71: 5.0, 72: 30.0})

    first_look = changes({72: 45.0}, left_out=[70, 71])
    assert start(ShotPictures(first_look, look_closer)) == 70 / FPS
    assert asked == [pytest.approx((69 / FPS, 73 / FPS))]
    assert start(ShotPictures(first_look)) == 72 / FPS  # as with --fast
    assert start(ShotPictures(first_look, lambda _: None)) == 72 / FPS  # nothing decodes


def test_a_reader_that_tells_nothing_of_its_pictures_has_all_looked_at() -> None:
    assert start(ShotPictures(None, lambda _: changes({65: 40.0}))) == 65 / FPS


def test_a_cut_is_looked_for_between_the_samples_only() -> None:
    assert start(ShotPictures(changes({62: 90.0, 76: 90.0}, usual=0.0))) == 2.75


def test_find_hands_the_pictures_on() -> None:
    found = find(samples(), pictures=ShotPictures(changes({66: 40.0})))
    assert found.edges_s.tolist() == [0, 66 / FPS, 5]
    assert find(samples()).edges_s.tolist() == [0, 2.75, 5]


@given(st.data())
def test_moved_starts_obey_the_limits_that_the_latest_obey(data: Any) -> None:
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


def test_starts_within_the_limits_stay() -> None:
    starts = np.array([1.7, 4.1])
    assert apply_limits(starts, np.array([2.0, 4.5]), 6.0, 1.0, 3.0).tolist() == starts.tolist()


# cuts that are no change points, and change points that are no cuts


def scene(seed: int) -> npt.NDArray[np.float64]:
    """A picture of smooth spots, [18, 64, 3], twice as wide as what is seen of it."""
    coarse = np.random.default_rng(seed).uniform(0, 255, (6, 16, 3))
    return coarse.repeat(3, axis=0).repeat(4, axis=1)


FIRST, SECOND = scene(1)[:, :32], scene(2)[:, :32]
CUT = [FIRST] * 60 + [SECOND] * 65
FLASH = [FIRST] * 60 + [FIRST * 0 + 255] + [FIRST] * 64
FADE = [FIRST] * 60 + [FIRST + (SECOND - FIRST) * n / 12 for n in range(12)] + [SECOND] * 53
PAN = [scene(1)[:, n : n + 32] for n in [0] * 60 + [*range(0, 32, 4), *range(32, 0, -4)] + [0] * 49]


def begun(
    film: Sequence[npt.NDArray[np.float64]], cuts: WithCuts, first: Sequence[int], every: int = 1
) -> list[int]:
    """The pictures at which shots begin, of a film of which every so many pictures are decoded."""
    meter = ChangeMeter()
    for number in range(0, len(film), every):
        frame = av.VideoFrame.from_ndarray(np.rint(film[number]).astype(np.uint8), format="rgb24")
        meter.add(number / FPS, frame)
    seen = meter.result("film.mp4")
    pictures = ShotPictures(Features(seen.array, seen.timestamps, 1 / FPS, 1 / FPS, SAMPLES / 2, FPS))
    starts = add_cuts(samples(), np.array(first, np.int64), pictures, cuts)
    return np.rint(starts * FPS).astype(int).tolist()


def test_a_cut_that_is_no_change_point_is_found() -> None:
    assert begun(CUT, "added", []) == begun(CUT, "only", []) == begun(CUT, "only", [5]) == [60]


def test_a_flash_is_no_cut() -> None:
    assert begun(FLASH, "added", []) == []


@pytest.mark.parametrize("frames", [13, 25, 50])
def test_a_dissolve_is_one_cut_inside_it(frames: int) -> None:
    mixed = [FIRST + (SECOND - FIRST) * n / frames for n in range(frames)]
    begin = 72 - frames // 2
    film = [FIRST] * begin + mixed + [SECOND] * (125 - begin - frames)
    for first in ([], [5], [6]):  # samples before which KTS sees a change point
        (cut,) = begun(film, "only", first)
        assert begin <= cut <= begin + frames


def test_no_other_gradual_change_is_a_dissolve() -> None:
    wipe = [
        np.concatenate([SECOND[:, : max(0, min(n - 56, 32))], FIRST[:, max(0, min(n - 56, 32)) :]], axis=1)
        for n in range(125)
    ]
    long_flash = [FIRST] * 60 + [FIRST + (255 - FIRST) * n / 8 for n in [*range(9), *range(8, 0, -1)]]
    to_black = [FIRST] * 60 + [FIRST * (1 - n / 25) for n in range(25)]
    long_pan = [scene(1)[:, n // 2 : n // 2 + 32] for n in range(64)]
    for film in (
        wipe,
        long_flash + [FIRST] * 48,
        to_black + [FIRST * 0] * 40,
        [FIRST] * 30 + long_pan + [long_pan[-1]] * 31,
    ):
        assert begun(film, "only", []) == []


def test_a_slide_of_low_contrast_gives_way_to_another() -> None:
    text = FIRST.copy()
    text[6:9, 4:20] += np.where(text[6:9, 4:20] > 128, -6, 6)
    assert begun([FIRST] * 70 + [text] * 55, "only", []) == [70]
    typed = [FIRST] * 40 + [text] * 30 + [FIRST] * 55  # a change that comes and goes
    assert begun(typed, "only", []) == []


def test_only_where_a_picture_becomes_another_is_more_than_motion() -> None:
    for film, is_kept in ((FADE, True), (PAN, False)):
        (gradual,) = begun(film, "added", [5])
        assert 60 <= gradual <= 73
        assert begun(film, "only", [5]) == [gradual] * is_kept


def test_a_change_point_beside_a_cut_gives_way_to_it() -> None:
    assert begun(CUT, "added", [6]) == [60]
    assert begun(CUT, "added", [9]) == [60, 106]


def test_where_few_pictures_are_decoded_change_points_stay() -> None:
    assert begun(PAN, "only", [5], every=10) == begun(PAN, "added", [5], every=10)
    assert len(begun(PAN, "only", [5], every=10)) == 1
