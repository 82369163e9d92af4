"""Device, precision and backend of a model, and the memory of models.

PyTorch makes and drops arrays of many megabytes in several threads. The GNU C library keeps what is dropped
in pieces between what is in use, in an arena of each thread, more of them by the minute: with two networks
at once 970 MiB became 1,280 in the first six minutes of a video.
"""

import ctypes
import gc
import os
import platform
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, ParamSpec, TypeVar, get_args

from vidsum.errors import Mention, UsageError, unknown_name_error
from vidsum.io.packages import has_extra, install_extra_command
from vidsum.options import Option

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

    import numpy.typing as npt
    import torch

Device = Annotated[str, Option("Device: auto, cpu, cuda, cuda:N or mps.", metavar="DEVICE")]
Precision = Literal["fp32", "bf16", "fp16", "int8"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
PrecisionChoice = Literal["auto", "fp32", "bf16", "fp16", "int8"]
"""`auto` is fp32, except for networks that measurably lose nothing: int8 where `prefers_int8`, bf16 where
`takes_bf16`."""
Backend = Literal["auto", "torch", "onnx"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)


def device_type(name: str = "auto") -> str:
    """`cpu`, `cuda` or `mps`: the type of `choose_device`, without importing torch for the CPU."""
    if name == "auto" and may_have_gpu() and not has_extra("torch"):
        warnings.warn(
            f"the GPU is not used: {install_extra_command('torch')} adds what it needs", stacklevel=2
        )
        return "cpu"
    return "cpu" if name == "cpu" or (name == "auto" and not may_have_gpu()) else choose_device(name).type


@lru_cache(maxsize=1)
def may_have_gpu() -> bool:
    """Return whether torch may find a GPU: a driver of NVIDIA's or AMD's, or Apple's chip."""
    if platform.system() == "Darwin":
        return platform.machine() == "arm64"
    if Path("/dev/kfd").exists():  # AMD's, which torch calls cuda too
        return True
    try:
        driver = ctypes.CDLL("nvcuda.dll" if platform.system() == "Windows" else "libcuda.so.1")
        return bool(driver.cuInit(0) == 0)
    except OSError:
        return False


@lru_cache(maxsize=8)
def prefers_bf16(name: str = "auto") -> bool:
    """Return whether a device is a CPU with instructions for bf16, which is twice as fast as fp32 there."""
    return device_type(name) == "cpu" and not _cpu_flags().isdisjoint(("avx512_bf16", "amx_bf16"))


def takes_bf16(choice: PrecisionChoice, device: str = "auto") -> bool:
    """Return whether networks that lose nothing by it run in bf16 instead of int8."""
    return choice == "bf16" or (choice in ("auto", "int8") and prefers_bf16(device))


@lru_cache(maxsize=8)
def prefers_int8(name: str = "auto") -> bool:
    """Return whether a device is a CPU with VNNI or AMX. Raises the errors of `choose_device`."""
    return device_type(name) == "cpu" and not _cpu_flags().isdisjoint(("avx512_vnni", "avx_vnni", "amx_int8"))


def _cpu_flags() -> set[str]:
    try:
        return set(Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return set()


def n_threads(*, while_decoding: bool = False) -> int:
    """Return the threads of a network on the CPU: OMP_NUM_THREADS, or the cores that this process may use.

    Or half of these cores, for a small network that reads pictures `while_decoding` others.
    """
    requested = re.match(r"\s*(\d+)", os.environ.get("OMP_NUM_THREADS", ""))
    if requested and int(requested[1]):
        return int(requested[1])
    return max(1, n_cores() // 2) if while_decoding else n_cores()


def n_cores() -> int:
    """Return the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def require_precision(device: str, precision: Precision) -> None:
    """Raise UsageError for an unknown precision, or one that the device lacks."""
    if precision not in PRECISIONS:
        raise unknown_name_error("precision", precision, PRECISIONS)
    if device_type(device) == "cpu" and precision == "fp16":
        fault = "fp16 is for GPUs: a CPU runs it ten times slower than fp32"
        raise UsageError(fault, hint=("use ", Mention("precision", "bf16")))
    if device_type(device) != "cpu" and precision == "int8":
        raise UsageError("int8 is for CPUs", hint=("use ", Mention("precision", "fp16")))
    if precision == "int8" and platform.machine() in ("x86_64", "AMD64") and not prefers_int8(device):
        # sums of two products of 8 bits overflow the 16 that older instructions have for them
        raise UsageError(
            "int8 needs a processor with VNNI or AMX", hint=("use ", Mention("precision", "fp32"))
        )


def choose_device(name: str = "auto") -> "torch.device":
    """Return the torch device of a name, `auto` being CUDA, then MPS, then CPU. Raises UsageError."""
    if not re.fullmatch(r"auto|cpu|mps|cuda(:\d{1,4})?", name):
        raise UsageError(f"unknown device {name!r}", "use auto, cpu, cuda, cuda:0 or mps", option="device")
    import torch

    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    device = torch.device(name)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UsageError(
            "no CUDA device on this machine", hint=(Mention("device", "auto"), " takes the best available")
        )
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise UsageError(f"no {name} on this machine: it has {torch.cuda.device_count()} CUDA device(s)")
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise UsageError(
            "no MPS device on this machine", hint=(Mention("device", "auto"), " takes the best available")
        )
    return device


def move(array: "npt.NDArray[Any]", device: "torch.device") -> "torch.Tensor":
    """Return an array as a tensor on a device; to a GPU it goes from pinned memory, without waiting."""
    import torch

    tensor = torch.from_numpy(array)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def dtype_of(precision: Precision) -> "torch.dtype":
    """Return the torch dtype of a precision."""
    import torch

    return {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[precision]


T = TypeVar("T")
P = ParamSpec("P")

_loaders: "list[_lru_cache_wrapper[Any]]" = []

_EVERY_S = 5.0
"""It takes some hundredths of a second, and as long again until the pages are back that are still of use."""
_M_ARENA_MAX, _M_MMAP_THRESHOLD, _M_TRIM_THRESHOLD = -8, -3, -1  # parameters of mallopt, from malloc.h
_LARGE, _LARGEST = 4 << 20, 32 << 20
"""Bytes. Whisper's decoder makes and drops blocks of a megabyte at each step: returning these costs a quarter
of its time."""


def use_one_arena() -> None:
    """Let all threads of this process share one arena; for programs, before they start threads."""
    if (mallopt := _of_libc("mallopt")) is not None:
        mallopt(_M_ARENA_MAX, 1)


def use_one_blas_thread() -> None:
    """Let NumPy multiply in one thread, unless the user sets how many; for programs, before they import it.

    The products are small, and further threads wait for work in a loop: their start alone takes .06 s.
    """
    if "OMP_NUM_THREADS" not in os.environ:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


@contextmanager
def returning_blocks() -> Iterator[None]:
    """Give each block of several megabytes back as soon as it is dropped.

    The GNU C library does so until it has seen the first: from then on it keeps blocks of up to 32 MiB, and
    the blocks that a network drops in a step stay in addition to those that it needs next.
    """
    mallopt = _of_libc("mallopt")
    if mallopt is None:
        yield
        return
    mallopt(_M_MMAP_THRESHOLD, _LARGE)
    try:
        yield
    finally:  # as the library itself would have it by now
        mallopt(_M_MMAP_THRESHOLD, _LARGEST)
        mallopt(_M_TRIM_THRESHOLD, 2 * _LARGEST)


def cached_model(maxsize: int) -> Callable[[Callable[P, T]], "_lru_cache_wrapper[T]"]:
    """Decorate a function that loads a network: its last results stay in memory until `unload`."""

    def wrap(load: Callable[P, T]) -> "_lru_cache_wrapper[T]":
        loader = lru_cache(maxsize)(load)
        _loaders.append(loader)
        return loader

    return wrap


def unload() -> None:
    """Free the networks in memory, except the networks of objects in use."""
    for loader in _loaders:
        loader.cache_clear()
    gc.collect()  # networks are circles of objects, whose memory is free only now
    if (torch := sys.modules.get("torch")) is not None and torch.cuda.is_initialized():
        torch.cuda.empty_cache()
    if (trim := _of_libc("malloc_trim")) is not None:
        trim(0)


def trimming(items: Iterable[T], every_s: float = _EVERY_S) -> Iterator[T]:
    """Yield the items; every few seconds and at the end, memory that nothing uses is given back."""
    trim = _of_libc("malloc_trim")
    if trim is None:
        yield from items
        return
    last_s = time.monotonic()
    for item in items:
        if time.monotonic() - last_s >= every_s:
            trim(0)
            last_s = time.monotonic()
        yield item
    trim(0)


def _of_libc(name: str) -> Any:
    """Return a function of the GNU C library; None where there is another one."""
    if sys.platform == "linux":
        with suppress(AttributeError, OSError):
            return getattr(ctypes.CDLL(None), name)
    return None
