"""From a published file, its SHA-256 checked, to the file that is kept: safetensors for all tensors."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from vidsum.checkpoints.registry import Format
from vidsum.checkpoints.tensors import load_tensors, state_dict_of
from vidsum.checkpoints.unpickle import UNPICKLING_ERRORS, read_numpy_pickle
from vidsum.errors import WeightsError

if TYPE_CHECKING:
    import torch


def convert(source: Path, format: Format, target: Path) -> None:
    """Write to `target` what is kept of the checked file `source`.

    Raises:
        WeightsError: the file does not hold what its format says, or the other cannot be written.
    """
    from safetensors import SafetensorError

    try:
        _CONVERTERS[format](source, target)
    except SafetensorError as error:  # which is what safetensors makes of a full disk
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
        found = load_tensors(source)
    except (*UNPICKLING_ERRORS, RuntimeError) as error:
        raise WeightsError(f"{source.name}: not a torch file of weights only ({error})") from error
    # training frameworks put the tensors under this key, beside the epoch and the like
    if isinstance(found, dict) and isinstance(found.get("state_dict"), dict):
        found = found["state_dict"]
    _save(state_dict_of(found, source.name, source.stat().st_size), target)


def _from_torchscript(source: Path, target: Path) -> None:
    from vidsum.checkpoints.torchscript import read_torchscript

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
