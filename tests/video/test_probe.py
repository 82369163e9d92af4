"""Facts of `probe`, against those of made videos and OpenCV, and its errors."""

import os
import re
import shlex
import socket
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image

from tests.media import GOOD_VIDEOS, colour_picture, cut_short, damage, make_sound, make_still, make_video
from tests.video.conftest import Made
from vidsum.errors import InputError
from vidsum.video.probe import is_video, probe, start_offset_s
from vidsum.video.write import write_segments

CODECS = {name: name for name in ("vp8", "vp9", "av1", "hevc")} | {
    "odd_size_vp9": "vp9",
    "mpeg4_avi": "mpeg4",
}
SOUND = {"vp8": "opus", "vp9": "opus"}
SILENT = set(GOOD_VIDEOS) - {"plain", "ntsc_film_mkv", "late_start", "late_start_mkv", "ts", "vp8", "vp9"}


@pytest.fixture(params=GOOD_VIDEOS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_probe_counts_frames(kind: str, made: Made) -> None:
    assert probe(made(kind).path).n_frames == len(made(kind).times_s)


def test_probe_measures_the_length(kind: str, made: Made) -> None:
    assert probe(made(kind).path).duration_s == pytest.approx(made(kind).duration_s, abs=0.001)


def test_probe_measures_the_rate_and_whether_it_varies(kind: str, made: Made) -> None:
    info = probe(made(kind).path)
    assert info.is_vfr == kind.startswith("vfr")
    if not info.is_vfr:
        assert info.fps == pytest.approx(cv2.VideoCapture(info.path).get(cv2.CAP_PROP_FPS), rel=1e-4)


def test_probe_gives_the_stored_size_and_the_rotation(kind: str, made: Made) -> None:
    video, info = made(kind), probe(made(kind).path)
    assert (info.width, info.height) == (video.width, video.height)
    assert info.rotation_deg == video.rotation_deg


def test_probe_names_the_codec(kind: str, made: Made) -> None:
    assert probe(made(kind).path).codec == CODECS.get(kind, "h264")


def test_probe_names_the_codec_of_sound(kind: str, made: Made) -> None:
    info = probe(made(kind).path)
    assert info.audio_codec == (None if kind in SILENT else SOUND.get(kind, "aac"))
    assert info.has_audio == (kind not in SILENT)


@pytest.mark.parametrize(
    ("kind", "container"),
    [
        ("plain", "mp4"),
        ("rotated_180", "mov"),
        ("vfr_mkv", "matroska"),
        ("vp8", "webm"),
        ("ts", "mpegts"),
        ("mpeg4_avi", "avi"),
    ],
)
def test_probe_names_the_container_by_the_suffix(kind: str, container: str, made: Made) -> None:
    assert probe(made(kind).path).container == container


def test_probe_gives_the_size_of_the_file(kind: str, made: Made) -> None:
    assert probe(made(kind).path).bytes == made(kind).path.stat().st_size


@pytest.mark.parametrize(("kind", "start_s"), [("late_start", 5.0), ("late_start_mkv", 5.0), ("plain", 0.0)])
def test_probe_gives_the_first_time_stamp(kind: str, start_s: float, made: Made) -> None:
    assert probe(made(kind).path).start_s == start_s


STARTS = pytest.mark.parametrize(("suffix", "facts", "offset_s"), [
    (".mkv", {"sound": True, "late_s": 2.0}, 2.0),
    (".mkv", {"sound": True, "late_s": 20.0}, 20.0),
    (".mp4", {"sound": True, "late_s": 2.0}, 2.0),
    (".ts", {"sound": True, "late_s": 2.0, "start_s": 1.4}, 2.0),
    (".ts", {"sound": True, "late_s": 20.0, "start_s": 1.4}, 20.0),
    (".mkv", {"sound": True, "late_s": -2.0, "start_s": 3.0}, 0.0),
    (".mkv", {"late_s": 2.0}, 0.0),
    (".mp4", {"sound": True, "b_frames": 2, "container_options": {"use_editlist": "0"}}, 0.08),
])  # fmt: skip


@STARTS
def test_pictures_start_behind_the_sound(
    suffix: str, facts: dict[str, Any], offset_s: float, tmp_path: Path
) -> None:
    info = probe(make_video(tmp_path / f"late{suffix}", n_frames=60, **facts).path)
    assert info.start_offset_s == pytest.approx(offset_s, abs=0.03)


@STARTS
def test_late_pictures_change_neither_rate_nor_length(
    suffix: str, facts: dict[str, Any], offset_s: float, tmp_path: Path
) -> None:
    info = probe(make_video(tmp_path / f"late{suffix}", n_frames=60, **facts).path)
    assert (info.fps, info.n_frames, info.duration_s) == (25, 60, pytest.approx(2.4, abs=0.05))


@STARTS
def test_unknown_start_offset_is_measured_again(
    suffix: str, facts: dict[str, Any], offset_s: float, tmp_path: Path
) -> None:
    info = probe(make_video(tmp_path / f"late{suffix}", n_frames=60, **facts).path)
    assert start_offset_s(replace(info, start_offset_s=None)) == info.start_offset_s


def test_start_offset_of_a_file_that_changed_is_unknown(tmp_path: Path) -> None:
    info = probe(make_video(tmp_path / "late.mkv", n_frames=60, sound=True, late_s=2.0).path)
    assert start_offset_s(replace(info, start_offset_s=None, bytes=1)) == 0


def test_first_pictures_without_time_stamps_have_a_start_offset(tmp_path: Path) -> None:
    path = make_video(tmp_path / "late.ts", n_frames=60, sound=True, late_s=2.0, start_s=1.4).path
    content = bytearray(path.read_bytes())
    for packet in list(re.finditer(b"\0\0\1\xe0", content))[:15]:
        content[packet.start() + 7] &= 0x3F  # no PTS follows
    path.write_bytes(content)
    assert probe(path).start_offset_s == pytest.approx(2.0, abs=0.03)


def test_cut_matroska_is_as_long_as_its_header_says(tmp_path: Path) -> None:
    video = make_video(tmp_path / "whole.mkv", n_frames=500, paint=colour_picture, sound=True)
    info = probe(cut_short(video.path, tmp_path / "half.mkv"))
    assert info.duration_s == pytest.approx(20.0, abs=0.05)
    assert info.n_frames == pytest.approx(500, abs=1)


def test_sound_behind_the_last_picture_is_not_part_of_the_length(tmp_path: Path) -> None:
    longer_sound = make_video(tmp_path / "clip.mkv", n_frames=50, sound=True, sound_s=6.0)
    assert probe(longer_sound.path).duration_s == pytest.approx(2.0, abs=0.001)


@pytest.mark.parametrize("fps", [Fraction(24_000, 1001), Fraction(30_000, 1001), Fraction(60_000, 1001)])
@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".ts"])
def test_ntsc_rate_is_exact_and_constant(fps: Fraction, suffix: str, tmp_path: Path) -> None:
    info = probe(make_video(tmp_path / f"clip{suffix}", fps=fps, n_frames=50).path)
    assert info.fps == pytest.approx(float(fps), rel=1e-4)
    assert not info.is_vfr


@pytest.mark.parametrize(("suffix", "container"), [(".png", "png"), (".jpg", "jpeg")])
def test_still_is_a_video_of_one_frame(suffix: str, container: str, tmp_path: Path) -> None:
    info = probe(make_still(tmp_path / f"still{suffix}", width=80, height=50))
    assert (info.n_frames, info.width, info.height, info.is_vfr) == (1, 80, 50, False)
    assert info.duration_s > 0
    assert info.container == container


CONCAT = "ffconcat version 1.0\nfile film.ts\n"
HLS = "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:4\n#EXTINF:2,\n{}\n#EXT-X-ENDLIST\n"
DASH = '<?xml version="1.0"?>\n<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"></MPD>\n'
SDP = "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\n"


@pytest.mark.parametrize(("name", "content", "reason"), [
    ("empty.mp4", b"", "is empty"),
    ("notes.txt", b"some words\n" * 50, "is text, not a video"),
    ("notes.mp4", b"some words\n" * 50, "is not a video"),
    ("noise.mp4", np.random.default_rng(0).bytes(50_000), "is not a video"),
    ("titles.srt", b"1\n00:00:01,000 --> 00:00:02,000\nhello\n", "has no video"),
    ("a.mpd", DASH.encode(), "a.mpd"),
    ("a.sdp", SDP.encode(), "a.sdp"),
], ids=lambda value: value if isinstance(value, str) else "")  # fmt: skip
def test_file_that_is_no_video_is_refused(name: str, content: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    assert_refused(tmp_path / name, reason)


@pytest.mark.parametrize("suffix", [".mp3", ".mp4", ".mkv", ".flac"])
def test_sound_without_video_is_refused(suffix: str, tmp_path: Path) -> None:
    assert_refused(make_sound(tmp_path / f"a{suffix}", cover=False), "has sound but no video")


@pytest.mark.parametrize("suffix", [".mp3", ".mp4", ".flac"])
def test_sound_with_a_cover_is_refused(suffix: str, tmp_path: Path) -> None:
    assert_refused(make_sound(tmp_path / f"a{suffix}", cover=True), "has sound but no video")


def test_animated_webp_is_refused_with_the_command_that_converts_it(tmp_path: Path) -> None:
    first, second = (Image.new("RGB", (64, 48), colour) for colour in ("red", "blue"))
    first.save(tmp_path / "a.webp", save_all=True, append_images=[second])
    with pytest.raises(InputError, match="animated WebP") as caught:
        probe(tmp_path / "a.webp")
    assert "a.gif" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("comment", "is_taken"), [("vidsum " + "0f" * 16, False), ("vidsum is a program", True)]
)
def test_film_that_vidsum_wrote_is_no_video_of_a_folder(comment: str, is_taken: bool, tmp_path: Path) -> None:
    source = probe(make_video(tmp_path / "film.mp4", n_frames=25).path)
    write_segments(source, [(0, 0.5)], tmp_path / "made.mp4", comment=comment)
    assert is_video(tmp_path / "made.mp4") == is_taken


@pytest.mark.parametrize("name", ["a.avif", "a"])
def test_photograph_of_a_phone_is_no_video_of_a_folder(name: str, tmp_path: Path) -> None:
    Image.new("RGB", (64, 48)).save(tmp_path / name, "AVIF")
    assert not is_video(tmp_path / name)


def test_folder_is_refused(tmp_path: Path) -> None:
    assert_refused(tmp_path, "is a folder")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_named_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.mp4")
    assert_refused(tmp_path / "pipe.mp4", "is a pipe")


def test_mp4_without_its_index_is_refused(made: Made, tmp_path: Path) -> None:
    assert_refused(cut_short(made("plain").path, tmp_path / "half.mp4"), "moov")


def test_unknown_codec_is_refused(made: Made, tmp_path: Path) -> None:
    path = tmp_path / "unknown.mp4"
    path.write_bytes(made("plain").path.read_bytes().replace(b"avc1", b"zzzz").replace(b"avcC", b"zzzC"))
    assert_refused(path, "no decoder for its video")


def test_video_of_zeros_is_refused(tmp_path: Path) -> None:
    video = make_video(tmp_path / "clip.mp4", container_options={"movflags": "faststart"})
    data = video.path.read_bytes()
    start = data.index(b"mdat") + 4
    video.path.write_bytes(data[:start] + bytes(len(data) - start))
    assert_refused(video.path, "none of its video can be decoded")


def test_file_without_permission_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    video = make_video(tmp_path / "clip.mp4")
    monkeypatch.setattr("os.access", lambda path, mode: False)  # root may read whatever the file's mode is
    assert_refused(video.path, "permission denied")
    with pytest.raises(InputError) as error:
        probe(video.path)
    assert (error.value.hint or "").endswith("shows who may read it")  # not "a whole copy"


@pytest.mark.parametrize(
    ("name", "hint"),
    [("holidy.mp4", "{folder}/holiday.mp4"), ("x/holiday.mp4", "a file that is there: ls {folder}")],
)
def test_missing_file_hints_at_what_is_there(name: str, hint: str, tmp_path: Path) -> None:
    (tmp_path / "holiday.mp4").touch()
    with pytest.raises(InputError, match="no such file") as raised:
        probe(tmp_path / name)
    assert raised.value.hint == hint.format(folder=tmp_path)


@pytest.mark.parametrize(
    ("name", "fault"),
    [("a.mp4", "link in a loop of links"), ("c.mp4", "link to d.mp4, which does not exist")],
)
def test_link_that_leads_nowhere_is_refused(name: str, fault: str, tmp_path: Path) -> None:
    for link, goal in (("a.mp4", "b.mp4"), ("b.mp4", "a.mp4"), ("c.mp4", "d.mp4")):
        (tmp_path / link).symlink_to(goal)
    with pytest.raises(InputError, match=f"{name}: is a {fault}$") as raised:
        probe(tmp_path / name)
    assert raised.value.hint is None


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".ts", ".avi", ".webm"])
def test_damaged_file_is_measured_or_refused(suffix: str, tmp_path: Path) -> None:
    codec = {".avi": "mpeg4", ".webm": "libvpx"}.get(suffix, "libx264")
    video = make_video(tmp_path / f"clip{suffix}", codec=codec, n_frames=60, sound=suffix != ".avi")
    noisy = tmp_path / f"noisy{suffix}"
    for seed in range(20):
        damage(video.path, noisy, at=seed / 20, n_bytes=200, seed=seed)
        try:
            info = probe(noisy)
        except InputError:
            continue
        assert info.n_frames >= 1
        assert info.duration_s > 0


@pytest.mark.parametrize("name", ["50%.mp4", "a:b.mp4", "%03d.png", "é ü.mp4", "-o.mp4", "clip[1].mp4"])
def test_name_that_ffmpeg_would_interpret_is_a_name(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if path.suffix == ".png":
        make_still(path)
    else:
        make_video(tmp_path / "plain.mp4").path.rename(path)
    assert probe(path).n_frames >= 1


def assert_refused(path: Path, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        probe(path)
    assert caught.value.exit_code == 3
    assert caught.value.message.startswith(f"{path}: ")
    assert reason in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(("name", "text", "target"), [
    ("list.mp4", CONCAT, "list.mkv"), ("list.txt", CONCAT, "list.mp4"),
    ("list.m3u8", HLS.format("film.ts"), "list.mp4"), ("a.mp4", SDP, "a.mkv"),
], ids=lambda value: value if "\n" not in value else "")  # fmt: skip
def test_playlist_is_refused_with_the_command_that_joins_it(
    name: str, text: str, target: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match="is a playlist of other files") as caught:
        probe(path)
    assert caught.value.hint == f"ffmpeg -i {path} -c copy {tmp_path / target}"


@pytest.mark.parametrize("text", ["ffconcat version 1.0\nfile {}\n", HLS], ids=["concat", "HLS"])
def test_probe_of_a_playlist_connects_nowhere(text: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        path = tmp_path / "list.m3u8"
        path.write_text(text.format(f"http://127.0.0.1:{server.getsockname()[1]}/film.ts"))
        with pytest.raises(InputError):
            probe(path)
        with pytest.raises(TimeoutError):
            server.accept()


def test_commands_in_hints_can_be_pasted(tmp_path: Path) -> None:
    path = tmp_path / "my list.mp4"
    path.write_text("ffconcat version 1.0\nfile film.mp4\n")
    with pytest.raises(InputError) as caught:
        probe(path)
    assert shlex.split(str(caught.value.hint))[2:4] == [str(path), "-c"]
