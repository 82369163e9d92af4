"""Provenance of results: hashes of files, and names of provenance blocks."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vidsum.errors import InputError
from vidsum.io import provenance
from vidsum.io.provenance import flat, hash_file
from vidsum.results.features import Features
from vidsum.results.figures import new_figure, save_figure


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A file with the three bytes of the example of FIPS 180-2, appendix B.1."""
    (tmp_path / "abc").write_bytes(b"abc")
    return tmp_path / "abc"


EXAMPLE = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_hash_is_sha_256_of_the_standards_example(source: Path) -> None:
    assert hash_file(source) == EXAMPLE


def test_source_that_cannot_be_read_is_named_by_its_path(tmp_path: Path) -> None:
    """The code that prints an error compares this path with the input."""
    with pytest.raises(InputError, match="cannot be read") as caught:
        provenance.identify_file(tmp_path)
    assert caught.value.subject == str(tmp_path)


@pytest.mark.parametrize("size", [0, (1 << 20) - 1, 1 << 20, (1 << 20) + 1])
def test_hash_of_a_file_of_any_length(tmp_path: Path, size: int) -> None:
    (tmp_path / "random").write_bytes(content := os.urandom(size))
    assert hash_file(tmp_path / "random") == hashlib.sha256(content).hexdigest()


def test_source_is_identified_by_size_and_hash(source: Path) -> None:
    assert provenance.identify_file(source) == {"bytes": 3, "sha256": EXAMPLE}


def test_changed_source_is_hashed_again(source: Path) -> None:
    provenance.identify_file(source)
    source.write_bytes(b"another")
    assert provenance.identify_file(source)["sha256"] == hashlib.sha256(b"another").hexdigest()


def test_missing_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"film\.mp4: cannot be read"):
        provenance.identify_file(tmp_path / "film.mp4")


def test_digest_ignores_the_order_of_keys() -> None:
    assert provenance.digest_of({"a": 1, "b": 2}) == provenance.digest_of({"b": 2, "a": 1})


def test_digest_differs_by_value() -> None:
    assert provenance.digest_of({"a": 1}) != provenance.digest_of({"a": 2})


def provenance_of_custom(scale: float = 1.0, fps: float = 2.0) -> Mapping[str, Any]:
    rows = scale * np.eye(3, dtype=np.float32)
    return Features.from_array(rows, fps=fps, extractor="own").effective_provenance


def test_equal_custom_features_have_one_provenance() -> None:
    assert provenance_of_custom() == provenance_of_custom()


@pytest.mark.parametrize("change", [{"scale": 2.0}, {"fps": 1.0}], ids=str)
def test_provenance_of_custom_features_depends_on_rows_and_times(change: dict[str, float]) -> None:
    changed = provenance_of_custom(**change)
    assert changed["features"]["sha256"] != provenance_of_custom()["features"]["sha256"]


def test_label_of_a_plot(tmp_path: Path) -> None:
    for name in ("a.png", "a.svg"):
        save_figure(new_figure(1, 1), tmp_path / name, "vidsum 0123 abc")
        assert b"vidsum 0123 abc" in (tmp_path / name).read_bytes()


def test_flat_names_each_value_by_its_place() -> None:
    block = {"a": {"b": 1, "c": [1, 2]}, "d": [{"e": 3}, 4]}
    assert dict(flat(block)) == {("a", "b"): 1, ("a", "c"): [1, 2], ("d", "0", "e"): 3, ("d", "1"): 4}
