"""Embeddings on disk: found again, made anew where the file is none, and not missed where nothing is kept."""

from pathlib import Path

import numpy as np
import pytest

from vidsum.io.cache import cached_bytes, cached_rows, is_first
from vidsum.types import FloatArray

ROWS = np.arange(6, dtype=np.float32).reshape(3, 2)


def asked(made: list[int]) -> FloatArray:
    """The rows; `made` gets a number each time that they are made."""

    def make() -> FloatArray:
        made.append(len(made))
        return ROWS

    return cached_rows("rows", {"of": "a test"}, make)


def test_rows_are_made_once(own_home: Path) -> None:
    made: list[int] = []
    for _ in range(3):
        np.testing.assert_array_equal(asked(made), ROWS)
    assert made == [0]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"text",
        b"PK\x03\x04",
        b"\x93NUMPY\x01\x00\x38\x00{'descr': '<f4', 'fortran_order': False, 'shape': (10**9)",
        b"\x93NUMPY\x01\x00\x10\x00(((((((((((((((\n",
    ],
)
def test_a_damaged_file_is_made_anew(own_home: Path, content: bytes) -> None:
    made: list[int] = []
    asked(made)
    (file,) = (own_home / "rows").iterdir()
    file.write_bytes(content)
    np.testing.assert_array_equal(asked(made), ROWS)
    np.testing.assert_array_equal(asked(made), ROWS)
    assert made == [0, 1]


def test_rows_of_which_one_bit_changed_are_made_again(own_home: Path) -> None:
    made: list[int] = []
    asked(made)
    (file,) = (own_home / "rows").iterdir()
    file.write_bytes(file.read_bytes()[:-1] + b"\1")  # the last number is another one
    np.testing.assert_array_equal(asked(made), ROWS)
    assert made == [0, 1]


def test_bytes_that_are_not_what_was_kept_are_made_anew(own_home: Path) -> None:
    made: list[int] = []

    def asked_for_bytes() -> bytes:
        def make() -> bytes:
            made.append(len(made))
            return b"a graph"

        return cached_bytes("graphs", {"of": "a test"}, make)

    assert [asked_for_bytes(), asked_for_bytes()] == [b"a graph"] * 2
    (file,) = (own_home / "graphs").iterdir()
    for damaged in (b"", file.read_bytes()[:-1], file.read_bytes()[:-1] + b"f"):
        file.write_bytes(damaged)
        assert [asked_for_bytes(), asked_for_bytes()] == [b"a graph"] * 2
    assert made == [0, 1, 2, 3]


def test_a_home_that_is_a_file_keeps_nothing(own_home: Path) -> None:
    own_home.write_text("a file")
    made: list[int] = []
    np.testing.assert_array_equal(asked(made), ROWS)
    asked(made)
    assert made == [0, 1]


def test_a_notice_is_new_once(own_home: Path) -> None:
    assert [is_first("a"), is_first("b"), is_first("a")] == [True, True, False]


def test_what_cannot_be_kept_is_never_new(own_home: Path) -> None:
    own_home.write_text("a file")
    assert not is_first("a")
