"""Copied clips have the packets of the source, cut where they can be decoded, in step with the sound."""

from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import deep, deep_but
from tests.media import GOOD_VIDEOS, MadeVideo, cut_short, make_video
from tests.video.clips import (
    REAL_CLIPS,
    decode_all,
    make_flash_beep,
    numbers_by_opencv,
    numbers_by_pyav,
    packets_of,
    worst_offsets_s,
)
from tests.video.conftest import Made
from vidsum.errors import InputError, UsageError
from vidsum.video.copy import copy_segments
from vidsum.video.probe import probe

SYNC_S = 0.04
NOT_IN_MP4 = {"vp8", "raw_h264"}


@pytest.fixture(scope="module")
def b_frames(tmp_path_factory: pytest.TempPathFactory) -> MadeVideo:
    """Four seconds with three B-frames in a row, a key frame about every second."""
    path = tmp_path_factory.mktemp("b_frames") / "b_frames.mp4"
    return make_video(path, n_frames=100, gop=25, b_frames=3, sound=True)


def frames_within(video: MadeVideo, segments: tuple[tuple[float, float], ...]) -> list[int]:
    """The frames that go on screen in the segments; times may be rounded to milliseconds."""
    return [
        number
        for start, end in segments
        for number, time_s in enumerate(video.times_s)
        if start - 0.001 <= time_s < end - 0.001
    ]


@pytest.mark.parametrize("kind", sorted(GOOD_VIDEOS.keys() - NOT_IN_MP4))
def test_copy_has_exactly_the_frames_of_its_segments(kind: str, made: Made, clip: Path) -> None:
    video = made(kind)
    length = video.duration_s
    segments = [(0.35 * length, 0.5 * length), (0.72 * length, 0.9 * length)]
    written = copy_segments(probe(video.path), segments, clip)
    expected = frames_within(video, written.segments)
    assert numbers_by_pyav(clip) == expected
    assert written.n_frames == len(expected)
    assert set(frames_within(video, tuple(segments))) <= set(expected)


@pytest.mark.parametrize("has_sound", [True, False])
def test_copy_says_whether_it_has_sound(has_sound: bool, tmp_path: Path, clip: Path) -> None:
    film = make_video(tmp_path / "film.mp4", n_frames=50, sound=has_sound)
    written = copy_segments(probe(film.path), [(0.0, 1.0)], clip)
    assert (written.has_audio, probe(clip).has_audio) == (has_sound, has_sound)


@given(edges=st.lists(st.integers(0, 3999), min_size=2, max_size=8, unique=True).map(sorted))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_copied_segments_grow_to_key_frames(edges: list[int], b_frames: MadeVideo, clip: Path) -> None:
    segments = [(a / 1000, b / 1000) for a, b in zip(edges[::2], edges[1::2], strict=False)]
    written = copy_segments(probe(b_frames.path), segments, clip)
    assert numbers_by_pyav(clip) == frames_within(b_frames, written.segments)
    keys = {
        float(packet.pts * packet.time_base) for packet in packets_of(b_frames.path) if packet.is_keyframe
    }
    assert {start for start, _ in written.segments} <= keys
    for start, end in segments:
        assert any(grown[0] <= start and end <= grown[1] for grown in written.segments)
    if segments:
        assert written.segments[-1][1] < max(segments[-1][1] + 0.2, 4.0)


@pytest.mark.parametrize("kind", ["video", "audio"])
def test_copy_keeps_packets_byte_for_byte(kind: str, b_frames: MadeVideo, clip: Path) -> None:
    copy_segments(probe(b_frames.path), [(1.2, 1.6), (3.1, 3.9)], clip)
    stored = {bytes(packet) for packet in packets_of(b_frames.path, kind)}
    copied = packets_of(clip, kind)
    assert len(copied) > 20
    assert all(bytes(packet) in stored for packet in copied)


def test_copy_has_its_index_first(b_frames: MadeVideo, clip: Path) -> None:
    copy_segments(probe(b_frames.path), [(1.2, 1.6)], clip)
    data = clip.read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")


def test_copy_has_its_comment(b_frames: MadeVideo, clip: Path) -> None:
    copy_segments(probe(b_frames.path), [(1.2, 1.6)], clip, comment="sha256:0123abcd")
    with av.open(str(clip)) as container:
        assert container.metadata["comment"] == "sha256:0123abcd"


def test_copy_reports_progress_after_each_segment(b_frames: MadeVideo, clip: Path) -> None:
    calls: list[tuple[str, float, float]] = []
    segments = [(0.5, 1.0), (2.0, 2.5)]
    copy_segments(probe(b_frames.path), segments, clip, progress=lambda *call: calls.append(call))
    assert calls == [("copying", 0.5, 1.0), ("copying", 1.0, 1.0)]


@pytest.fixture(scope="module", params=[".mp4", ".mkv", ".ts"])
def late_copy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of three segments of a video with B-frames whose time stamps begin at 2 s."""
    folder = tmp_path_factory.mktemp("late")
    video = make_video(
        folder / f"source{request.param}", n_frames=200, gop=20, b_frames=3, start_s=2.0, sound=True
    )
    copy_segments(probe(video.path), [(0.5, 1.0), (3.1, 3.2), (6.6, 8.0)], folder / "clip.mp4")
    return folder / "clip.mp4"


@pytest.mark.parametrize("kind", ["video", "audio"])
def test_copied_decoding_times_rise(kind: str, late_copy: Path) -> None:
    assert all(later.dts > earlier.dts for earlier, later in pairwise(packets_of(late_copy, kind)))


def test_copy_starts_at_zero(late_copy: Path) -> None:
    assert min(packet.pts for packet in packets_of(late_copy)) == 0


def test_copied_frames_are_in_order_for_opencv(late_copy: Path) -> None:
    numbers = numbers_by_opencv(late_copy)
    assert numbers == sorted(numbers)


@pytest.mark.parametrize(("suffix", "sound"), [
    (".mp4", {}),
    deep(".mp4", {"sample_rate": 22_050}),
    deep(".mp4", {"sample_rate": 44_100, "layout": "5.1", "start_s": 5.0}),
    deep(".mp4", {"sound_from_s": 2.7}),
    deep(".mp4", {"sound_until_s": 5.3}),
    (".mkv", {"sound_codec": "libopus"}),
    deep(".mkv", {"sound_codec": "libmp3lame", "sample_rate": 44_100, "start_s": 1.0}),
    (".ts", {"sample_rate": 44_100, "layout": "stereo"}),
    deep(".flv", {"sample_rate": 44_100}),
])  # fmt: skip
def test_copied_pictures_and_sound_are_in_step(
    suffix: str, sound: dict[str, object], tmp_path: Path, clip: Path
) -> None:
    source = make_flash_beep(tmp_path / f"source{suffix}", duration_s=12, gop=20, **sound)
    written = copy_segments(probe(source.path), [(0.3, 0.9), (2.5, 3.1), (4.9, 6.6), (9.1, 11.3)], clip)
    flashes_s, _, apart_s = worst_offsets_s(source, clip, written.segments)
    assert flashes_s < 0.002
    assert apart_s < SYNC_S


@pytest.mark.parametrize("kind", ["rotated_90", "rotated_180", "rotated_270", "plain"])
def test_copy_keeps_rotation(kind: str, made: Made, clip: Path) -> None:
    video = made(kind)
    copy_segments(probe(video.path), [(0.0, 0.5)], clip)
    with av.open(str(clip)) as container:
        assert next(container.decode(video=0)).rotation % 360 == -video.rotation_deg % 360
    assert numbers_by_opencv(clip)[0] == 0


@pytest.mark.parametrize(("kind", "shape"), [("wide_pixels", Fraction(4, 3)), ("plain", 1)])
def test_copy_keeps_pixel_shape(kind: str, shape: Fraction, made: Made, clip: Path) -> None:
    copy_segments(probe(made(kind).path), [(0.0, 0.5)], clip)
    with av.open(str(clip)) as container:
        assert (container.streams.video[0].sample_aspect_ratio or 1) == shape
    assert numbers_by_opencv(clip)[0] == 0


@pytest.mark.parametrize(("kind", "is_tagged"), [("hevc", True), ("plain", False)])
def test_copied_hevc_has_the_tag_of_apples_players(
    kind: str, is_tagged: bool, made: Made, clip: Path
) -> None:
    copy_segments(probe(made(kind).path), [(0.0, 0.5)], clip)
    assert numbers_by_opencv(clip)[0] == 0
    assert (b"hvc1" in clip.read_bytes()) == is_tagged


@pytest.mark.parametrize(("name", "facts", "message"), [
    ("a.webm", {"codec": "libvpx"}, "video of the codec vp8 cannot be copied into an MP4"),
    ("a.avi", {"b_frames": 2}, "has no presentation times"),
    ("a.h264", {"b_frames": 2}, "has no presentation times"),
])  # fmt: skip
def test_copy_refuses_video_that_an_mp4_cannot_hold(
    name: str, facts: dict[str, Any], message: str, tmp_path: Path, clip: Path
) -> None:
    video = make_video(tmp_path / name, **facts)
    with pytest.raises(UsageError, match=message) as caught:
        copy_segments(probe(video.path), [(0.0, 0.5)], clip)
    assert caught.value.hint == "leave copy out to encode it again"
    assert not clip.exists()


def test_copy_refuses_sound_that_an_mp4_cannot_hold(tmp_path: Path, clip: Path) -> None:
    source = make_flash_beep(tmp_path / "source.mkv", sound_codec="pcm_u8", duration_s=2)
    with pytest.raises(UsageError, match="audio of the codec pcm_u8 cannot be copied into an MP4"):
        copy_segments(probe(source.path), [(0.0, 0.5)], clip)


def test_mpeg2_without_b_frames_is_copied_from_mxf(tmp_path: Path, clip: Path) -> None:
    video = make_video(tmp_path / "clip.mxf", n_frames=100, codec="mpeg2video", pix_fmt="yuv420p", b_frames=0)
    written = copy_segments(probe(video.path), [(0.1, 0.5), (2.0, 2.6)], clip)
    assert numbers_by_pyav(clip) == frames_within(video, written.segments)


@pytest.mark.parametrize(
    "segments",
    [[], [(1.0, 1.0)], [(0.5, 1.0), (0.9, 1.2)], [(7.0, 8.0)]],
    ids=["none", "empty", "overlapping", "behind the end"],
)
def test_copy_refuses_impossible_segments(
    segments: list[tuple[float, float]], b_frames: MadeVideo, clip: Path
) -> None:
    with pytest.raises(UsageError):
        copy_segments(probe(b_frames.path), segments, clip)


def test_copy_refuses_damaged_sound(tmp_path: Path, clip: Path) -> None:
    source = make_flash_beep(tmp_path / "whole.ts")
    data = bytearray(source.path.read_bytes())
    first = next(packet for packet in packets_of(source.path, "audio") if packet.pts > 2 * 90_000)
    at = data.index(bytes(first)[:7])  # the header of an AAC frame
    data[at + 2 : at + 6] = b"\xff" * 4
    path = tmp_path / "damaged.ts"
    path.write_bytes(data)
    with pytest.raises(InputError, match="MP4") as caught:
        copy_segments(probe(path), [(1.0, 5.0)], clip)
    assert "copy" in str(caught.value.hint)
    assert not clip.exists()


@pytest.fixture(scope="module", params=[".mp4", ".mkv"])
def cut_video(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[MadeVideo, Path]:
    """A video of eight seconds, and its file cut off in the fifth."""
    folder, suffix = tmp_path_factory.mktemp("cut"), request.param
    options = {"movflags": "faststart"} if suffix == ".mp4" else None
    video = make_video(folder / f"whole{suffix}", n_frames=200, gop=25, container_options=options)
    return video, cut_short(video.path, folder / f"cut{suffix}", keep=0.6)


def test_copy_of_a_cut_file_has_what_is_left(cut_video: tuple[MadeVideo, Path], clip: Path) -> None:
    video, path = cut_video
    written = copy_segments(probe(path), [(1.1, 2.0), (6.5, 7.5)], clip)
    assert len(written.segments) == 1
    assert numbers_by_pyav(clip) == frames_within(video, written.segments)
    assert written.warnings == ("has no pictures for 1.0 s of the segments, which are left out",)


def test_copy_of_nothing_but_the_lost_part_is_refused(cut_video: tuple[MadeVideo, Path], clip: Path) -> None:
    with pytest.raises(InputError, match="no frame of the segments"):
        copy_segments(probe(cut_video[1]), [(6.5, 7.5)], clip)


@pytest.mark.shared
@pytest.mark.parametrize("name", deep_but(REAL_CLIPS[:1], REAL_CLIPS))
def test_copy_of_a_real_clip_has_the_frames_of_its_segments(
    name: str, shared_videos: Path, clip: Path
) -> None:
    path = shared_videos / name
    times = np.array([frame.time for frame in decode_all(path)])
    length = times[-1]
    written = copy_segments(probe(path), [(0.2 * length, 0.3 * length), (0.7 * length, 0.8 * length)], clip)
    expected = sum(
        int(((times >= start - 1e-3) & (times < end - 1e-3)).sum()) for start, end in written.segments
    )
    assert len(decode_all(clip)) == expected == written.n_frames
