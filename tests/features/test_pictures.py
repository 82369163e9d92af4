"""Features of image files: seen as a frame is, upright, and one clear error for what is no picture."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests import media
from tests.pictures import EXTRACTOR, cells, save_circle, use_stand_in
from vidsum.errors import InputError
from vidsum.features import pictures
from vidsum.features.pictures import encode_pictures, read_picture
from vidsum.video.probe import probe
from vidsum.video.read import read_frames_at


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A frame of a film, and a red circle."""
    path = tmp_path_factory.mktemp("pictures")
    media.make_video(path / "film.mp4", n_frames=20, fps=10, paint=media.colour_picture)
    (frame,) = read_frames_at(probe(path / "film.mp4"), [1.0])
    Image.fromarray(frame.image).save(path / "frame.png")
    save_circle(path / "red.png")
    return path


def test_pictures_are_encoded_in_batches(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = use_stand_in(monkeypatch)
    monkeypatch.setattr(pictures, "_BATCH", 2)
    paths = [folder / name for name in ("frame.png", "red.png", "frame.png")]
    rows = encode_pictures(paths, EXTRACTOR, "cpu")
    assert (rows.shape, batches) == ((3, 48), [2, 1])
    assert np.array_equal(rows[0], rows[2])
    assert not np.array_equal(rows[0], rows[1])


def test_picture_is_seen_as_a_frame_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_stand_in(monkeypatch)
    (row,) = encode_pictures([folder / "frame.png"], EXTRACTOR, "cpu")
    frame = Image.open(folder / "frame.png")
    small = frame.resize((64 * frame.width // frame.height, 64), Image.Resampling.BILINEAR)
    left = round((small.width - 64) / 2)
    assert np.abs(cells(np.asarray(small)[None, :, left : left + 64])[0] - row).max() < 1


GREY = Image.fromarray(np.arange(0, 240, 10, dtype=np.uint8).reshape(4, 6))


@pytest.mark.parametrize("mode", ["L", "RGBA"])
def test_picture_of_another_mode_is_read_in_colour(tmp_path: Path, mode: str) -> None:
    GREY.convert(mode).save(tmp_path / "grey.png")
    assert read_picture(tmp_path / "grey.png").shape == (4, 6, 3)


def test_picture_is_read_upright(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # a quarter turn
    GREY.convert("RGB").save(tmp_path / "turned.png", exif=exif)
    assert read_picture(tmp_path / "turned.png").shape == (6, 4, 3)


@pytest.mark.parametrize("name", ["text.jpg", "cut.png"])
def test_file_that_is_no_picture_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "text.jpg").write_text("a dog")
    GREY.save(tmp_path / "cut.png")
    (tmp_path / "cut.png").write_bytes((tmp_path / "cut.png").read_bytes()[:50])
    with pytest.raises(InputError, match=f"{name}: the picture cannot be read"):
        read_picture(tmp_path / name)
