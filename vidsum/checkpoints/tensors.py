"""Convert the files of tensors in the registry to safetensors."""

import shutil
from pathlib import Path

from vidsum.checkpoints.registry import Format
from vidsum.checkpoints.torch_files import read_torch, read_torchscript
from vidsum.checkpoints.unpickle import read_numpy_pickle
from vidsum.errors import WeightsError


def convert(source: Path, format: Format, target: Path) -> None:
    """Convert the checked file `source` to `target`. Raises WeightsError where that fails."""
    import numpy as np
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    readers = {"numpy_pickle": read_numpy_pickle, "torch": read_torch, "torchscript": read_torchscript}
    if format not in readers:
        shutil.copyfile(source, target)
        return
    arrays = readers[format](source)
    try:
        save_file({key: np.asarray(array, order="C") for key, array in arrays.items()}, target)
    except SafetensorError as error:  # raised for a full disk too
        fault = WeightsError(f"{target.name}: cannot be written ({error})")
        fault.ends_batch = True
        raise fault from error
