"""The choice of a device and a precision; memory that is given back while items pass."""

import ctypes
import sys
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import needs_torch
from vidsum import device
from vidsum.device import trimming
from vidsum.errors import UsageError


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


@pytest.mark.parametrize(("name", "is_warned"), [("auto", True), ("cpu", False)])
def test_gpu_that_lacks_torch_is_a_warning_where_the_device_is_automatic(
    name: str, is_warned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "may_have_gpu", lambda: True)
    monkeypatch.setattr(device, "has_extra", lambda _: False)
    with pytest.warns(UserWarning, match="the GPU is not used") if is_warned else nullcontext():
        assert device.device_type(name) == "cpu"


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


@pytest.mark.parametrize(
    ("set_by_the_user", "threads"),
    [({}, "1"), ({"OPENBLAS_NUM_THREADS": "4"}, "4"), ({"OMP_NUM_THREADS": "4"}, None)],
)
def test_products_are_made_in_one_thread_unless_the_user_sets_how_many(
    monkeypatch: pytest.MonkeyPatch, set_by_the_user: dict[str, str], threads: str | None
) -> None:
    monkeypatch.setattr(device.os, "environ", variables := dict(set_by_the_user))
    device.use_one_blas_thread()
    assert variables.get("OPENBLAS_NUM_THREADS") == threads


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


@pytest.mark.parametrize("name", ["gpu", "cuda:x", "cuda:12345", ""])
def test_unknown_device_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="unknown device"):
        device.choose_device(name)


@needs_torch
@pytest.mark.parametrize(
    ("name", "n_gpus", "fault"),
    [
        ("cuda", 0, "no CUDA device on this machine"),
        ("cuda:3", 1, r"no cuda:3 on this machine: it has 1 CUDA device"),
        ("mps", 0, "no MPS device on this machine"),
    ],
)
def test_device_that_is_not_there_is_refused(
    name: str, n_gpus: int, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: n_gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: n_gpus)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(UsageError, match=fault):
        device.choose_device(name)


@needs_torch
@pytest.mark.parametrize(
    ("has_cuda", "has_mps", "kind"),
    [(True, True, "cuda"), (False, True, "mps"), (False, False, "cpu")],
    ids=["CUDA first", "then MPS", "then the CPU"],
)
def test_automatic_device_is_a_gpu_or_the_cpu(
    has_cuda: bool, has_mps: bool, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: has_cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: has_mps)
    assert device.choose_device("auto").type == kind


@pytest.mark.parametrize(
    ("kind", "precision", "fault"),
    [("cpu", "fp8", "unknown precision"), ("cpu", "fp16", "for GPUs"), ("cuda", "int8", "for CPUs")],
)
def test_precision_that_a_device_lacks_is_refused(
    kind: str, precision: Any, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "device_type", lambda name: kind)
    with pytest.raises(UsageError, match=fault):
        device.require_precision(kind, precision)


@pytest.mark.parametrize(
    ("choice", "is_quick", "is_taken"),
    [
        ("bf16", False, True),
        ("auto", True, True),
        ("int8", True, True),
        ("auto", False, False),
        ("fp32", True, False),
    ],
)
def test_bf16_is_taken_where_it_is_asked_for_or_quick(
    choice: Any, is_quick: bool, is_taken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "prefers_bf16", lambda name: is_quick)
    assert device.takes_bf16(choice) == is_taken
