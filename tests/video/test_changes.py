"""How much pictures change: measured while samples are read, and in segments."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from tests.conftest import deep
from tests.media import GOOD_VIDEOS, make_video
from tests.video.conftest import Made
from vidsum.errors import InputError
from vidsum.video.changes import ChangeMeter, Changes, sharpness
from vidsum.video.frames import Exact, Sampling
from vidsum.video.probe import probe
from vidsum.video.read import read_frames
from vidsum.video.segments import measure_changes


def measure(path: Path, fps: float | None = None, *, strict: bool = False) -> Changes:
    meter = ChangeMeter()
    with read_frames(probe(path), [Sampling(fps, Exact(32, 18))], strict=strict, meter=meter) as frames:
        for _ in frames:
            pass
    return meter.result(str(path))


@pytest.fixture(scope="module")
def measured(made: Made) -> Callable[[str], Changes]:
    """measured(kind) has the changes of all frames of that kind of `GOOD_VIDEOS`."""
    return cache(lambda kind: measure(made(kind).path))


@pytest.mark.parametrize("kind", GOOD_VIDEOS)
def test_changes_are_measured_at_every_frame(
    kind: str, made: Made, measured: Callable[[str], Changes]
) -> None:
    video, whole = made(kind), measured(kind)
    assert whole.timestamps == pytest.approx(video.times_s, abs=0.0011)
    assert whole.array[:, 1].all()
    assert whole.array[0, 0] == 0
    assert (whole.array[1:, 0] > 1).all()


SHARES = {"whole": [(0.0, 1.0)], "overlapping": [(0.3, 0.5), (0.8, 0.9), (0.45, 0.6)]}
"""Segments, as shares of a video's length."""


@pytest.mark.parametrize("shares", [deep(SHARES["whole"]), SHARES["overlapping"]], ids=SHARES)
@pytest.mark.parametrize("kind", GOOD_VIDEOS)
def test_changes_in_segments_are_those_of_the_whole_video(
    kind: str, shares: list[tuple[float, float]], made: Made, measured: Callable[[str], Changes]
) -> None:
    video, whole = made(kind), measured(kind)
    segments = [(start * video.duration_s, end * video.duration_s) for start, end in shares]
    try:
        close = measure_changes(probe(video.path), segments)
    except InputError:  # no picture begins there
        assert len(whole.array) < 5
        return
    at = np.searchsorted(whole.timestamps, close.timestamps - 1e-6)
    assert close.timestamps == pytest.approx(whole.timestamps[at])
    inside = close.array[:, 0] > 0
    assert close.array[inside, 0] == pytest.approx(whole.array[at[inside], 0], abs=1e-3)
    assert (~inside).sum() <= len(segments)


def test_changes_of_no_picture_are_refused() -> None:
    with pytest.raises(InputError):
        ChangeMeter().result("film.mp4")


def test_changes_within_half_a_second_compare_with_the_twelfth_frame_before() -> None:
    pictures = np.random.default_rng(0).integers(0, 256, (40, 18, 32, 3), np.uint8)
    meter = ChangeMeter()
    for number, picture in enumerate(pictures):
        meter.add(number / 25, av.VideoFrame.from_ndarray(picture, format="rgb24"))
    differences = meter.result("film.mp4").array[:, 2]
    wanted = np.abs(pictures.astype(float) - pictures[np.maximum(np.arange(40) - 12, 0)]).mean(axis=(1, 2, 3))
    assert differences == pytest.approx(wanted, abs=1e-4)


def test_changes_mark_frames_whose_predecessor_was_skipped(tmp_path: Path) -> None:
    path = tmp_path / "film.mkv"
    make_video(
        path, n_frames=100, codec_options={"x264-params": "bframes=3:b-adapt=0:b-pyramid=none:scenecut=0"}
    )
    whole, sparse = measure(path, strict=True), measure(path, 2.0)
    assert len(sparse.array) < 0.7 * len(whole.array)
    numbers = np.searchsorted(whole.timestamps, sparse.timestamps)
    follows = np.diff(numbers, prepend=-1) == 1
    assert sparse.array[:, 1].astype(bool).tolist() == follows.tolist()


@pytest.mark.parametrize(
    ("still_s", "is_dissolve"), [(0.5, True), (0.1, False)], ids=["still afterwards", "changes again"]
)
def test_dissolve_ends_in_still_pictures(still_s: float, is_dissolve: bool) -> None:
    """A picture that changes again at once does not end a dissolve."""
    first, second, third = np.random.default_rng(0).integers(0, 256, (3, 6, 8, 3)).repeat(3, 1).repeat(4, 2)
    meter = ChangeMeter()
    for number in range(60):
        share = min(max(number / 25 - 0.6, 0.0) / 0.6, 1.0)
        picture = (1 - share) * first + share * second if number / 25 < 1.2 + still_s else third
        meter.add(number / 25, av.VideoFrame.from_ndarray(picture.astype(np.uint8), format="rgb24"))
    assert (meter.result("film.mp4").array[:, 3].max() > 0) == is_dissolve


def test_blurred_picture_is_less_sharp() -> None:
    spots = np.random.default_rng(0).integers(0, 255, (6, 8)).astype(np.uint8)
    sharp = cv2.resize(spots, (320, 180), interpolation=cv2.INTER_NEAREST)
    assert sharpness(cv2.GaussianBlur(sharp, (0, 0), 12)) < 0.35 < 0.7 < sharpness(sharp)


def test_sharpness_is_a_quantile_of_the_edges() -> None:
    grey = np.random.default_rng(0).integers(0, 256, (90, 160)).astype(np.uint8)
    edges = np.abs(cv2.Laplacian(grey, cv2.CV_16S))[1:-1, 1:-1]
    assert sharpness(grey) == pytest.approx(np.quantile(edges, 0.95) / (grey.std() + 1))


def test_plain_picture_has_no_sharpness() -> None:
    assert sharpness(np.full((90, 160), 7, np.uint8)) == 0
