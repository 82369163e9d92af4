"""When files say that they were recorded, and what is not a time."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import av
import pytest
from PIL import Image

from tests.media import make_video, video_info
from vidsum.errors import InputError
from vidsum.video.photographs import probe_photograph, read_photograph
from vidsum.video.recorded import in_order, photograph_recorded, video_recorded

_TAKEN, _OFFSET, _FRACTION = 0x9003, 0x9011, 0x9291


def tagged(path: Path, **tags: str) -> Path:
    """Write a video with these tags of its container."""
    source = make_video(path.with_name("plain.mp4"), n_frames=5).path
    with (
        av.open(str(source)) as read,
        av.open(str(path), "w", options={"movflags": "use_metadata_tags"}) as written,
    ):
        written.metadata.update({name.replace("__", "."): text for name, text in tags.items()})
        stream = written.add_stream_from_template(read.streams.video[0])
        for packet in read.demux(video=0):
            if packet.dts is not None:
                packet.stream = stream
                written.mux(packet)
    return path


def test_a_camera_says_its_clock_and_offset(tmp_path: Path) -> None:
    tags = {
        "creation_time": "2024-07-14T08:30:00Z",
        "com__apple__quicktime__creationdate": "2024-07-14T10:30:00+0200",
    }
    path = tagged(tmp_path / "phone.mov", **tags)
    recorded = video_recorded(video_info(str(path)))
    assert recorded == datetime(2024, 7, 14, 10, 30, tzinfo=timezone(timedelta(hours=2)))
    assert recorded is not None
    assert recorded.hour == 10


@pytest.mark.parametrize("time", ["", "1904-01-01T00:00:00Z", "1970-01-01T00:00:00Z"])
def test_a_clock_that_was_never_set(tmp_path: Path, time: str) -> None:
    path = tagged(tmp_path / "camera.mp4", **({"creation_time": time} if time else {}))
    assert video_recorded(video_info(str(path))) is None


@pytest.mark.parametrize(
    ("exif", "expected"),
    [
        ({_TAKEN: "2024:07:14 10:30:00", _OFFSET: "+02:00"}, "2024-07-14T10:30:00+02:00"),
        ({_TAKEN: "2024:07:14 10:30:00\0"}, "2024-07-14T10:30:00"),
        ({_TAKEN: "2024:07:14 10:30:00", _FRACTION: "5"}, "2024-07-14T10:30:00.500000"),
        ({_TAKEN: "2024:07:14 10:30:00", _OFFSET: "summer"}, "2024-07-14T10:30:00"),
        ({_TAKEN: "0000:00:00 00:00:00"}, None),
        ({_TAKEN: "yesterday"}, None),
        ({}, None),
    ],
)
def test_photographs(exif: dict[int, object], expected: str | None) -> None:
    recorded = photograph_recorded(exif)
    assert (recorded.isoformat() if recorded else None) == expected


def test_a_time_without_an_offset_is_ordered_as_utc() -> None:
    noon = datetime(2024, 7, 14, 12)
    assert in_order(noon) == noon.replace(tzinfo=UTC)


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".webp", ".tif"])
def test_photographs_are_upright(tmp_path: Path, suffix: str) -> None:
    picture = Image.new("RGB", (80, 40), "white")
    picture.paste((255, 0, 0), (0, 0, 40, 40))
    exif = picture.getexif()
    exif[0x0112] = 6  # turn clockwise
    picture.save(tmp_path / f"a{suffix}", exif=exif)
    info = probe_photograph(str(tmp_path / f"a{suffix}"))
    assert (info.width, info.height) == (40, 80)
    made = read_photograph(info.path, 1000)
    assert made.shape == (80, 40, 3)
    assert made[10, 20].tolist() == pytest.approx([255, 0, 0], abs=12)
    assert made[70, 20].tolist() == pytest.approx([255, 255, 255], abs=12)
    assert max(read_photograph(info.path, 20).shape) == 20


@pytest.mark.parametrize("n_bytes", [0, 3, 100, 400])
def test_damaged_photographs(tmp_path: Path, n_bytes: int) -> None:
    Image.effect_noise((64, 64), 50).convert("RGB").save(tmp_path / "whole.jpg")
    (tmp_path / "cut.jpg").write_bytes((tmp_path / "whole.jpg").read_bytes()[:n_bytes])
    with pytest.raises(InputError, match="cut"):
        read_photograph(str(tmp_path / "cut.jpg"), 640)


def test_heic_without_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vidsum.video.photographs.has_extra", lambda extra: False)
    (tmp_path / "a.heic").write_bytes(b"")
    with pytest.raises(InputError, match="pi-heif") as refused:
        probe_photograph(str(tmp_path / "a.heic"))
    assert "vidsum[heic]" in str(refused.value.hint)
