"""Labels of pictures: what is written is what is read, and the picture is the same."""

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from PIL.PngImagePlugin import PngImageFile

from vidsum.io.labels import label_in, labelled

SVG = '<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>\n'


def png() -> bytes:
    drawn = BytesIO()
    Image.fromarray(np.arange(48, dtype=np.uint8).reshape(4, 4, 3)).save(drawn, "png")
    return drawn.getvalue()


@given(st.text("abcdef0123456789 ", max_size=60))
def test_a_label_is_read_back_and_the_picture_is_the_same(
    tmp_path_factory: pytest.TempPathFactory, label: str
) -> None:
    folder = tmp_path_factory.mktemp("labels")
    (folder / "a.png").write_bytes(labelled(png(), ".png", label))
    (folder / "a.svg").write_bytes(labelled(SVG.encode(), ".svg", label))
    assert [label_in(folder / name) for name in ("a.png", "a.svg")] == [label, label]
    with Image.open(folder / "a.png") as picture:
        picture.load()
        assert isinstance(picture, PngImageFile)
        assert picture.text["Comment"] == label  # by another reader
        with Image.open(BytesIO(png())) as plain:
            assert picture.tobytes() == plain.tobytes()


@pytest.mark.parametrize("name", ["a.png", "a.svg", "cut.png", "none.png"])
def test_what_has_no_label_has_none(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.png").write_bytes(png())
    (tmp_path / "a.svg").write_text(SVG)
    (tmp_path / "cut.png").write_bytes(labelled(png(), ".png", "vidsum 1")[:40])
    assert label_in(tmp_path / name) is None


def test_other_pictures_stay_as_they_are() -> None:
    assert labelled(b"jpeg", ".jpg", "vidsum 1") == b"jpeg"
    assert labelled(png(), ".png", None) == png()
