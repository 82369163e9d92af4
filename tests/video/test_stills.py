"""Single frames by time, against the frame that is on screen then by how the video was made."""

import struct
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.media import GOOD_VIDEOS, MadeVideo, make_still, make_video, read_number
from tests.video.conftest import Made
from vidsum.types import VideoInfo
from vidsum.video.damage import DecodeLog
from vidsum.video.decode import decode_frames, read_packets
from vidsum.video.frames import Exact, Sampling, ShortSide
from vidsum.video.open import open_video, video_stream
from vidsum.video.probe import probe
from vidsum.video.read import read_frames, read_frames_at
from vidsum.video.write import write_segments


def number_at(video: MadeVideo, time_s: float) -> int:
    return max((i for i, begin_s in enumerate(video.times_s) if begin_s <= time_s + 0.0006), default=0)


@pytest.mark.parametrize("kind", GOOD_VIDEOS)
def test_stills_are_the_frames_on_screen_in_the_order_of_their_times(kind: str, made: Made) -> None:
    video = made(kind)
    times_s = np.random.default_rng(1).uniform(0, video.duration_s, 12).tolist()
    frames = read_frames_at(probe(video.path), times_s, ShortSide(64))
    assert [read_number(frame.image) for frame in frames] == [number_at(video, time_s) for time_s in times_s]
    assert [frame.time_s for frame in frames] == times_s
    assert [frame.index for frame in frames] == list(range(12))


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".ts", ".h264"])  # the last without time stamps
@pytest.mark.parametrize("gop", [10, 250])
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


def test_packet_of_a_new_stream_is_an_error_that_does_not_end_reading(made: Made) -> None:
    video = made("plain")
    with open_video(video.path) as container:
        stream = video_stream(container, video.path)
        packets = iter(list(container.demux(stream)))

        def demux(*_: object) -> Iterator[object]:
            """PyAV fails on a packet of a stream that was not there when the file was opened."""
            yield from islice(packets, 20)
            raise IndexError

        log = DecodeLog()
        read = list(read_packets(SimpleNamespace(demux=demux), [stream], log))
    assert len([packet for packet in read if packet.size]) == len(video.times_s)
    assert log.errors > 0


@pytest.mark.parametrize("share", [0.8, 0.3, 0.55])
@pytest.mark.parametrize("kind", sorted(set(GOOD_VIDEOS) - {"one_frame", "50_ms", "raw_h264"}))
def test_decoding_from_a_time_on_begins_with_the_frame_on_screen(kind: str, share: float, made: Made) -> None:
    video = made(kind)
    start_s = video.duration_s * share
    with open_video(video.path) as container:
        stream = video_stream(container, video.path)
        times_s = [decoded.time_s for decoded in decode_frames(container, stream, start_s=start_s)]
    assert times_s == pytest.approx(video.times_s[number_at(video, start_s) :], abs=1e-6)


def test_decoding_goes_back_in_an_open_file(made: Made) -> None:
    video = made("plain")
    with open_video(video.path) as container:
        stream = video_stream(container, video.path)
        for start_s in (1.9, 0.7, 1.3):
            first = next(iter(decode_frames(container, stream, start_s=start_s)))
            assert first.time_s == pytest.approx(video.times_s[number_at(video, start_s)], abs=1e-6)


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
