"""Memory is given back now and then, and nothing of what passes is lost."""

import ctypes
import sys
from types import SimpleNamespace

import pytest

from vidsum import device
from vidsum.device import trimming


@pytest.fixture
def trims(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The calls of `malloc_trim`."""
    calls: list[int] = []
    monkeypatch.setattr(device, "_of_libc", lambda name: calls.append)
    return calls


@pytest.fixture
def slow_items(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Ten items of which each takes two seconds, passed through `trimming`."""
    now, passed = [0.0], []
    monkeypatch.setattr(device, "time", SimpleNamespace(monotonic=lambda: now[0]))
    for item in trimming(range(10)):
        passed.append(item)
        now[0] += 2.0
    return passed


def test_memory_is_given_back_every_five_seconds_and_at_the_end(
    trims: list[int], slow_items: list[int]
) -> None:
    assert len(trims) == 4  # in 18 seconds, and at the end


@pytest.mark.usefixtures("trims")
def test_every_item_passes_while_memory_is_given_back(slow_items: list[int]) -> None:
    assert slow_items == list(range(10))


needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="only the GNU C library can be asked")


@needs_linux
def test_library_has_malloc_trim() -> None:
    if not hasattr(ctypes.CDLL(None), "malloc_trim"):
        pytest.skip("not the GNU C library")
    assert list(trimming("abc")) == ["a", "b", "c"]


@needs_linux
def test_one_arena_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[tuple[str, int, int]] = []
    monkeypatch.setattr(device, "_of_libc", lambda name: lambda *values: requests.append((name, *values)))
    device.use_one_arena()
    assert requests == [("mallopt", -8, 1)]


@needs_linux
def test_large_blocks_are_given_back_inside_and_kept_again_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[tuple[int, int]] = []
    monkeypatch.setattr(device, "_of_libc", lambda name: lambda *values: requests.append(values))
    with device.returning_blocks():
        assert requests == [(-3, 4 << 20)]
    assert requests[1:] == [(-3, 32 << 20), (-1, 64 << 20)]


@needs_linux
def test_other_libraries_are_not_asked_to_give_blocks_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_of_libc", lambda name: None)
    passed = []
    with device.returning_blocks():
        passed.append(True)
    assert passed


def test_memory_can_be_given_back_after_every_item(trims: list[int]) -> None:
    assert [len(trims) for _ in trimming("abc", every_s=0.0)] == [1, 2, 3]


def test_items_pass_where_memory_cannot_be_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_of_libc", lambda name: None)
    assert list(trimming("abc")) == ["a", "b", "c"]
