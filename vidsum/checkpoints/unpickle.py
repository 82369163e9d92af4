"""Read pickles, such as NumPy arrays, without running code: only allowed functions are found."""

import pickle
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

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
        raise WeightsError(f"{path.name}: not a pickle of arrays ({error})") from error
    arrays: dict[str, npt.NDArray[Any]] = {}
    for key, array in flatten(tree, path.name):
        if key in arrays:
            raise WeightsError(f"{path.name}: two arrays are called {key!r}")
        arrays[key] = array
    return arrays


def flatten(tree: object, what: str, prefix: str = "") -> Iterator[tuple[str, npt.NDArray[Any]]]:
    """Yield (key, array) of every array in nested mappings; see `read_numpy_pickle`."""
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            if not isinstance(key, str):
                raise WeightsError(f"{what}: {key!r} in {prefix or 'the pickle'} is not the name of an array")
            yield from flatten(value, what, f"{prefix}/{key}" if prefix else key)
    elif isinstance(tree, np.ndarray) and prefix and tree.dtype.kind in "fiub":
        yield prefix, tree
    else:
        raise WeightsError(f"{what}: {prefix or 'the pickle'} is not an array of numbers")


class RestrictedUnpickler(pickle.Unpickler):
    """An unpickler that finds allowed names only."""

    def __init__(self, stream: IO[bytes], allowed: Mapping[tuple[str, str], Any], what: str) -> None:
        super().__init__(stream)
        self._allowed, self._what = allowed, what

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._allowed:
            raise pickle.UnpicklingError(f"a {self._what} may not call {module}.{name}: not loaded")
        return self._allowed[module, name]
