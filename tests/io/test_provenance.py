"""Provenance of results: hashes of files, and names of provenance blocks."""

import hashlib
import os
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from PIL.PngImagePlugin import PngImageFile

from vidsum.errors import InputError
from vidsum.io import provenance
from vidsum.io.provenance import hash_file, label_in, labelled
from vidsum.results.features import Features


def test_identify_file(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")
    # the example of FIPS 180-2, appendix B.1
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert hash_file(tmp_path / "abc") == expected
    assert provenance.identify_file(tmp_path / "abc") == {"bytes": 3, "sha256": expected}
    (tmp_path / "abc").write_bytes(b"another")
    changed = provenance.identify_file(tmp_path / "abc")
    assert changed["sha256"] == hashlib.sha256(b"another").hexdigest()
    for size in (0, (1 << 20) - 1, 1 << 20, (1 << 20) + 1):
        (tmp_path / "abc").write_bytes(content := os.urandom(size))
        assert hash_file(tmp_path / "abc") == hashlib.sha256(content).hexdigest()
    with pytest.raises(InputError, match=r"film\.mp4: cannot be read"):
        provenance.identify_file(tmp_path / "film.mp4")
    assert provenance.digest_of({"a": 1, "b": 2}) == provenance.digest_of({"b": 2, "a": 1})
    assert provenance.digest_of({"a": 1}) != provenance.digest_of({"a": 2})


def test_provenance_of_custom_features() -> None:
    array = np.eye(3, dtype=np.float32)
    one, again, slower, other = (
        Features.from_array(rows, fps=fps, extractor="own").effective_provenance
        for rows, fps in ((array, 2), (array.copy(), 2), (array, 1), (2 * array, 2))
    )
    assert one == again
    assert len({each["features"]["sha256"] for each in (one, slower, other)}) == 3


SVG = '<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>\n'


def png() -> bytes:
    drawn = BytesIO()
    Image.fromarray(np.arange(48, dtype=np.uint8).reshape(4, 4, 3)).save(drawn, "png")
    return drawn.getvalue()


@given(st.text("abcdef0123456789 ", max_size=60))
def test_label_round_trip(tmp_path_factory: pytest.TempPathFactory, label: str) -> None:
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
def test_no_label(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.png").write_bytes(png())
    (tmp_path / "a.svg").write_text(SVG)
    (tmp_path / "cut.png").write_bytes(labelled(png(), ".png", "vidsum 1")[:40])
    assert label_in(tmp_path / name) is None
    assert labelled(b"jpeg", ".jpg", "vidsum 1") == b"jpeg"
    assert labelled(png(), ".png", None) == png()
