"""Reading the tensors of a TorchScript archive without running it.

The archive is a zip: `data.pkl` pickles the modules as plain objects whose tensors point into the files
`data/0`, `data/1` ...; the program in `code/` is left alone, where `torch.jit.load` would compile it.
"""

import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from vidsum.checkpoints.unpickle import UNPICKLING_ERRORS
from vidsum.errors import WeightsError

if TYPE_CHECKING:
    import torch

_DTYPES = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
}


def read_torchscript(path: Path) -> "dict[str, torch.Tensor]":
    """Parameters and buffers of an archive, under the names that its `state_dict()` would give them.

    Raises:
        WeightsError: it is not such an archive, or its pickle names anything but modules, lists and tensors.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            top = archive.namelist()[0].partition("/")[0]
            with archive.open(f"{top}/data.pkl") as stream:
                module = _ModuleUnpickler(stream, archive, top).load()
    except (*UNPICKLING_ERRORS, zipfile.BadZipFile, RuntimeError) as error:
        raise WeightsError(f"{path.name}: not a TorchScript archive ({error})") from error
    if not isinstance(module, _Module):
        raise WeightsError(f"{path.name}: not a TorchScript archive of a module")
    return dict(_tensors(module, ""))


class _Module:
    """Stands for any module of the archive; its attributes are set by the unpickler."""


def _tensors(module: object, prefix: str) -> "Iterator[tuple[str, torch.Tensor]]":
    import torch

    for name, value in vars(module).items():
        if isinstance(value, torch.Tensor):
            yield f"{prefix}{name}", value
        elif isinstance(value, _Module):
            yield from _tensors(value, f"{prefix}{name}.")


class _ModuleUnpickler(pickle.Unpickler):
    def __init__(self, stream: IO[bytes], archive: zipfile.ZipFile, top: str) -> None:
        super().__init__(stream)
        self._archive = archive
        self._top = top

    def find_class(self, module: str, name: str) -> Any:
        if module.split(".")[0] == "__torch__":
            return _Module
        if module == "torch" and name in _DTYPES:
            return _DTYPES[name]
        if (module, name) not in _ALLOWED:
            raise WeightsError(f"a TorchScript archive may not call {module}.{name}: not loaded")
        return _ALLOWED[module, name]

    def persistent_load(self, pid: Any) -> "torch.Tensor":
        import torch

        _kind, dtype_name, key, _device, count = pid
        dtype = getattr(torch, dtype_name)
        if count == 0:  # frombuffer takes no empty buffer
            return torch.empty(0, dtype=dtype)
        data = self._archive.read(f"{self._top}/data/{key}")
        return torch.frombuffer(bytearray(data), dtype=dtype, count=count)


def _tensor(
    storage: "torch.Tensor", offset: int, size: tuple[int, ...], stride: tuple[int, ...], *_rest: object
) -> "torch.Tensor":
    """A view into a storage; what follows (gradient flag, hooks) does not matter here."""
    return storage.as_strided(size, stride, offset)


def _plain_list(items: list[Any], *_type_name: str) -> list[Any]:
    return items


_ALLOWED = {
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
    ("collections", "OrderedDict"): OrderedDict,
    ("torch.jit._pickle", "restore_type_tag"): _plain_list,
    ("torch.jit._pickle", "build_intlist"): _plain_list,
    ("torch.jit._pickle", "build_doublelist"): _plain_list,
    ("torch.jit._pickle", "build_boollist"): _plain_list,
    ("torch.jit._pickle", "build_tensorlist"): _plain_list,
}
