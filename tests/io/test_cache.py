"""Embeddings on disk: found again, made anew where the file is none, and not missed where nothing is kept."""

from collections.abc import Callable
from datetime import date
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vidsum.io import cache
from vidsum.io.cache import cache_state, cached_bytes, cached_rows, find_bytes, is_first_today, store_bytes
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


@given(
    sizes=st.lists(st.integers(0, 400_000), min_size=1, max_size=60),
    before=st.lists(st.integers(1, 400_000), max_size=4),
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_one_process_never_passes_the_limit(
    sizes: list[int], before: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIDSUM_HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("VIDSUM_CACHE_LIMIT", "8")
        for number, size in enumerate(before):
            store_bytes("before", {"of": number}, bytes(size))
        patch.setenv("VIDSUM_CACHE_LIMIT", "1")
        for number, size in enumerate(sizes):
            store_bytes("rows", {"of": number}, bytes(size))
            assert cache_state()["bytes"] <= 2**20
            assert find_bytes("rows", {"of": number}) == bytes(size)


def test_entries_are_seldom_counted(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries, counts = cache._entries, list[int]()
    monkeypatch.setattr(cache, "_entries", lambda: counts.append(1) or entries())
    for number in range(200):
        store_bytes("rows", {"of": number}, bytes(1000))
    assert len(counts) == 1


@pytest.mark.deep
def test_processes_pass_the_limit_by_a_thirty_second_each(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIDSUM_CACHE_LIMIT", "1")
    rooms: list[dict[tuple[Path, int], int]] = [{}, {}, {}]  # of three processes
    for number in range(450):
        monkeypatch.setattr(cache, "_room", rooms[number % 3])
        store_bytes("rows", {"of": number}, bytes(10_000))
        assert cache_state()["bytes"] <= 2**20 * (1 + 3 / 32)
