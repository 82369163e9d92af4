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


def test_a_picture_is_seen_as_a_frame_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = use_stand_in(monkeypatch)
    media.make_video(tmp_path / "film.mp4", n_frames=20, fps=10, paint=media.colour_picture)
    (frame,) = read_frames_at(probe(tmp_path / "film.mp4"), [1.0])
    Image.fromarray(frame.image).save(tmp_path / "frame.png")
    save_circle(tmp_path / "red.png")
    monkeypatch.setattr(pictures, "_BATCH", 2)
    paths = [tmp_path / name for name in ("frame.png", "red.png", "frame.png")]
    rows = encode_pictures(paths, EXTRACTOR, "cpu")
    assert (rows.shape, batches) == ((3, 48), [2, 1])
    assert np.array_equal(rows[0], rows[2])
    height, width = frame.image.shape[:2]
    small = Image.fromarray(frame.image).resize((64 * width // height, 64), Image.Resampling.BILINEAR)
    left = round((small.width - 64) / 2)
    assert np.abs(cells(np.asarray(small)[None, :, left : left + 64])[0] - rows[0]).max() < 1
    grey = Image.fromarray(np.arange(0, 240, 10, dtype=np.uint8).reshape(4, 6))
    grey.save(tmp_path / "grey.png")
    exif = Image.Exif()
    exif[0x0112] = 6  # a quarter turn
    grey.convert("RGB").save(tmp_path / "turned.png", exif=exif)
    grey.convert("RGBA").save(tmp_path / "clear.png")
    shapes = [read_picture(tmp_path / f"{name}.png").shape for name in ("grey", "turned", "clear")]
    assert shapes == [(4, 6, 3), (6, 4, 3), (4, 6, 3)]
    (tmp_path / "text.jpg").write_text("a dog")
    whole = (tmp_path / "clear.png").read_bytes()
    (tmp_path / "cut.png").write_bytes(whole[: len(whole) // 2])
    for name in ("text.jpg", "cut.png"):
        with pytest.raises(InputError, match=f"{name}: the picture cannot be read"):
            read_picture(tmp_path / name)
