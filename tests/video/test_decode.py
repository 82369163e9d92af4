"""Decoded frames: from a time on, and in spite of faulty packets."""

from collections.abc import Iterator
from itertools import islice
from types import SimpleNamespace

import pytest

from tests.media import GOOD_VIDEOS
from tests.video.clips import number_at
from tests.video.conftest import Made
from vidsum.video.damage import DecodeLog
from vidsum.video.decode import can_seek, decode_frames, read_packets
from vidsum.video.jumps import Jumps
from vidsum.video.open import open_video, video_stream


@pytest.mark.parametrize(
    ("kind", "is_right"), [("plain", True), ("vp9", True), ("raw_h264", False), ("odd_size", False)]
)
def test_seeks_are_right_but_in_raw_and_444_h264(kind: str, is_right: bool, made: Made) -> None:
    video = made(kind)
    with open_video(video.path) as container:
        assert can_seek(container, video_stream(container, video.path), Jumps()) == is_right


def test_no_seek_is_right_where_time_stamps_jump(made: Made) -> None:
    video = made("plain")
    with open_video(video.path) as container:
        stream = video_stream(container, video.path)
        assert not can_seek(container, stream, Jumps(restarts_s=(1.0,)))


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
