"""What vidsum keeps on disk: where, what takes long to compute, and what people were told."""

import contextlib
import hashlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vidsum.errors import InputError, OutputError
from vidsum.numpy_files import read_array, refusing
from vidsum.outputs import atomic_write
from vidsum.provenance import digest_of
from vidsum.types import FloatArray

_SHA256_BYTES = 32


def home() -> Path:
    """The folder of `weights/`, `features/`, `onnx/` ...: `$VIDSUM_HOME`, or the user's cache folder."""
    if named := os.environ.get("VIDSUM_HOME"):
        return Path(named).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("vidsum", appauthor=False))


def is_first(notice: str) -> bool:
    """Whether a notice is new to this machine; from then on it is not. False where that cannot be kept."""
    path = home() / "notices" / notice
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("x").close()
    except OSError:
        return False
    return True


def kept_rows(folder: str, made_from: Mapping[str, Any], make: Callable[[], FloatArray]) -> FloatArray:
    """Rows from disk, or made and kept there.

    Args:
        folder: name of a folder in `home()`.
        made_from: all that the rows depend on, JSON-ready.
        make: computes them.
    """
    path = home() / folder / f"{digest_of(made_from)}.npy"
    if path.is_file():
        with contextlib.suppress(InputError), refusing(path):  # a damaged file is made anew
            kept: FloatArray = read_array(path)
            return kept
    made = make()
    _keep(path, lambda part: np.save(part, made))
    return made


def kept_bytes(folder: str, made_from: Mapping[str, Any], make: Callable[[], bytes]) -> bytes:
    """The same of bytes. The file begins with their SHA-256, which is checked."""
    path = home() / folder / f"{digest_of(made_from)}.bin"
    with contextlib.suppress(OSError):
        digest, kept = (whole := path.read_bytes())[:_SHA256_BYTES], whole[_SHA256_BYTES:]
        if hashlib.sha256(kept).digest() == digest:
            return kept
    made = make()
    _keep(path, lambda part: part.write_bytes(hashlib.sha256(made).digest() + made))
    return made


def _keep(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file; a folder that cannot be written to keeps nothing."""
    with contextlib.suppress(OSError, OutputError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as part:
            write(part)
