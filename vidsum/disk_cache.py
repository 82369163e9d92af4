"""Embeddings that are kept on disk under `vidsum.home.home()`, where they take long to make."""

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from vidsum.errors import InputError, OutputError
from vidsum.features.arrays import refusing
from vidsum.features.numpy_files import read_array
from vidsum.home import home
from vidsum.outputs import atomic_write
from vidsum.provenance import digest_of
from vidsum.types import FloatArray


def kept_rows(folder: str, made_from: Mapping[str, Any], make: Callable[[], FloatArray]) -> FloatArray:
    """Rows from disk, or made and put there.

    Args:
        folder: of the home folder, by its name.
        made_from: all that the rows depend on, JSON-ready.
        make: makes them.
    """
    path = home() / folder / f"{digest_of(made_from)}.npy"
    if path.is_file():
        with contextlib.suppress(InputError), refusing(path):  # a damaged file is made anew
            kept: FloatArray = read_array(path)
            return kept
    made = make()
    with contextlib.suppress(OSError, OutputError):  # a folder that cannot be written to keeps nothing
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as part:
            np.save(part, made)
    return made
