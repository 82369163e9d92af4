"""Torch files that others made: read as data only, and refused where their tensors are not plain numbers."""

import re
import shutil
import warnings
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from vidsum.checkpoints.registry import Format
from vidsum.checkpoints.torch_files import read_torch, read_torchscript
from vidsum.checkpoints.unpickle import UNPICKLING_ERRORS, read_numpy_pickle
from vidsum.errors import WeightsError

if TYPE_CHECKING:
    from torch import Tensor


Tensors: TypeAlias = "Mapping[str, Tensor]"

_MOST_SHARED = 16
"""Tensors may share memory, as tied layers do; a state dict that repeats its file more often is refused."""


def load_tensors(file: Path) -> Any:
    """The content of a torch file, on the CPU; nothing in it is run.

    Raises OSError, RuntimeError and UNPICKLING_ERRORS where it is damaged, or holds more than data.
    """
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of kinds of tensors that are refused afterwards
        return torch.load(file, map_location="cpu", weights_only=True)


def state_dict_of(
    content: object, name: str, file_bytes: int, hint: str | None = None
) -> "dict[str, Tensor]":
    """The content of a torch file, once it is known to be a mapping of names to tensors of plain numbers.

    `name` of the file and `hint` are for the WeightsError that is raised otherwise.
    """
    import torch

    if not isinstance(content, Mapping) or not all(
        isinstance(key, str) and isinstance(value, torch.Tensor) for key, value in content.items()
    ):
        raise WeightsError(f"{name}: is not a state dict, a mapping of names to tensors", hint=hint)
    for key, tensor in content.items():
        if fault := fault_of(tensor):
            raise WeightsError(f"{name}: {key} {fault}", hint=hint)
    if sum(map(_bytes_of, content.values())) > _MOST_SHARED * file_bytes:
        raise WeightsError(f"{name}: its tensors claim more than the file holds", hint=hint)
    return dict(content)


def fault_of(tensor: "Tensor") -> str | None:
    """Why a tensor is not an array of numbers, in words that follow its name; None if it is."""
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


_OPTIONS: list[Any] = [(OrderedDict, "argparse.Namespace"), (OrderedDict, "easydict.EasyDict")]
"""Classes of options that files name, and the plain mapping that is built in their place."""


@dataclass(frozen=True, eq=False)
class Published:
    """A torch file in which other authors published their model."""

    tensors: Tensors
    options: Mapping[str, Any]
    """Options of its training, where the file has them."""


def read_published(file: Path, hint: str) -> Published:
    """The tensors and options of a published file, read as data only.

    The file is as a trainer's `torch.save` wrote it: a state dict, or one under `model`, with options under
    `opt`. `hint` says what to give instead, in the WeightsError where it has no state dict.
    """
    import torch

    if file.is_file() and not file.stat().st_size:
        raise WeightsError(f"{file}: is empty", hint=hint)
    try:
        with torch.serialization.safe_globals(_OPTIONS):
            content = load_tensors(file)
    except OSError as error:
        raise WeightsError(f"{file}: cannot be read ({error.strerror})") from error
    except (*UNPICKLING_ERRORS, RuntimeError) as error:
        # the text of the error is many lines, with advice to run whatever code the file holds
        raise WeightsError(f"{file}: not a torch file of weights only", hint=hint) from error
    # trainers put the tensors under this key, beside the optimizer and the epoch
    state = content.get("model", content) if isinstance(content, dict) else content
    tensors = state_dict_of(state, str(file), file.stat().st_size, hint)
    options = content.get("opt", {})
    if not isinstance(options, dict):
        raise WeightsError(f"{file}: its options (opt) are not a mapping", hint=hint)
    # trained on several GPUs, every name has a prefix
    return Published(
        {key.removeprefix("module."): value for key, value in tensors.items()},
        # those of a class are attributes of what stands for it
        {**options, **getattr(options, "__dict__", {})},
    )


class Reader:
    """Takes tensors by name, and knows which nobody took."""

    def __init__(self, tensors: Tensors, model: str, unused: str) -> None:
        """`model` is for messages; `unused` is a pattern of names that the outputs do not depend on."""
        self.tensors, self.model = tensors, model
        self.left = {name for name in tensors if not re.match(unused, name)}

    def take(self, name: str) -> "Tensor":
        """A tensor by its name. Raises WeightsError where there is none."""
        if name not in self.tensors:
            raise WeightsError(f"not a published state dict of {self.model}: it has no {name}")
        self.left.discard(name)
        return self.tensors[name]

    def pairs(self, names: Mapping[str, str]) -> "dict[str, Tensor]":
        """The weight and bias of each layer, from their names to ours."""
        return {
            f"{ours}.{part}": self.take(f"{theirs}.{part}")
            for theirs, ours in names.items()
            for part in ("weight", "bias")
        }

    def count(self, pattern: str) -> int:
        """Count of different numbers at the group of a pattern in the names."""
        return len({match[1] for name in self.tensors if (match := re.match(pattern, name))})

    def finish(self) -> None:
        """Raise WeightsError where there are more tensors than were taken."""
        if self.left:
            raise WeightsError(f"unknown variant of {self.model}: it has {min(self.left)}")


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
