"""From a published file, its SHA-256 checked, to the stored file: safetensors for all tensors."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from vidsum.checkpoints.registry import Format
from vidsum.checkpoints.tensors import load_tensors, state_dict_of
from vidsum.checkpoints.unpickle import UNPICKLING_ERRORS, read_numpy_pickle, read_torchscript
from vidsum.errors import WeightsError

if TYPE_CHECKING:
    import torch


def convert(source: Path, format: Format, target: Path) -> None:
    """Convert the checked file `source` to `target`. Raises WeightsError where that fails."""
    from safetensors import SafetensorError

    try:
        _CONVERTERS[format](source, target)
    except SafetensorError as error:  # raised for a full disk too
        raise WeightsError(f"{target.name}: cannot be written ({error})") from error


def _keep(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)


def _from_numpy_pickle(source: Path, target: Path) -> None:
    import numpy as np
    from safetensors.numpy import save_file

    arrays = read_numpy_pickle(source)
    save_file({key: np.ascontiguousarray(array) for key, array in arrays.items()}, target)


def _from_torch(source: Path, target: Path) -> None:
    try:
        content = load_tensors(source)
    except (*UNPICKLING_ERRORS, RuntimeError) as error:
        raise WeightsError(f"{source.name}: not a torch file of weights only ({error})") from error
    # training frameworks put the tensors under this key, beside the epoch and the like
    if isinstance(content, dict) and isinstance(content.get("state_dict"), dict):
        content = content["state_dict"]
    _save(state_dict_of(content, source.name, source.stat().st_size), target)


def _from_torchscript(source: Path, target: Path) -> None:
    _save(read_torchscript(source), target)


def _save(tensors: "dict[str, torch.Tensor]", target: Path) -> None:
    from safetensors.torch import save_file

    # a file holds each tensor by itself, so tensors that share memory are parted first
    save_file({key: tensor.detach().clone().contiguous() for key, tensor in tensors.items()}, target)


_CONVERTERS: dict[Format, Callable[[Path, Path], None]] = {
    "torch": _from_torch,
    "torchscript": _from_torchscript,
    "numpy_pickle": _from_numpy_pickle,
    "safetensors": _keep,
    "plain": _keep,
}
