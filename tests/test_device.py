"""Memory is given back now and then, and nothing of what passes is lost."""

import ctypes
import sys
from types import SimpleNamespace

import pytest

from vidsum import device
from vidsum.device import trimming


def test_trimming_by_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now, trims = [0.0], []
    monkeypatch.setattr(device, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(device, "_of_libc", lambda name: trims.append)
    passed = []
    for item in trimming(range(10)):
        passed.append(item)
        now[0] += 2.0
    assert passed == list(range(10))
    assert len(trims) == 4  # in 18 seconds, and at the end


needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="only the GNU C library can be asked")


@needs_linux
def test_malloc_trim_exists() -> None:
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
def test_returning_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[tuple[int, int]] = []
    monkeypatch.setattr(device, "_of_libc", lambda name: lambda *values: requests.append(values))
    with device.returning_blocks():
        assert requests == [(-3, 4 << 20)]
    assert requests[1:] == [(-3, 32 << 20), (-1, 64 << 20)]
    monkeypatch.setattr(device, "_of_libc", lambda name: None)
    with device.returning_blocks():
        pass
    assert len(requests) == 3


def test_trimming_every_item(monkeypatch: pytest.MonkeyPatch) -> None:
    trims: list[int] = []
    monkeypatch.setattr(device, "_of_libc", lambda name: trims.append)
    assert [len(trims) for _ in trimming("abc", every_s=0.0)] == [1, 2, 3]


def test_elsewhere_items_pass_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_of_libc", lambda name: None)
    assert list(trimming("abc")) == ["a", "b", "c"]
