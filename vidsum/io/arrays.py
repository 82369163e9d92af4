"""Reading array files that others made: `.npz` and `.npy`, and the errors of these and of HDF5.

NumPy allocates the shape that a header claims before it reads: of a damaged or hostile file that may be more
than the machine has. So no array may claim more than the file holds of it.
"""

import lzma
import math
import os
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from vidsum.errors import InputError, UsageError

_KINDS = "biufU"  # numbers and text; objects are pickles, which are never loaded
_MAX_COMPRESSION = 1032  # largest ratio that deflate reaches
_LAST_CODE_POINT = 0x10FFFF
_UNREADABLE = (
    *(OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, MemoryError),
    *(RuntimeError, SyntaxError, tokenize.TokenError, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)  # errors of NumPy and h5py for damaged files: NumPy parses its headers as Python


def require_file(path: Path) -> Path:
    """Return the path of a file that is there and may be read. Raises InputError otherwise."""
    if not path.is_file():
        raise InputError(f"{path}: {'is not a file' if path.exists() else 'no such file'}")
    if not os.access(path, os.R_OK):
        raise InputError(f"{path}: permission denied")
    return path


@contextmanager
def convert_errors(path: Path, kind: str = "feature file") -> Iterator[None]:
    """Turn an error while `path` is read into an InputError; those of our own checks keep their reason."""
    try:
        yield
    except UsageError as error:
        raise InputError(f"{path}: not a {kind} ({error})") from error
    except _UNREADABLE as error:  # what the libraries say speaks of their internals
        raise InputError(f"{path}: not a {kind} (damaged, or another format)") from error


def read_arrays(path: Path, names: Collection[str] | None = None) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of an `.npz` that have these names, or all; other members are not read.

    Call it within `convert_errors`. Raises UsageError where an array is neither numbers nor text, or not as
    long as it claims.
    """
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            if name == member.filename or (names is not None and name not in names):
                continue
            if member.file_size > _MAX_COMPRESSION * member.compress_size:
                raise UsageError(f"{name} has a compression ratio that is implausible for features")
            with archive.open(member) as stream:
                arrays[name] = _read(stream, name, member.file_size)
    return arrays


def read_array(path: Path) -> npt.NDArray[Any]:
    """Return the array of an `.npy`; errors are those of `read_arrays`."""
    with path.open("rb") as stream:
        return _read(stream, "the array", path.stat().st_size)


def _read(stream: IO[bytes], name: str, n_bytes: int) -> npt.NDArray[Any]:
    """Return the array of a stream that has `n_bytes`, its header among them."""
    shape, in_columns, dtype = _read_header(stream)
    if dtype.kind not in _KINDS:
        raise UsageError(f"{name} holds {dtype}, not numbers")
    claimed, held = math.prod(shape) * dtype.itemsize, n_bytes - stream.tell()
    if min(shape, default=0) < 0 or claimed != held:
        raise UsageError(f"{name} claims {claimed:,} bytes, but {held:,} are there")
    content = stream.read(claimed + 1)  # to the end, where the checksum is compared
    if len(content) != claimed:
        raise UsageError(f"{name} is cut short")
    if dtype.kind == "U":
        _check_text(content, dtype, name)
    array: npt.NDArray[Any] = np.frombuffer(bytearray(content), dtype)
    return array.reshape(shape, order="F" if in_columns else "C")


def _read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether columns are stored one after another, and type."""
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        read = np.lib.format.read_array_header_1_0
    elif version == (2, 0):
        read = np.lib.format.read_array_header_2_0
    else:
        raise UsageError(f"it is of NumPy's format {version}, not 1 or 2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that Python 2 wrote it
        header: tuple[tuple[int, ...], bool, np.dtype[Any]] = read(stream)
    return header


def _check_text(content: bytes, dtype: np.dtype[Any], name: str) -> None:
    """NumPy makes strings of numbers that are not characters, which break whatever prints them."""
    points = np.frombuffer(content, np.dtype(np.uint32).newbyteorder(dtype.byteorder))
    if points.size and points.max() > _LAST_CODE_POINT:
        raise UsageError(f"{name} is not text")
