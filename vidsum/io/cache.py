"""The cache folder: results that take long to compute, and notices that were shown once."""

import contextlib
import hashlib
import io
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from vidsum.errors import OutputError
from vidsum.io.outputs import atomic_write
from vidsum.io.provenance import digest_of
from vidsum.types import FloatArray, TimeArray

Rows = TypeVar("Rows", FloatArray, TimeArray)

_SHA256_BYTES = 32


def home() -> Path:
    """Return the folder of `weights/`, `features/` ...: `$VIDSUM_HOME`, or the user's cache folder."""
    if named := os.environ.get("VIDSUM_HOME"):
        return Path(named).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("vidsum", appauthor=False))


def is_first(notice: str) -> bool:
    """Return whether a notice is new to this machine, and record it; False where it cannot be recorded."""
    path = home() / "notices" / notice
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("x").close()
    except OSError:
        return False
    return True


def cached_rows(folder: str, provenance: Mapping[str, Any], make: Callable[[], Rows]) -> Rows:
    """Return rows from the cache, or make and store them; see `cached_bytes`."""

    def as_npy() -> bytes:
        np.save(content := io.BytesIO(), make())
        return content.getvalue()

    rows: Rows = np.load(io.BytesIO(cached_bytes(folder, provenance, as_npy)))
    return rows


def cached_bytes(folder: str, provenance: Mapping[str, Any], make: Callable[[], bytes]) -> bytes:
    """Return bytes from a folder in `home()`, or make and store them, by all that they depend on."""
    if (content := find_bytes(folder, provenance)) is None:
        store_bytes(folder, provenance, content := make())
    return content


def find_bytes(folder: str, provenance: Mapping[str, Any]) -> bytes | None:
    """Return the bytes that `store_bytes` wrote; None if there are none, or their SHA-256 differs."""
    with contextlib.suppress(OSError):
        whole = _path(folder, provenance).read_bytes()
        digest, content = whole[:_SHA256_BYTES], whole[_SHA256_BYTES:]
        if hashlib.sha256(content).digest() == digest:
            return content
    return None


def store_bytes(folder: str, provenance: Mapping[str, Any], content: bytes) -> None:
    """Write bytes with their SHA-256; do nothing where the folder cannot be written to."""
    path = _path(folder, provenance)
    with contextlib.suppress(OSError, OutputError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as part:
            part.write_bytes(hashlib.sha256(content).digest() + content)


def _path(folder: str, provenance: Mapping[str, Any]) -> Path:
    return home() / folder / f"{digest_of(provenance)}.bin"
