"""Features in `.npz`, a format of our own: `features` [T, D] float32, `timestamps` [T] float64 seconds,
`metadata` (one JSON text), and `logits` [T, K] if there are any.
"""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vidsum.features.arrays import existing, features_of, metadata_of, refusing
from vidsum.features.numpy_files import read_arrays
from vidsum.outputs import atomic_write
from vidsum.types import Features

_NAMES = ("features", "timestamps", "metadata", "logits")


def write_npz(features: Features, path: str | os.PathLike[str]) -> None:
    """Write one video's features; the same features give the same bytes.

    Raises:
        OutputError: the file cannot be written.
    """
    arrays: dict[str, npt.NDArray[Any]] = {"features": features.array, "timestamps": features.timestamps}
    if features.logits is not None:
        arrays["logits"] = features.logits
    arrays["metadata"] = np.array(json.dumps(metadata_of(features)))
    with atomic_write(path) as part, part.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def read_npz(path: str | os.PathLike[str]) -> Features:
    """Read one video's features; a file with only `features` (and `timestamps`) made elsewhere is read too.

    Raises:
        InputError: the file is missing, not an npz file, or has no usable features.
    """
    source = existing(Path(path))
    with refusing(source):
        return features_of(read_arrays(source, _NAMES))
