"""From a published file, its SHA-256 checked, to the stored file: safetensors for all tensors."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vidsum.checkpoints.registry import Format
from vidsum.checkpoints.tensors import load_tensors, state_dict_of
from vidsum.checkpoints.unpickle import UNPICKLING_ERRORS, read_numpy_pickle, read_torchscript
from vidsum.errors import WeightsError


def convert(source: Path, format: Format, target: Path) -> None:
    """Convert the checked file `source` to `target`. Raises WeightsError where that fails."""
    import numpy as np
    from safetensors import SafetensorError
    from safetensors.numpy import save_file as save_arrays
    from safetensors.torch import save_file

    try:
        if format in ("safetensors", "plain"):
            shutil.copyfile(source, target)
        elif format == "numpy_pickle":
            arrays = read_numpy_pickle(source)
            save_arrays({key: np.ascontiguousarray(array) for key, array in arrays.items()}, target)
        else:
            tensors = read_torchscript(source) if format == "torchscript" else _read_torch(source)
            # a file holds each tensor by itself, so tensors that share memory are parted first
            parted = {key: tensor.detach().clone().contiguous() for key, tensor in tensors.items()}
            save_file(parted, target)
    except SafetensorError as error:  # raised for a full disk too
        raise WeightsError(f"{target.name}: cannot be written ({error})") from error


def _read_torch(source: Path) -> Mapping[str, Any]:
    try:
        content = load_tensors(source)
    except (*UNPICKLING_ERRORS, RuntimeError) as error:
        raise WeightsError(f"{source.name}: not a torch file of weights only ({error})") from error
    # training frameworks put the tensors under this key, beside the epoch and the like
    if isinstance(content, dict) and isinstance(content.get("state_dict"), dict):
        content = content["state_dict"]
    return state_dict_of(content, source.name, source.stat().st_size)
