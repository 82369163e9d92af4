"""Warnings on high dynamic range, which clips do not keep."""

import struct
from pathlib import Path

import pytest

from tests.media import make_video
from vidsum.pipelines.sources import describe_file
from vidsum.video.probe import probe
from vidsum.video.write import write_segments

HEVC = {"x265-params": "log-level=0"}
ALONE = [(5, 0), (10, 0), (5, 1)]
COMPATIBLE = [(8, 1), (8, 4), (7, 6), (4, 2), (9, 2), (10, 1)]


def dolby_vision(path: Path, kind: bytes, profile: int, other: int) -> Path:
    """A video whose index has a record of Dolby Vision, at its end."""
    make_video(path, n_frames=10, codec="libx265", codec_options=HEVC)
    record = struct.pack(">BBHI16x", 1, 0, profile << 9 | 1 << 3 | 0b101, other << 28)
    data = path.read_bytes()
    at = data.index(b"moov") - 4
    size = int.from_bytes(data[at : at + 4], "big")
    box = struct.pack(">I4s", len(record) + 8, kind) + record
    index = struct.pack(">I", size + len(box)) + data[at + 4 : at + size] + box
    path.write_bytes(data[:at] + index + data[at + size :])
    return path


@pytest.mark.parametrize("kind", [b"dvcC", b"dvvC"])
@pytest.mark.parametrize(("profile", "other"), ALONE)
def test_dolby_vision_without_another_picture_warns(
    kind: bytes, profile: int, other: int, tmp_path: Path
) -> None:
    (warning,) = describe_file(probe(dolby_vision(tmp_path / "film.mp4", kind, profile, other)))
    assert f"Dolby Vision, profile {profile}" in warning


def test_clip_of_dolby_vision_warns_as_its_source(tmp_path: Path) -> None:
    info = probe(dolby_vision(tmp_path / "film.mp4", b"dvcC", 5, 0))
    assert write_segments(info, [(0.0, 0.2)], tmp_path / "clip.mp4").warnings == describe_file(info)


@pytest.mark.parametrize(("profile", "other"), COMPATIBLE)
def test_dolby_vision_with_another_picture_does_not_warn(profile: int, other: int, tmp_path: Path) -> None:
    assert describe_file(probe(dolby_vision(tmp_path / "film.mp4", b"dvvC", profile, other))) == ()


@pytest.mark.parametrize(("curve", "name"), [("smpte2084", "PQ"), ("arib-std-b67", "HLG")])
def test_curve_of_high_dynamic_range_warns(curve: str, name: str, tmp_path: Path) -> None:
    options = {"x265-params": f"log-level=0:transfer={curve}:colorprim=bt2020"}
    path = make_video(tmp_path / "film.mp4", n_frames=10, codec="libx265", codec_options=options).path
    (warning,) = describe_file(probe(path))
    assert f"HDR ({name})" in warning


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".ts"])
def test_usual_video_does_not_warn(suffix: str, tmp_path: Path) -> None:
    assert describe_file(probe(make_video(tmp_path / f"film{suffix}", n_frames=10).path)) == ()


@pytest.mark.shared
def test_real_dolby_vision_warns(shared: Path) -> None:
    (warning,) = describe_file(probe(shared / "bad" / "round4" / "dovi_profile5.mp4"))
    assert "profile 5" in warning
