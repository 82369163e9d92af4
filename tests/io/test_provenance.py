"""Provenance of results: hashes of files, and names of provenance blocks."""

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

from vidsum.errors import InputError
from vidsum.io import provenance
from vidsum.io.provenance import hash_file
from vidsum.results.features import Features
from vidsum.results.figures import new_figure, save_figure


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


def test_label_of_a_plot(tmp_path: Path) -> None:
    for name in ("a.png", "a.svg"):
        save_figure(new_figure(1, 1), tmp_path / name, "vidsum 0123 abc")
        assert b"vidsum 0123 abc" in (tmp_path / name).read_bytes()
