"""Photographs of any kind as 8-bit RGB pictures."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

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


def test_a_photograph_that_is_too_large_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Image.new("L", (1500, 1400)).save(path := tmp_path / "large.png")
    monkeypatch.setattr("PIL.Image.MAX_IMAGE_PIXELS", 1_000_000)
    with pytest.raises(InputError, match="has more than 2 million pixels"):
        probe_photograph(str(path))
