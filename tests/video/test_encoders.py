"""Encoders: what is read back, and the choice where there is no GPU."""

from pathlib import Path

import av
import pytest

from tests import media
from vidsum.errors import UsageError
from vidsum.video import encoders
from vidsum.video.encoders import ENCODERS, can_encode, choose_encoder
from vidsum.video.probe import probe
from vidsum.video.write import write_segments

SIZE = (640, 360)


@pytest.mark.parametrize(("codec", "tag"), [("h264", "avc1"), ("hevc", "hvc1"), ("av1", "av01")])
def test_codec_frames_and_key_frames(tmp_path: Path, codec: str, tag: str) -> None:
    clip = tmp_path / "clip.mp4"
    film = media.make_video(tmp_path / "film.mp4", n_frames=60, sound=True).path
    written = write_segments(probe(film), [(0.2, 0.8), (1.2, 2.0)], clip, codec=codec, crf=10)
    with av.open(str(clip)) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.name.replace("libdav1d", "av1") == codec
        assert stream.codec_context.codec_tag == tag
        frames = list(container.decode(video=0))
    numbers = [media.read_number(frame.to_ndarray(format="rgb24")) for frame in frames]
    assert numbers == [*range(5, 20), *range(30, 50)]
    assert [number for number, frame in zip(numbers, frames, strict=True) if frame.key_frame] == [5, 30]
    assert (written.n_frames, written.warnings) == (35, ())


@pytest.mark.parametrize("codec", ["h264", "hevc", "av1"])
def test_codec_rate_factor(tmp_path: Path, codec: str) -> None:
    silent, sizes = media.make_video(tmp_path / "silent.mp4", n_frames=60).path, []
    for crf in (10, 45):
        write_segments(probe(silent), [(0.0, 2.0)], tmp_path / "clip.mp4", codec=codec, crf=crf)
        sizes.append((tmp_path / "clip.mp4").stat().st_size)
    assert sizes[0] > sizes[1]


@pytest.mark.parametrize(
    ("name", "works", "chosen", "warns"),
    [
        (None, True, "libx265", False),
        ("auto", True, "hevc_nvenc", False),
        ("auto", False, "libx265", True),
        ("hevc_nvenc", True, "hevc_nvenc", False),
        ("hevc_nvenc", False, "libx265", True),
        ("libx265", True, "libx265", False),
    ],
)
def test_choose_encoder(
    name: str | None, works: bool, chosen: str, warns: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoders, "can_encode", lambda *_: works)
    choice = choose_encoder("hevc", name, None, None, SIZE)
    assert choice.encoder.name == chosen
    assert bool(choice.warnings) == warns
    assert all("hevc_nvenc" in line and "libx265" in line for line in choice.warnings)


def test_choose_encoder_preset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoders, "can_encode", lambda *_: False)
    options = choose_encoder("h264", "auto", 30, "p7", SIZE).options
    assert (options["preset"], options["crf"]) == (ENCODERS["libx264"].preset, "30")
    monkeypatch.setattr(encoders, "can_encode", lambda *_: True)
    options = choose_encoder("h264", "auto", 30, "p7", SIZE).options
    assert (options["preset"], options["cq"]) == ("p7", "30")


@pytest.mark.parametrize(
    ("codec", "name", "crf", "preset"),
    [
        ("h264", "nonsense", None, None),
        ("hevc", "libx264", None, None),
        ("h264", None, 52, None),
        ("h264", None, 0, None),
        ("h264", None, None, "p4"),
        ("h264", "auto", None, "instant"),
        ("av1", None, None, "slow"),
    ],
)
def test_choose_encoder_errors(codec: str, name: str | None, crf: int | None, preset: str | None) -> None:
    with pytest.raises(UsageError):
        choose_encoder(codec, name, crf, preset, SIZE)


def test_can_encode() -> None:
    assert can_encode("libx264", SIZE)
    assert not can_encode("libx264", (0, 0))
    assert not can_encode("nonsense", SIZE)
