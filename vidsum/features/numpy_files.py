"""Reading NumPy's files, `.npz` and `.npy`, that others made: no array larger than what the file holds of it.

NumPy makes room for the shape that a header claims before it reads; of a damaged or hostile file that may be
more than the machine has.
"""

import math
import warnings
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from vidsum.errors import UsageError

_KINDS = "biufU"
"""Numbers and text; objects are pickles, which are never loaded."""
_SMALLER = 1032
"""Deflate makes a member at most so many times smaller."""
_LAST_CODE_POINT = 0x10FFFF


def read_arrays(path: Path, names: Collection[str]) -> dict[str, npt.NDArray[Any]]:
    """The arrays of an `.npz` that have these names, as far as there are any; other members are not read.

    Raises:
        UsageError: an array is none of numbers or text, or is not as long as it claims.
        OSError, ValueError, zipfile.BadZipFile and others: the file is damaged; see `refusing`.
    """
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            if name == member.filename or name not in names:
                continue
            if member.file_size > _SMALLER * member.compress_size:
                raise UsageError(f"{name} is packed more tightly than any features")
            with archive.open(member) as stream:
                arrays[name] = _read(stream, name, member.file_size)
    return arrays


def read_array(path: Path) -> npt.NDArray[Any]:
    """The array of an `.npy`; errors are those of `read_arrays`."""
    with path.open("rb") as stream:
        return _read(stream, "the array", path.stat().st_size)


def _read(stream: IO[bytes], name: str, n_bytes: int) -> npt.NDArray[Any]:
    """The array of a stream that has `n_bytes`, its header among them."""
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
    """NumPy makes strings of numbers that are no characters, which then break whatever prints them."""
    points = np.frombuffer(content, np.dtype(np.uint32).newbyteorder(dtype.byteorder))
    if points.size and points.max() > _LAST_CODE_POINT:
        raise UsageError(f"{name} is no text")
