"""Embeddings on disk: found again, made anew where the file is none, and not missed where nothing is kept."""

from collections.abc import Callable
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from vidsum.io.cache import cached_bytes, cached_rows, is_first_today
from vidsum.types import FloatArray

ROWS = np.arange(6, dtype=np.float32).reshape(3, 2)


def compute_rows(made: list[int]) -> FloatArray:
    """The rows; `made` gets a number each time that they are made."""

    def make() -> FloatArray:
        made.append(len(made))
        return ROWS

    return cached_rows("rows", {"of": "a test"}, make)


@pytest.mark.parametrize("damage", [lambda old: b"", lambda old: old[:-1], lambda old: old[:-1] + b"\1"])
def test_rows_are_made_once_and_damaged_ones_again(own_home: Path, damage: Callable[[bytes], bytes]) -> None:
    made: list[int] = []
    for _ in range(3):
        np.testing.assert_array_equal(compute_rows(made), ROWS)
    assert made == [0]
    (file,) = (own_home / "rows").iterdir()
    file.write_bytes(damage(file.read_bytes()))
    for _ in range(2):
        np.testing.assert_array_equal(compute_rows(made), ROWS)
    assert made == [0, 1]


def test_bytes_are_cached_too(own_home: Path) -> None:
    made: list[int] = []

    def make() -> bytes:
        made.append(len(made))
        return b"a graph"

    assert [cached_bytes("graphs", {"of": number}, make) for number in (1, 1, 2)] == [b"a graph"] * 3
    assert made == [0, 1]


def test_a_home_that_is_a_file_stores_nothing(own_home: Path) -> None:
    own_home.write_text("a file")
    made: list[int] = []
    for _ in range(2):
        np.testing.assert_array_equal(compute_rows(made), ROWS)
    assert made == [0, 1]
    assert not is_first_today("a")


def test_a_notice_is_new_once_a_day(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    days = [date(2026, 1, 31), date(2026, 1, 31), date(2026, 2, 1), date(2026, 2, 1)]
    monkeypatch.setattr("vidsum.io.cache.date", SimpleNamespace(today=iter(days).__next__))
    assert [is_first_today("a") for _ in days] == [True, False, True, False]
    assert [path.name for path in (own_home / "notices").iterdir()] == ["a-2026-02-01"]


def test_notices_are_counted_by_name(own_home: Path) -> None:
    assert [is_first_today(name) for name in ("a", "b", "a")] == [True, True, False]
