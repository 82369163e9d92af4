"""Reading array files that others made: `.npz` and `.npy`, and the errors of these and of HDF5."""

import lzma
import os
import sys
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vidsum.errors import InputError, UsageError
from vidsum.io.file_names import missing_file, unreadable_file

_KINDS = "biufU"  # numbers and text; objects are pickles, which are never loaded
_MAX_COMPRESSION = 1032  # the largest ratio of deflate; bzip2 and LZMA can unpack a small file without end
_UNREADABLE = (
    OSError,
    EOFError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    MemoryError,
    RuntimeError,
    SyntaxError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)  # errors of NumPy and h5py for damaged files: NumPy parses its headers as Python


class TensorFile(Mapping[str, npt.NDArray[Any]]):
    """The tensors of a safetensors file, each of which is read when it is asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._open() as file:
            self._names = tuple(file.keys())

    def _open(self) -> Any:
        from safetensors import safe_open

        return safe_open(self._path, framework="numpy")

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        if name not in self._names:
            raise KeyError(name)
        with self._open() as file:
            array: npt.NDArray[Any] = file.get_tensor(name)
            return array

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def require_file(path: Path) -> Path:
    """Return the path of a file that is there and may be read. Raises InputError otherwise."""
    if not path.exists():
        raise missing_file(path)
    if not path.is_file():
        raise InputError("is not a file", subject=path)
    if not os.access(path, os.R_OK):
        raise unreadable_file(path)
    return path


@contextmanager
def convert_errors(path: Path, kind: str = "feature file") -> Iterator[None]:
    """Turn an error while `path` is read into an InputError; errors of our own checks keep their reason."""
    try:
        yield
    except UsageError as error:
        raise InputError(f"not a {kind} ({error})", subject=path) from error
    except _UNREADABLE as error:  # what the libraries say speaks of their internals
        raise InputError(f"not a {kind} (damaged, or another format)", subject=path) from error


def read_arrays(path: Path, names: Collection[str] | None = None) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of an `.npz` that have these names, or all; other members are not read.

    Call it within `convert_errors`. Raises UsageError where an array is neither numbers nor text.
    """
    ignored = warnings.catch_warnings(action="ignore", category=UserWarning)
    with ignored, path.open("rb") as file, np.load(file) as archive:  # NumPy leaves a damaged file open
        if any(part.file_size > _MAX_COMPRESSION * part.compress_size for part in archive.zip.infolist()):
            raise UsageError("its compression ratio is implausible for features")
        # the warnings say that Python 2 wrote an array
        return {name: _checked(archive[name], name) for name in archive.files if not names or name in names}


def read_array(path: Path) -> npt.NDArray[Any]:
    """Return the array of an `.npy`; raises the errors of `read_arrays`."""
    return _checked(np.load(path), "the array")


def _checked(array: Any, name: str) -> npt.NDArray[Any]:
    if not isinstance(array, np.ndarray) or array.dtype.kind not in _KINDS:
        raise UsageError(f"{name} does not hold numbers")
    if array.dtype.kind == "U":  # NumPy makes strings of numbers that are no characters, which break a print
        points = np.frombuffer(array.astype(array.dtype.newbyteorder("=")).tobytes(), np.uint32)
        if points.max(initial=0) > sys.maxunicode:
            raise UsageError(f"{name} is not text")
    return array
