"""The picture at which a shot begins: where a cut is clear, gradual, not decoded, or absent."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import av
import numpy as np
import numpy.typing as npt
import pytest

from tests.media import make_video
from vidsum.results.features import Features
from vidsum.shots.cuts import ShotPictures, WithCuts, add_cuts, changes_to_features, place_starts
from vidsum.types import Interval
from vidsum.video.changes import ChangeMeter, Changes
from vidsum.video.probe import probe

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


def test_picture_after_the_end_of_the_video_begins_no_shot(tmp_path: Path) -> None:
    """The last picture of a film with a gap before it may come later than its number of pictures says."""
    video = probe(make_video(tmp_path / "film.mp4").path)
    after = Changes(np.zeros((3, 11), np.float32), np.array([0.0, 1 / video.fps, video.duration_s + 0.01]))
    assert changes_to_features(after, video).timestamps.tolist() == [0.0, 1 / video.fps]


def start(pictures: ShotPictures | None, features: Features | None = None, first: int = 6) -> float:
    return float(place_starts(features or samples(), np.array([first]), pictures)[0])


@pytest.mark.parametrize("number", range(63, 76))
def test_shot_begins_at_the_largest_change_between_its_samples(number: int) -> None:
    assert start(ShotPictures(changes({number: 40.0}))) == number / FPS


@pytest.mark.parametrize("other", [{70: 21.0}, {64: 39.0}], ids=str)
def test_smaller_change_does_not_move_a_start(other: dict[int, float]) -> None:
    assert start(ShotPictures(changes({66: 40.0, **other}))) == 66 / FPS


def test_shot_begins_at_half_of_the_change_where_others_around_are_as_large() -> None:
    assert start(ShotPictures(changes({66: 40.0, 62: 39.0, 76: 39.0}))) == 66 / FPS


def test_shot_begins_in_the_middle_of_a_gradual_change() -> None:
    assert start(ShotPictures(changes(dict.fromkeys(range(66, 73), 8.0), usual=0.0))) == 69 / FPS


@pytest.mark.parametrize(
    ("amounts", "usual"),
    [({}, 0.01), ({62: 90.0, 76: 90.0}, 0.0)],
    ids=["nothing changes", "changes outside the samples"],
)
def test_shot_without_a_change_begins_between_its_samples(amounts: dict[int, float], usual: float) -> None:
    assert start(ShotPictures(changes(amounts, usual=usual))) == 2.75


@pytest.mark.parametrize(
    "pictures",
    [None, ShotPictures(None), ShotPictures(changes({}, left_out=range(60, 80)))],
    ids=["none", "no changes", "none there"],
)
def test_shot_without_pictures_begins_between_its_samples(pictures: ShotPictures | None) -> None:
    assert start(pictures) == 2.75


CLIPS_OR_UNKNOWN = pytest.mark.parametrize("n_frames", [16, None], ids=["clips", "unknown features"])


@CLIPS_OR_UNKNOWN
def test_shot_of_clips_without_pictures_begins_at_its_sample(n_frames: int | None) -> None:
    assert start(None, samples(n_frames)) == 3.0


@CLIPS_OR_UNKNOWN
def test_shot_of_clips_begins_at_a_change_outside_its_samples(n_frames: int | None) -> None:
    assert start(ShotPictures(changes({80: 40.0})), samples(n_frames)) == 80 / FPS


SPARSE = changes({72: 45.0}, left_out=[70, 71])
"""Two pictures were not decoded; the change at the next one may be theirs."""


def test_skipped_pictures_before_a_change_are_decoded() -> None:
    decoded: list[Interval] = []

    def decode(segments: Sequence[Interval]) -> Features:
        decoded.extend(segments)
        return changes({70: 40.0, 71: 5.0, 72: 30.0})

    assert start(ShotPictures(SPARSE, decode)) == 70 / FPS
    assert decoded == [pytest.approx((69 / FPS, 73 / FPS))]


@pytest.mark.parametrize("decode", [None, lambda _: None], ids=["as with --fast", "nothing decodes"])
def test_change_behind_skipped_pictures_stays_where_they_cannot_be_decoded(decode: Any) -> None:
    assert start(ShotPictures(SPARSE, decode)) == 72 / FPS


def test_pictures_are_decoded_where_no_changes_are_known() -> None:
    assert start(ShotPictures(None, lambda _: changes({65: 40.0}))) == 65 / FPS


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


@pytest.mark.parametrize("cuts", ["added", "only"])
@pytest.mark.parametrize("first", [[], [5], [6]], ids=str)  # change points beside it
def test_cut_begins_a_shot_once(cuts: WithCuts, first: list[int]) -> None:
    assert find_starts(CUT, cuts, first) == [60]


@pytest.mark.parametrize(("cuts", "starts"), [("added", [60, 106]), ("only", [60])])
def test_change_point_without_a_cut_begins_a_shot_where_cuts_are_added(
    cuts: WithCuts, starts: list[int]
) -> None:
    assert find_starts(CUT, cuts, [9]) == starts


@pytest.mark.parametrize(
    ("film", "cuts"),
    [
        (FLASH, "added"),
        (WIPE, "only"),
        (LONG_FLASH, "only"),
        (TO_BLACK, "only"),
        (LONG_PAN, "only"),
        ([FIRST] * 40 + [TEXT] * 30 + [FIRST] * 55, "only"),
    ],
    ids=["flash", "wipe", "long flash", "fade to black", "pan", "text that comes and goes"],
)
def test_change_that_is_no_cut_begins_no_shot(film: Any, cuts: WithCuts) -> None:
    assert find_starts(film, cuts, []) == []


def test_next_slide_of_low_contrast_begins_a_shot() -> None:
    assert find_starts([FIRST] * 70 + [TEXT] * 55, "only", []) == [70]


@pytest.mark.parametrize("cuts", ["added", "only"])
def test_change_point_stays_where_few_pictures_are_decoded(cuts: WithCuts) -> None:
    assert len(find_starts(PAN, cuts, [5], every=10)) == 1


def test_cuts_alone_are_not_trusted_where_few_pictures_are_decoded() -> None:
    assert find_starts(PAN, "only", [5], every=10) == find_starts(PAN, "added", [5], every=10)


@pytest.mark.parametrize("frames", [13, 25, 50])
@pytest.mark.parametrize("first", [[], [5], [6]], ids=str)  # samples before which KTS sees a change point
def test_dissolve_begins_one_shot_inside_it(frames: int, first: list[int]) -> None:
    mixed = [FIRST + (SECOND - FIRST) * n / frames for n in range(frames)]
    begin = 72 - frames // 2
    film = [FIRST] * begin + mixed + [SECOND] * (125 - begin - frames)
    (cut,) = find_starts(film, "only", first)
    assert begin <= cut <= begin + frames


@pytest.mark.parametrize("film", [FADE, PAN], ids=["fade", "pan"])
def test_gradual_change_at_a_change_point_begins_a_shot_inside_it(film: Any) -> None:
    (begin,) = find_starts(film, "added", [5])
    assert 60 <= begin <= 73


def test_fade_is_a_cut_alone() -> None:
    assert find_starts(FADE, "only", [5]) == find_starts(FADE, "added", [5])


def test_pan_is_no_cut_alone() -> None:
    assert find_starts(PAN, "only", [5]) == []
