"""The three readers, held to the same truth on the same files.

Expected differences are listed in `STEPS_IN` and nowhere else: on which files PyAV steps in for a reader.
"""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.conftest import deep
from tests.media import (
    GOOD_VIDEOS,
    MadeVideo,
    Picture,
    colour_picture,
    cut_short,
    damage,
    expected_numbers,
    make_still,
    make_video,
    read_number,
    video_info,
)
from tests.video.conftest import Made
from vidsum.errors import InputError
from vidsum.video import opencv_reader
from vidsum.video.damage import DecodeLog
from vidsum.video.frames import Exact, Frame, Sampling, ShortSide
from vidsum.video.jumps import Jumps
from vidsum.video.probe import probe
from vidsum.video.read import FrameReader, read_frames

STEPS_IN = {
    ("decord", "ts"),  # starts at the second key frame, without a word
    ("decord", "fragmented"),  # one frame off, without a word
    ("decord", "flv"),  # has no list of frames
    ("decord", "raw_h264"),
    ("decord", "hevc"),  # wrong frames after a seek, without a word
    ("decord", "av1"),  # its FFmpeg is older than AV1
    ("decord", "still"),
    ("opencv", "raw_h264"),  # gives all frames the same time
    ("opencv", "av1"),  # opens it, but wants hardware to decode it
}
SIZE = ShortSide(128)
"""Wide enough for decord: see its reader."""


def numbers(frames: FrameReader) -> list[int]:
    return [read_number(frame.image) for _, frame in frames]


def uses_pyav(frames: FrameReader) -> bool:
    return any("read with PyAV instead" in warning for warning in frames.warnings)


FULL = Sampling(None, SIZE)
"""Every frame."""


@pytest.mark.parametrize("kind", GOOD_VIDEOS)
def test_samples_are_the_frames_on_screen(kind: str, reader: str, made: Made) -> None:
    video = made(kind)
    frames = read_frames(probe(video.path), [Sampling(7.0, SIZE)], reader=reader)
    assert numbers(frames) == expected_numbers(video, 7.0)
    assert frames.end_s == pytest.approx(video.duration_s, abs=0.001)


@pytest.mark.parametrize("kind", GOOD_VIDEOS)
def test_every_frame_is_read_with_its_time(kind: str, reader: str, made: Made) -> None:
    video = made(kind)
    frames = [frame for _, frame in read_frames(probe(video.path), [FULL], reader=reader)]
    assert [read_number(frame.image) for frame in frames] == list(range(len(video.times_s)))
    assert [frame.index for frame in frames] == list(range(len(video.times_s)))
    assert [frame.pts_s for frame in frames] == pytest.approx(video.times_s, abs=1e-6)
    assert [frame.time_s for frame in frames] == [frame.pts_s for frame in frames]


@pytest.mark.parametrize("kind", GOOD_VIDEOS)
def test_pyav_steps_in_where_a_reader_fails(kind: str, reader: str, made: Made) -> None:
    frames = read_frames(probe(made(kind).path), [Sampling(1.0, SIZE)], reader=reader)
    list(frames)
    assert uses_pyav(frames) == ((reader, kind) in STEPS_IN)
    assert len(frames.warnings) == uses_pyav(frames)


def test_several_samplings_each_get_their_frames_and_size(reader: str, made: Made) -> None:
    video = made("vfr")
    samplings = [Sampling(2.0, SIZE), Sampling(None, Exact(40, 32)), Sampling(9.0, None)]
    got: list[list[Frame]] = [[], [], []]
    for i, frame in read_frames(probe(video.path), samplings, reader=reader):
        got[i].append(frame)
    assert [read_number(frame.image) for frame in got[0]] == expected_numbers(video, 2.0)
    assert [read_number(frame.image) for frame in got[1]] == list(range(len(video.times_s)))
    assert [read_number(frame.image) for frame in got[2]] == expected_numbers(video, 9.0)
    assert [frames[0].image.shape for frames in got] == [(128, 170, 3), (32, 40, 3), (48, 64, 3)]


@pytest.mark.parametrize("suffix", [".png", ".jpg"])
def test_still_is_read(suffix: str, reader: str, tmp_path: Path) -> None:
    path = make_still(tmp_path / f"still{suffix}", number=77)
    frames = read_frames(probe(path), [Sampling(2.0, SIZE)], reader=reader)
    assert numbers(frames) == [77]
    assert uses_pyav(frames) == ((reader, "still") in STEPS_IN)


def test_name_that_looks_like_an_address_is_read(
    reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_video(tmp_path / "plain.mp4").path.rename(tmp_path / "http:a.mp4")
    monkeypatch.chdir(tmp_path)
    frames = read_frames(probe("http:a.mp4"), [FULL], reader=reader)
    assert numbers(frames) == list(range(30))
    assert not frames.warnings


def test_frames_before_a_trimmed_start_are_left_out(reader: str, tmp_path: Path) -> None:
    early = {"avoid_negative_ts": "disabled"}
    video = make_video(tmp_path / "trimmed.mp4", n_frames=60, start_s=-0.4, container_options=early)
    frames = read_frames(probe(video.path), [FULL, Sampling(5.0, SIZE)], reader=reader)
    got = [(i, read_number(frame.image)) for i, frame in frames]
    assert [number for i, number in got if i == 0] == list(range(10, 60))
    assert [number for i, number in got if i == 1] == list(range(10, 60, 5))
    assert uses_pyav(frames) == (reader == "decord")


@pytest.mark.parametrize(("kind", "shape"), [
    ("plain", (48, 64, 3)), ("odd_size", (53, 75, 3)), ("odd_size_vp9", (53, 75, 3)),
    ("wide_pixels", (48, 85, 3)), ("rotated_90", (64, 48, 3)), ("rotated_180", (48, 64, 3)),
    ("rotated_270", (64, 48, 3)), ("tall_pixels_rotated", (32, 48, 3)),
])  # fmt: skip
def test_pictures_are_upright_in_square_pixels(
    kind: str, shape: tuple[int, ...], reader: str, made: Made
) -> None:
    info = probe(made(kind).path)
    assert (info.display_height, info.display_width, 3) == shape
    for _, frame in read_frames(info, [Sampling(10.0)], reader=reader):
        assert frame.image.shape == shape


@pytest.mark.parametrize("kind", ["plain", "odd_size", "wide_pixels", "rotated_90", "rotated_180"])
def test_pictures_are_contiguous_writable_bytes(kind: str, reader: str, made: Made) -> None:
    for _, frame in read_frames(probe(made(kind).path), [Sampling(10.0)], reader=reader):
        assert frame.image.dtype == np.uint8
        assert frame.image.flags.c_contiguous
        assert frame.image.flags.writeable


def test_avi_with_b_frames_is_read_in_order(tmp_path: Path) -> None:
    video = make_video(tmp_path / "clip.avi", n_frames=60, b_frames=3)
    frames = [frame for _, frame in read_frames(probe(video.path), [FULL])]
    assert [read_number(frame.image) for frame in frames] == list(range(60))
    assert np.diff([frame.pts_s for frame in frames]) == pytest.approx(1 / 25)


COLOURS_APART = {"opencv": 2.0, "decord": 3.0}
"""Grey levels. Both let FFmpeg round chroma; PyAV's pictures are held to exact ones in `test_frames.py`."""


def pictures(path: Path, reader: str) -> list[Picture]:
    return [
        frame.image for _, frame in read_frames(probe(path), [Sampling(5.0, Exact(224, 224))], reader=reader)
    ]


def difference(path: Path, reader: str) -> float:
    """Mean absolute difference, in grey levels of 0 to 255, from the pictures that PyAV gives."""
    pairs = zip(pictures(path, reader), pictures(path, "pyav"), strict=True)
    return float(np.mean([np.abs(ours.astype(float) - theirs).mean() for ours, theirs in pairs]))


@pytest.mark.parametrize("colorspace", [None, deep(5), 1])
@pytest.mark.parametrize("pix_fmt", ["yuv420p", deep("yuvj420p"), deep("yuv444p")])
@pytest.mark.parametrize("other", ["decord", "opencv"])
def test_readers_agree_on_colours(colorspace: int | None, pix_fmt: str, other: str, tmp_path: Path) -> None:
    video = make_video(
        tmp_path / "colours.mp4",
        n_frames=12,
        width=320,
        height=240,
        paint=colour_picture,
        colorspace=colorspace,
        pix_fmt=pix_fmt,
    )
    assert difference(video.path, other) < COLOURS_APART[other]


@pytest.fixture(scope="module")
def long_videos(tmp_path_factory: pytest.TempPathFactory) -> dict[str, MadeVideo]:
    """30 s of numbered frames at 24 fps, as MP4 with the index first and as MKV."""
    folder = tmp_path_factory.mktemp("long")

    def make(name: str) -> MadeVideo:
        return make_video(
            folder / name, n_frames=720, fps=24, sound=True, container_options={"movflags": "faststart"}
        )

    return {"mp4": make("long.mp4"), "mkv": make("long.mkv")}


@pytest.mark.parametrize("kind", ["mp4", deep("mkv")])
def test_cut_file_is_read_to_where_it_ends(
    kind: str, reader: str, long_videos: dict[str, MadeVideo], tmp_path: Path
) -> None:
    path = cut_short(long_videos[kind].path, tmp_path / f"half.{kind}")
    frames = read_frames(probe(path), [Sampling(2.0, SIZE)], reader=reader)
    read = numbers(frames)
    assert read == expected_numbers(long_videos[kind], 2.0)[: len(read)]
    assert len(read) == np.ceil((frames.end_s - 0.0006) * 2)
    assert 10 < frames.end_s < 20
    assert frames.info.duration_s == pytest.approx(30.0, abs=0.05)
    assert "frames decoded" in frames.warnings[-1]


@pytest.mark.parametrize("kind", ["mp4", "mkv"])
def test_damaged_file_is_read_to_its_end(
    kind: str, reader: str, long_videos: dict[str, MadeVideo], tmp_path: Path
) -> None:
    path = damage(long_videos[kind].path, tmp_path / f"damaged.{kind}", n_bytes=6000)
    frames = read_frames(probe(path), [Sampling(2.0, SIZE)], reader=reader)
    got = [frame for _, frame in frames]
    assert len(got) == 60
    assert read_number(got[0].image) == 0
    assert read_number(got[-1].image) == expected_numbers(long_videos[kind], 2.0)[-1]
    assert "missing" in frames.warnings[-1] or "damaged" in frames.warnings[-1]


@pytest.mark.parametrize("spoil", [cut_short, damage])
def test_strict_reader_refuses_a_spoilt_file(
    spoil: Callable[[Path, Path], Path], reader: str, long_videos: dict[str, MadeVideo], tmp_path: Path
) -> None:
    path = spoil(long_videos["mp4"].path, tmp_path / "spoilt.mp4")
    with pytest.raises(InputError, match="of 720 frames") as caught:
        list(read_frames(probe(path), [Sampling(2.0, SIZE)], reader=reader, strict=True))
    assert caught.value.exit_code == 3


@pytest.mark.shared
@pytest.mark.parametrize("name", ["rotated_0.mov", "rotated_90.mov", "rotated_180.mov"])
def test_clip_of_a_phone_is_upright(name: str, reader: str, shared_videos: Path) -> None:
    frames = read_frames(probe(shared_videos / "odd" / name), [Sampling(None)], reader=reader)
    shapes = {frame.image.shape for _, frame in frames}
    assert shapes == {(568, 320, 3) if name == "rotated_90.mov" else (320, 568, 3)}
    assert not frames.warnings


@pytest.mark.shared
def test_corrupted_clip_is_read_with_a_warning(reader: str, shared_videos: Path) -> None:
    frames = read_frames(probe(shared_videos / "odd" / "corrupted.mp4"), [Sampling(2.0, SIZE)], reader=reader)
    assert [frame.time_s for _, frame in frames] == [k / 2 for k in range(10)]
    assert "49 of 50 frames decoded (98 %)" in frames.warnings[-1]


@pytest.mark.shared
def test_frames_stored_out_of_order_are_sorted(reader: str, shared_videos: Path) -> None:
    frames = read_frames(probe(shared_videos / "odd" / "unordered.mov"), [Sampling(None)], reader=reader)
    assert [frame.pts_s for _, frame in frames] == pytest.approx([0.0, 1 / 32, 2 / 32, 3 / 32])


@pytest.mark.shared
@pytest.mark.parametrize("name", ["pancake.mkv", deep("slicing_peppers.mp4")])
@pytest.mark.parametrize("other", ["opencv", deep("decord")])
def test_readers_agree_on_real_clips(name: str, other: str, shared_videos: Path) -> None:
    assert difference(shared_videos / name, other) < COLOURS_APART[other]


@pytest.mark.parametrize(("n_failures", "is_read"), [(99, True), (100, False)])
def test_opencv_reads_on_after_few_damaged_packets(
    n_failures: int, is_read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many failures in a row as at the end of a file are the end."""
    picture = np.zeros((48, 64, 3), np.uint8)
    answers = iter([(True, picture), *[(False, None)] * n_failures, (True, picture), *[(False, None)] * 100])
    positions_ms = iter([0.0, 4040.0])
    capture = SimpleNamespace(
        read=lambda: next(answers),
        get=lambda _: next(positions_ms),
        isOpened=lambda: True,
        release=lambda: None,
    )
    monkeypatch.setattr(opencv_reader.cv2, "VideoCapture", lambda *_: capture)
    frames = opencv_reader.read_samples(video_info(), [Sampling(None)], Jumps(), DecodeLog())
    assert [frame.time_s for _, frame in frames] == [0.0, 4.04][: 1 + is_read]
