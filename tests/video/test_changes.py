"""How much pictures change: measured while samples are read, and in segments."""

from pathlib import Path

import av
import numpy as np
import pytest

from tests.media import GOOD_VIDEOS, make_video
from tests.video.conftest import Made
from vidsum.errors import InputError
from vidsum.video.changes import ChangeMeter, Changes
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


@pytest.mark.parametrize("kind", GOOD_VIDEOS)
def test_changes_of_a_video_and_of_its_segments(kind: str, made: Made) -> None:
    video = made(kind)
    whole, info, span = measure(video.path), probe(video.path), video.duration_s
    assert whole.timestamps == pytest.approx(video.times_s, abs=0.0011)
    assert whole.array[:, 1].all()
    assert whole.array[0, 0] == 0
    assert (whole.array[1:, 0] > 1).all()
    for segments in (
        [(0.0, span)],
        [(0.3 * span, 0.5 * span), (0.8 * span, 0.9 * span), (0.45 * span, 0.6 * span)],
    ):
        try:
            close = measure_changes(info, segments)
        except InputError:  # no picture begins there
            assert len(whole.array) < 5
            continue
        at = np.searchsorted(whole.timestamps, close.timestamps - 1e-6)
        assert close.timestamps == pytest.approx(whole.timestamps[at])
        inside = close.array[:, 0] > 0
        assert close.array[inside, 0] == pytest.approx(whole.array[at[inside], 0], abs=1e-3)
        assert (~inside).sum() <= len(segments)


def test_changes_within_half_a_second(tmp_path: Path) -> None:
    pictures = np.random.default_rng(0).integers(0, 256, (40, 18, 32, 3), np.uint8)
    meter = ChangeMeter()
    with pytest.raises(InputError):
        meter.result("film.mp4")
    for number, picture in enumerate(pictures):
        meter.add(number / 25, av.VideoFrame.from_ndarray(picture, format="rgb24"))
    differences = meter.result("film.mp4").array[:, 2]
    wanted = np.abs(pictures.astype(float) - pictures[np.maximum(np.arange(40) - 12, 0)]).mean(axis=(1, 2, 3))
    assert differences == pytest.approx(wanted, abs=1e-4)
    path = tmp_path / "film.mkv"
    make_video(
        path, n_frames=100, codec_options={"x264-params": "bframes=3:b-adapt=0:b-pyramid=none:scenecut=0"}
    )
    whole, sparse = measure(path, strict=True), measure(path, 2.0)
    assert len(sparse.array) < 0.7 * len(whole.array)
    numbers = np.searchsorted(whole.timestamps, sparse.timestamps)
    follows = np.diff(numbers, prepend=-1) == 1
    assert sparse.array[:, 1].astype(bool).tolist() == follows.tolist()


@pytest.mark.parametrize(("still_s", "is_dissolve"), [(0.5, True), (0.1, False)])
def test_changes_dissolve_needs_still_pictures(still_s: float, is_dissolve: bool) -> None:
    """A picture that changes again at once does not end a dissolve."""
    first, second, third = np.random.default_rng(0).integers(0, 256, (3, 6, 8, 3)).repeat(3, 1).repeat(4, 2)
    meter = ChangeMeter()
    for number in range(60):
        share = min(max(number / 25 - 0.6, 0.0) / 0.6, 1.0)
        picture = (1 - share) * first + share * second if number / 25 < 1.2 + still_s else third
        meter.add(number / 25, av.VideoFrame.from_ndarray(picture.astype(np.uint8), format="rgb24"))
    assert (meter.result("film.mp4").array[:, 3].max() > 0) == is_dissolve
