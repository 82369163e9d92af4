"""Single frames by time, against the frame that is on screen then by how the video was made."""

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import deep
from tests.media import GOOD_VIDEOS, make_still, make_video, read_number
from tests.video.clips import number_at
from tests.video.conftest import Made
from vidsum.types import VideoInfo
from vidsum.video.frames import Exact, Sampling, ShortSide
from vidsum.video.probe import probe
from vidsum.video.read import read_frames, read_frames_at
from vidsum.video.write import write_segments


@pytest.mark.parametrize("kind", GOOD_VIDEOS)
def test_stills_are_the_frames_on_screen_in_the_order_of_their_times(kind: str, made: Made) -> None:
    video = made(kind)
    times_s = np.random.default_rng(1).uniform(0, video.duration_s, 12).tolist()
    frames = read_frames_at(probe(video.path), times_s, ShortSide(64))
    assert [read_number(frame.image) for frame in frames] == [number_at(video, time_s) for time_s in times_s]
    assert [frame.time_s for frame in frames] == times_s
    assert [frame.index for frame in frames] == list(range(12))


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".ts", ".h264"])  # the last without time stamps
@pytest.mark.parametrize("gop", [deep(10), 250])
def test_stills_far_from_a_key_frame_are_exact(suffix: str, gop: int, tmp_path: Path) -> None:
    video = make_video(tmp_path / f"long{suffix}", n_frames=400, gop=gop, start_s=3.0)
    times_s = [0.0, 15.99, 5.31, 5.35, 13.0, 9.0]
    frames = read_frames_at(probe(video.path), times_s, ShortSide(64))
    assert [read_number(frame.image) for frame in frames] == [number_at(video, time_s) for time_s in times_s]


def test_stills_outside_the_video_are_its_first_and_last(made: Made) -> None:
    before, after = read_frames_at(probe(made("plain").path), [-1.0, 1000.0], Exact(48, 48))
    assert (read_number(before.image), read_number(after.image)) == (0, 59)
    assert after.image.shape == (48, 48, 3)


def test_stills_at_no_time_are_none(made: Made) -> None:
    assert read_frames_at(probe(made("plain").path), []) == []


@pytest.fixture
def absurd(tmp_path: Path) -> VideoInfo:
    """A picture whose file says that its pixels are 10**9 times as high as wide."""
    path = make_still(tmp_path / "odd.png")
    chunk = b"pHYs" + struct.pack(">IIB", 1, 10**9, 0)
    data = path.read_bytes()
    pixels = data.index(b"IDAT") - 4
    chunk = struct.pack(">I", 9) + chunk + struct.pack(">I", zlib.crc32(chunk))
    path.write_bytes(data[:pixels] + chunk + data[pixels:])
    return probe(path)


def test_absurd_pixels_are_shown_as_square(absurd: VideoInfo) -> None:
    assert (absurd.display_width, absurd.display_height) == (absurd.width, absurd.height)
    assert read_frames_at(absurd, [0.0])[0].image.shape == (48, 64, 3)


def test_absurd_pixels_warn(absurd: VideoInfo) -> None:
    with read_frames(absurd, [Sampling(1.0)]) as frames:
        list(frames)
    assert any("square" in warning for warning in frames.warnings)


def test_clip_of_absurd_pixels_has_square_ones(absurd: VideoInfo, tmp_path: Path) -> None:
    write_segments(absurd, [(0.0, 0.02)], tmp_path / "clip.mp4")
    assert probe(tmp_path / "clip.mp4").sample_aspect_ratio == 1
