"""Reading pickles of NumPy arrays and TorchScript archives without letting them run anything.

A pickle names the functions that rebuild its objects; here it may name only those that arrays or tensors
need. A TorchScript archive is a zip: `data.pkl` pickles the modules as plain objects whose tensors point into
the files `data/0`, `data/1` ...; its program in `code/`, which `torch.jit.load` would compile, is left alone.
"""

import pickle
import struct
import zipfile
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from vidsum.errors import WeightsError

if TYPE_CHECKING:
    import torch

UNPICKLING_ERRORS = (
    *(pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError, LookupError, struct.error),
    *(ArithmeticError, AssertionError, MemoryError, RecursionError),
)
"""Raised where a pickle is damaged or holds something else."""

# NumPy 2 moved the function, and pickles name it by either place; asking an array for it works with both
_RECONSTRUCT = np.empty(0).__reduce__()[0]
_ARRAYS = {
    ("numpy.core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
}


def read_numpy_pickle(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Arrays of a pickled, nested mapping; the keys on the way to an array are joined with `/`.

    Raises WeightsError where it is anything but mappings of arrays of numbers.
    """
    try:
        with path.open("rb") as stream:
            tree = _Unpickler(stream, _ARRAYS, "pickle of arrays").load()
    except UNPICKLING_ERRORS as error:
        raise WeightsError(f"{path.name}: not a pickle of arrays ({error})") from error
    arrays: dict[str, npt.NDArray[Any]] = {}
    for key, array in flatten(tree, path.name):
        if key in arrays:
            raise WeightsError(f"{path.name}: two arrays are called {key!r}")
        arrays[key] = array
    return arrays


def flatten(tree: object, what: str, prefix: str = "") -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """(key, array) of every array in nested mappings; see `read_numpy_pickle`."""
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            if not isinstance(key, str):
                raise WeightsError(f"{what}: {key!r} in {prefix or 'the pickle'} is not the name of an array")
            yield from flatten(value, what, f"{prefix}/{key}" if prefix else key)
    elif isinstance(tree, np.ndarray) and prefix and tree.dtype.kind in "fiub":
        yield prefix, tree
    else:
        raise WeightsError(f"{what}: {prefix or 'the pickle'} is not an array of numbers")


class _Unpickler(pickle.Unpickler):
    """Finds the allowed names and no others."""

    def __init__(self, stream: IO[bytes], allowed: Mapping[tuple[str, str], Any], what: str) -> None:
        super().__init__(stream)
        self._allowed, self._what = allowed, what

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._allowed:
            raise WeightsError(f"a {self._what} may not call {module}.{name}: not loaded")
        return self._allowed[module, name]


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
    """Parameters and buffers of a TorchScript archive, under the names of its `state_dict()`.

    Raises WeightsError where it is not such an archive, or names anything but modules, lists and tensors.
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


class _ModuleUnpickler(_Unpickler):
    def __init__(self, stream: IO[bytes], archive: zipfile.ZipFile, top: str) -> None:
        super().__init__(stream, _TENSORS, "TorchScript archive")
        self._archive, self._top = archive, top

    def find_class(self, module: str, name: str) -> Any:
        return _Module if module.split(".")[0] == "__torch__" else super().find_class(module, name)

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


_LISTS = ("int", "double", "bool", "tensor")
_TENSORS = {
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
    ("collections", "OrderedDict"): OrderedDict,
    ("torch.jit._pickle", "restore_type_tag"): _plain_list,
    **{("torch.jit._pickle", f"build_{kind}list"): _plain_list for kind in _LISTS},
    **{("torch", name): dtype for name, dtype in _DTYPES.items()},
}
