"""Read the tensors of PyTorch's file formats as NumPy arrays, without PyTorch and without running any code.

Each holds a pickle whose tensors point into storages: `torch.save` a zip (`data.pkl`, `data/0` ...) or,
before version 1.6, pickles with the storages behind them; TorchScript a zip with modules and `code/`, left
alone.
"""

import math
import pickle
import struct
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vidsum.errors import WeightsError

UNPICKLING_ERRORS = (
    *(pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError, LookupError, struct.error),
    *(ArithmeticError, AssertionError, MemoryError, RecursionError),
)  # raised where a pickle is damaged or holds something else

# NumPy 2 moved the function, and pickles name it by either place; asking an array for it works with both
_RECONSTRUCT = np.empty(0).__reduce__()[0]
_ARRAYS = {
    ("numpy.core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
}


def read_numpy_pickle(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a pickled, nested mapping by joined keys. Raises WeightsError: anything else."""
    try:
        with path.open("rb") as stream:
            tree = RestrictedUnpickler(stream, _ARRAYS, "pickle of arrays").load()
    except UNPICKLING_ERRORS as error:
        raise WeightsError(f"not a pickle of arrays ({error})", subject=path.name) from error
    return dict(flatten(tree, path.name))


def flatten(tree: object, what: str, prefix: str = "") -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """Yield (key, array) of every array in nested mappings; see `read_numpy_pickle`."""
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            if not isinstance(key, str):
                raise WeightsError(
                    f"{key!r} in {prefix or 'the pickle'} is not the name of an array", subject=what
                )
            yield from flatten(value, what, f"{prefix}/{key}" if prefix else key)
    elif isinstance(tree, np.ndarray) and prefix and tree.dtype.kind in "fiub":
        yield prefix, tree
    else:
        raise WeightsError(f"{prefix or 'the pickle'} is not an array of numbers", subject=what)


class RestrictedUnpickler(pickle.Unpickler):
    """An unpickler that finds allowed names only."""

    def __init__(self, stream: IO[bytes], allowed: Mapping[tuple[str, str], Any], what: str) -> None:
        super().__init__(stream)
        self._allowed, self._what = allowed, what

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._allowed:
            raise pickle.UnpicklingError(f"a {self._what} may not call {module}.{name}: not loaded")
        return self._allowed[module, name]


Array = npt.NDArray[Any]

_DAMAGE = (*UNPICKLING_ERRORS, zipfile.BadZipFile, zlib.error, RuntimeError)
_MAGIC = 0x1950A86A20F9469CFC6C  # first pickle of a file that PyTorch wrote before version 1.6
_MAX_SHARED = 16  # tensors may share memory, as tied layers do, but not more often
_DTYPES = {
    "DoubleStorage": "<f8",
    "FloatStorage": "<f4",
    "HalfStorage": "<f2",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "?",
}


class _Storage(NamedTuple):
    """Memory that tensors point into."""

    key: str
    dtype: str
    length: int  # numbers in it

    @property
    def item_bytes(self) -> int:
        return 2 if self.dtype == "bfloat16" else np.dtype(self.dtype).itemsize

    @property
    def n_bytes(self) -> int:
        return self.length * self.item_bytes


class StoredTensor(NamedTuple):
    """A tensor as the pickle describes it: a view of a storage."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in numbers


ReadStorage = Callable[[_Storage], bytes]


def read_torch(path: Path) -> dict[str, Array]:
    """Return the arrays of a TorchScript archive, or of a state dict, alone or under the key `state_dict`.

    bfloat16 becomes float32. Raises WeightsError: the file is damaged, or holds more than data.
    """
    file = TorchFile(path, path.name)
    content = file.content
    # training frameworks put the tensors under this key, beside the epoch and the like
    if isinstance(content, dict) and isinstance(content.get("state_dict"), dict):
        content = content["state_dict"]
    return file.arrays(content)


class TorchFile:
    """The content of a file, with a description in place of each tensor; `arrays` reads their numbers."""

    def __init__(self, path: Path, name: str) -> None:
        """Read all but the numbers of a file. Raises OSError: unreadable. WeightsError: damaged."""
        self._name, self._n_bytes = name, path.stat().st_size
        with self._refuse_damage():
            self.content, self._read = (_open_zip if zipfile.is_zipfile(path) else _open_legacy)(path)

    @contextmanager
    def _refuse_damage(self) -> Iterator[None]:
        try:
            yield
        except _DAMAGE as error:
            raise WeightsError(f"not a torch file of weights only ({error})", subject=self._name) from error

    def arrays(self, state: object) -> dict[str, Array]:
        """Return the arrays of a state dict or module, copied. Raises WeightsError: neither, or damaged."""
        with self._refuse_damage():
            tensors = dict(_iter_tensors(state, "")) if isinstance(state, _Module) else state
            if not isinstance(tensors, Mapping) or not all(
                isinstance(key, str) and isinstance(value, StoredTensor) for key, value in tensors.items()
            ):
                raise WeightsError("is not a state dict, a mapping of names to tensors", subject=self._name)
            claimed = largest = 0
            for key, tensor in tensors.items():
                count = math.prod(tensor.shape)
                if count > tensor.storage.length:
                    fault = f"{key} claims the shape {list(tensor.shape)}, but stores less"
                    raise WeightsError(fault, subject=self._name)
                claimed += count * tensor.storage.item_bytes
                largest = max(largest, tensor.storage.n_bytes)
            if max(claimed, largest) > _MAX_SHARED * self._n_bytes:
                raise WeightsError("its tensors claim more than the file holds", subject=self._name)
            return {key: _to_array(tensor, self._read(tensor.storage)) for key, tensor in tensors.items()}


def _open_zip(path: Path) -> tuple[Any, ReadStorage]:
    with zipfile.ZipFile(path) as archive:
        top = archive.namelist()[0].partition("/")[0]
        with archive.open(f"{top}/data.pkl") as stream:
            content = _TorchUnpickler(stream).load()

    def read(storage: _Storage) -> bytes:
        with zipfile.ZipFile(path) as archive, archive.open(f"{top}/data/{storage.key}") as stream:
            return stream.read(storage.n_bytes)

    return content, read


def _open_legacy(path: Path) -> tuple[Any, ReadStorage]:
    with path.open("rb") as stream:
        if _TorchUnpickler(stream).load() != _MAGIC:
            raise pickle.UnpicklingError("no magic number")
        for _ in ("protocol", "properties of the machine"):
            _TorchUnpickler(stream).load()
        unpickler = _TorchUnpickler(stream)
        content = unpickler.load()
        offsets: dict[str, int] = {}
        for key in _TorchUnpickler(stream).load():
            offsets[key] = stream.tell() + 8  # after the count of numbers, which the pickle has too
            stream.seek(offsets[key] + unpickler.storages[key].n_bytes)

    def read(storage: _Storage) -> bytes:
        with path.open("rb") as stream:
            stream.seek(offsets[storage.key])
            return stream.read(storage.n_bytes)

    return content, read


def _to_array(tensor: StoredTensor, data: bytes) -> Array:
    storage, offset = tensor.storage, tensor.offset
    if len(data) != storage.n_bytes:
        raise pickle.UnpicklingError(f"storage {storage.key} is cut short")
    end = offset + sum((n - 1) * stride for n, stride in zip(tensor.shape, tensor.strides, strict=True))
    is_empty = 0 in tensor.shape
    if min(offset, *tensor.shape, *tensor.strides, 0) < 0 or (end >= storage.length and not is_empty):
        raise pickle.UnpicklingError("a tensor reaches past its storage")
    if storage.dtype == "bfloat16":  # the upper half of a float32
        numbers = (np.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4")
    else:
        numbers = np.frombuffer(data, storage.dtype)
    if is_empty:
        return np.empty(tensor.shape, numbers.dtype)
    strides = [stride * numbers.itemsize for stride in tensor.strides]
    return np.lib.stride_tricks.as_strided(numbers[offset:], tensor.shape, strides).copy()


class _Module:
    """Any module of a TorchScript archive; the unpickler sets its attributes."""


def _iter_tensors(module: object, prefix: str) -> Iterator[tuple[str, StoredTensor]]:
    for name, value in vars(module).items():
        if isinstance(value, StoredTensor):
            yield f"{prefix}{name}", value
        elif isinstance(value, _Module):
            yield from _iter_tensors(value, f"{prefix}{name}.")


class _TorchUnpickler(RestrictedUnpickler):
    """Builds descriptions of tensors; `storages` collects what they point into."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(stream, _ALLOWED, "file of tensors")
        self.storages: dict[str, _Storage] = {}

    def find_class(self, module: str, name: str) -> Any:
        return _Module if module.split(".")[0] == "__torch__" else super().find_class(module, name)

    def persistent_load(self, pid: Any) -> _Storage:
        _kind, dtype, key, _device, count, *view = pid
        if dtype not in _DTYPES.values() or not isinstance(count, int) or count < 0 or any(view):
            raise pickle.UnpicklingError(f"storage {key!r} is of a kind that is not supported")
        return self.storages.setdefault(key, _Storage(str(key), dtype, count))


def _describe_tensor(
    storage: _Storage, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_rest: object
) -> StoredTensor:
    """Describe a tensor; the arguments after the strides (gradient flag, hooks) do not matter here."""
    if not isinstance(storage, _Storage):  # a module could claim any length
        raise pickle.UnpicklingError("a tensor has no storage")
    return StoredTensor(storage, offset, tuple(shape), tuple(strides))


def _take_first(value: Any, *_rest: object) -> Any:
    return value


_ALLOWED = {
    ("torch._utils", "_rebuild_tensor"): _describe_tensor,
    ("torch._utils", "_rebuild_tensor_v2"): _describe_tensor,
    ("torch._utils", "_rebuild_parameter"): _take_first,
    ("collections", "OrderedDict"): OrderedDict,
    # trainers keep options and the state of a schedule beside the tensors
    ("argparse", "Namespace"): OrderedDict,
    ("easydict", "EasyDict"): OrderedDict,
    ("collections", "Counter"): OrderedDict,  # a class in Python: a pickle could change its methods
    ("__builtin__", "set"): set,
    ("torch", "Size"): tuple,
    ("torch", "device"): _take_first,
    ("torch.jit._pickle", "restore_type_tag"): _take_first,
    **{
        ("torch.jit._pickle", f"build_{kind}list"): _take_first
        for kind in ("int", "double", "bool", "tensor")
    },
    **{("torch", name): dtype for name, dtype in _DTYPES.items()},
}
