"""Photographs of any kind as 8-bit RGB pictures."""

import os
import struct
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image, ImageCms

from vidsum.errors import InputError
from vidsum.video.photographs import probe_photograph, read_photograph


@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_sixteen_bit_grey_is_scaled(suffix: str, tmp_path: Path) -> None:
    grey = np.linspace(0, 65535, 64 * 48).reshape(48, 64).astype(np.uint16)
    Image.fromarray(grey).save(path := tmp_path / f"grey{suffix}")
    picture = read_photograph(str(path), 64).astype(int)
    assert np.abs(picture - (grey / 257)[..., None]).max() <= 1


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_what_is_transparent_is_white(mode: str, tmp_path: Path) -> None:
    image = Image.new("RGBA", (40, 30), (0, 0, 0, 0))
    image.paste((0, 0, 0, 255), (0, 0, 20, 30))
    image.convert(mode).save(path := tmp_path / "clear.png")
    picture = read_photograph(str(path), 40)
    assert picture[15, 10].tolist() == [0, 0, 0]
    assert picture[15, 30].tolist() == [255, 255, 255]


def _swapped_profile() -> bytes:
    """A profile of sRGB in which red and blue have each other's colours."""
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    return profile.replace(b"rXYZ", b"____", 1).replace(b"bXYZ", b"rXYZ", 1).replace(b"____", b"bXYZ", 1)


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".tif", ".webp"])
def test_colours_of_another_profile_become_those_of_srgb(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"wide{suffix}"
    Image.new("RGB", (40, 30), (250, 0, 0)).save(path, icc_profile=_swapped_profile())
    assert np.abs(read_photograph(str(path), 40)[15, 20].astype(int) - (0, 0, 250)).max() < 12


@pytest.mark.parametrize("profile", [b"no profile", b""])
def test_a_damaged_profile_changes_no_colours(profile: bytes, tmp_path: Path) -> None:
    Image.new("RGB", (40, 30), (250, 0, 0)).save(path := tmp_path / "a.png", icc_profile=profile)
    assert read_photograph(str(path), 40)[15, 20].tolist() == [250, 0, 0]


def test_a_photograph_that_is_too_large_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Image.new("L", (1500, 1400)).save(path := tmp_path / "large.png")
    monkeypatch.setattr("PIL.Image.MAX_IMAGE_PIXELS", 1_000_000)
    with pytest.raises(InputError, match="has more than 2 million pixels"):
        probe_photograph(str(path))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(path := tmp_path / "a.jpg")
    with pytest.raises(InputError, match="is a pipe"):
        read_photograph(str(path), 64)


def test_a_script_that_is_named_as_a_photograph_is_not_run(tmp_path: Path) -> None:
    (path := tmp_path / "a.jpg").write_bytes(
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 50 50\n%%EndComments\n"
    )
    with pytest.raises(InputError, match="cannot be read as a photograph"):
        probe_photograph(str(path))


def _box(kind: bytes, *content: bytes) -> bytes:
    data = b"".join(content)
    return struct.pack(">I4s", 8 + len(data), kind) + data


def _full(kind: bytes, *content: bytes, version: int = 0) -> bytes:
    return _box(kind, bytes([version, 0, 0, 0]), *content)


def make_heic(path: Path, picture: Image.Image) -> Path:
    """Write a picture as HEIC: the frame of an MP4 with H.265 as an item, with the decoder's parameters."""
    film = path.with_suffix(".mp4")
    with av.open(str(film), "w") as container:
        stream = container.add_stream(
            "libx265", rate=1, options={"crf": "5", "x265-params": "log-level=none"}
        )
        stream.width, stream.height, stream.pix_fmt = *picture.size, "yuv420p"
        container.mux([*stream.encode(av.VideoFrame.from_image(picture)), *stream.encode(None)])
    with av.open(str(film)) as container:
        sample = next(bytes(packet) for packet in container.demux(video=0) if packet.size)
    content = film.read_bytes()
    place = content.index(b"hvcC") - 4
    facts = content[place : place + struct.unpack(">I", content[place : place + 4])[0]]
    size = _full(b"ispe", struct.pack(">II", *picture.size))
    entry = _full(b"infe", struct.pack(">HH4s", 1, 0, b"hvc1"), b"\0", version=2)
    properties = _box(
        b"iprp", _box(b"ipco", facts, size), _full(b"ipma", struct.pack(">IHBBB", 1, 1, 2, 0x81, 2))
    )

    def meta(offset: int) -> bytes:
        return _full(
            b"meta",
            _full(b"hdlr", struct.pack(">I4s12x", 0, b"pict"), b"\0"),
            _full(b"pitm", struct.pack(">H", 1)),
            _full(b"iloc", struct.pack(">HHHHHII", 0x4400, 1, 1, 0, 1, offset, len(sample))),
            _full(b"iinf", struct.pack(">H", 1), entry),
            properties,
        )

    kind = _box(b"ftyp", b"heic", bytes(4), b"mif1heic")
    offset = len(kind) + len(meta(0)) + 8
    path.write_bytes(kind + meta(offset) + _box(b"mdat", sample))
    return path


@pytest.mark.parametrize("name", ["a.heic", "A.HEIC", "a.HeiF"])
def test_heic_without_its_package_is_refused_with_the_command(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vidsum.video.photographs.has_extra", lambda extra: False)
    (tmp_path / name).write_bytes(b"ftypheic")
    with pytest.raises(InputError, match="needs pi-heif") as caught:
        read_photograph(str(tmp_path / name), 64)
    assert "heic" in str(caught.value.hint)


def test_heic_is_decoded(tmp_path: Path) -> None:
    image = Image.new("RGB", (128, 64), (200, 40, 40))
    image.paste((30, 60, 200), (64, 0, 128, 64))
    path = make_heic(tmp_path / "a.heic", image)
    facts, picture = probe_photograph(str(path)), read_photograph(str(path), 128).astype(int)
    assert (facts.width, facts.height) == (128, 64)
    assert picture[32, 20] == pytest.approx([200, 40, 40], abs=12)
    assert picture[32, 100] == pytest.approx([30, 60, 200], abs=12)
