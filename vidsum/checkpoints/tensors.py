"""Tensors of torch files that others made: read as data only, refused where they are not plain numbers."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vidsum.errors import WeightsError

if TYPE_CHECKING:
    from torch import Tensor

_MOST_SHARED = 16
"""Tensors may share memory, as tied layers do; a state dict that repeats its file more often is refused."""


def load_tensors(file: Path) -> Any:
    """What a torch file holds, on the CPU; nothing in it is run.

    Raises:
        OSError, RuntimeError and those of `vidsum.checkpoints.unpickle.UNPICKLING_ERRORS`: the file is
            damaged, or holds more than data.
    """
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of kinds of tensors that are refused afterwards
        return torch.load(file, map_location="cpu", weights_only=True)


def state_dict_of(found: object, name: str, file_bytes: int, hint: str | None = None) -> "dict[str, Tensor]":
    """A state dict, once it is known to be one.

    Args:
        found: what a torch file holds.
        name: of that file, for messages.
        file_bytes: its size.
        hint: of errors.

    Raises:
        WeightsError: it is no mapping of names to tensors, or a tensor is not plain numbers.
    """
    import torch

    if not isinstance(found, Mapping) or not all(
        isinstance(key, str) and isinstance(value, torch.Tensor) for key, value in found.items()
    ):
        raise WeightsError(f"{name}: is not a state dict, a mapping of names to tensors", hint=hint)
    for key, tensor in found.items():
        if fault := fault_of(tensor):
            raise WeightsError(f"{name}: {key} {fault}", hint=hint)
    if sum(map(_bytes_of, found.values())) > _MOST_SHARED * file_bytes:
        raise WeightsError(f"{name}: its tensors claim more than the file holds", hint=hint)
    return dict(found)


def fault_of(tensor: "Tensor") -> str | None:
    """What keeps a tensor from being an array of numbers, in words that follow its name; None if nothing."""
    import torch

    if tensor.is_quantized or tensor.is_nested or tensor.layout != torch.strided:
        return "is quantized, sparse or nested"
    if tensor.is_meta:
        return "has a shape and no numbers (device meta)"
    if tensor.is_complex():
        return "holds complex numbers"
    if _bytes_of(tensor) > tensor.untyped_storage().nbytes():
        return f"claims the shape {list(tensor.shape)}, but stores less"
    return None


def _bytes_of(tensor: "Tensor") -> int:
    return tensor.numel() * tensor.element_size()
