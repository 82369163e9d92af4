"""Device, precision and backend: what runs a model, and in which floating-point type."""

from typing import TYPE_CHECKING, Literal, get_args

from vidsum.errors import UsageError

if TYPE_CHECKING:
    import torch

Precision = Literal["fp32", "bf16", "fp16"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
Backend = Literal["torch", "onnx"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)


def choose_device(name: str = "auto") -> "torch.device":
    """The torch device of a name: `auto` (CUDA, then MPS, then CPU), `cpu`, `cuda`, `cuda:1` or `mps`.

    Raises:
        UsageError: the name is unknown, or that device is not on this machine.
    """
    import torch

    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in ("cpu", "cuda", "mps"):
        raise UsageError(f"unknown device {name!r}", hint="use auto, cpu, cuda, cuda:0 or mps")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UsageError("no CUDA device on this machine", hint="--device auto takes the best there is")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise UsageError(f"no {name} on this machine: it has {torch.cuda.device_count()} CUDA device(s)")
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise UsageError("no MPS device on this machine", hint="--device auto takes the best there is")
    return device


def dtype_of(precision: Precision) -> "torch.dtype":
    """The torch dtype of a precision name. Raises UsageError where it is unknown."""
    import torch

    if precision not in PRECISIONS:
        raise UsageError(f"unknown precision {precision!r}", hint=f"use {', '.join(PRECISIONS)}")
    return {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[precision]
