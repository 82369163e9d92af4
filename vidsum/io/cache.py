"""The cache: what takes long to compute, in files named by a digest of all that it depends on.

An entry is `$VIDSUM_HOME/FOLDER/DIGEST.bin`, or `.npz` of features. All entries together keep to one limit;
the least recently used ones go first. As a process does not count them at each write, several that write at
once may pass the limit by a thirty-second each; one alone does not. Other files in `$VIDSUM_HOME`, such as
weights, are never touched.
"""

import contextlib
import hashlib
import io
import os
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from vidsum.errors import OutputError, UsageError
from vidsum.io.atomic import atomic_write
from vidsum.io.paths import home
from vidsum.io.provenance import digest_of
from vidsum.types import FloatArray, TimeArray

Rows = TypeVar("Rows", FloatArray, TimeArray)

DEFAULT_LIMIT_BYTES = 2 * 1024**3

_UNCOUNTED = 32
"""A process writes at most the limit divided by this before it counts the bytes of the cache again."""
_SHA256_BYTES = 32
_DIGEST = "[0-9a-f]" * 32


def is_first_today(notice: str) -> bool:
    """Return whether a notice is the first of its day on this machine, and record it.

    False where it cannot be recorded.
    """
    folder = home() / "notices"
    path = folder / f"{notice}-{date.today().isoformat()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.open("x").close()
        for earlier in set(folder.glob(f"{notice}-*")) - {path}:
            earlier.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def limit_bytes() -> int:
    """Return `$VIDSUM_CACHE_LIMIT` (MiB) or 2 GiB; 0 is off. Raises UsageError: no whole number."""
    text = os.environ.get("VIDSUM_CACHE_LIMIT", str(DEFAULT_LIMIT_BYTES // 1024**2))
    if not text.isdecimal():
        raise UsageError(f"VIDSUM_CACHE_LIMIT is {text!r}", hint="give a whole number of MiB, 0 for no cache")
    return int(text) * 1024**2


def find_file(folder: str, provenance: Mapping[str, Any], suffix: str) -> Path | None:
    """Return the file of an entry, which counts as used now; None where there is none."""
    path = _path(folder, provenance, suffix)
    if limit_bytes() == 0 or not path.is_file():
        return None
    with contextlib.suppress(OSError):  # a cache that may only be read has no order of use
        os.utime(path)
    return path


def store_file(
    folder: str, provenance: Mapping[str, Any], suffix: str, n_bytes: int, write: Callable[[Path], object]
) -> None:
    """Write an entry of about `n_bytes`, if the limit and the rights to the folder allow it."""
    limit = limit_bytes()
    if n_bytes > limit:
        return
    path = _path(folder, provenance, suffix)
    with contextlib.suppress(OSError, OutputError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as part:
            write(part)
        _count_written(path.stat().st_size, limit)


def cache_state() -> dict[str, Any]:
    """Return the folder of the cache, the number of its entries, their bytes and the limit."""
    sizes = [size for _, _, size in _entries()]
    return {"folder": str(home()), "entries": len(sizes), "bytes": sum(sizes), "limit_bytes": limit_bytes()}


def clear_cache() -> None:
    """Remove all entries."""
    for path, _, _ in _entries():
        remove_entry(path)


def remove_entry(path: Path) -> None:
    """Remove the file of an entry, which another process may have done meanwhile."""
    with contextlib.suppress(OSError):
        path.unlink()


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
    if (path := find_file(folder, provenance, ".bin")) is None:
        return None
    with contextlib.suppress(OSError):
        whole = path.read_bytes()
        digest, content = whole[:_SHA256_BYTES], whole[_SHA256_BYTES:]
        if hashlib.sha256(content).digest() == digest:
            return content
    return None


def store_bytes(folder: str, provenance: Mapping[str, Any], content: bytes) -> None:
    """Write bytes with their SHA-256; see `store_file`."""
    whole = hashlib.sha256(content).digest() + content
    store_file(folder, provenance, ".bin", len(whole), lambda path: path.write_bytes(whole))


def _path(folder: str, provenance: Mapping[str, Any], suffix: str) -> Path:
    return home() / folder / f"{digest_of(provenance)}{suffix}"


_room = dict[tuple[Path, int], int]()
"""Bytes that this process may write into a home with a limit before it counts again."""


def _count_written(n_bytes: int, limit: int) -> None:
    """Remove entries if the cache, with new entries of so many bytes, may have passed the limit."""
    left = _room.get((home(), limit), 0) - n_bytes
    if left < 0:
        left = min(limit - _evict(limit), limit // _UNCOUNTED)
    _room[home(), limit] = left


def _evict(limit: int) -> int:
    """Remove entries if they have passed the limit, for some room; return the bytes of the rest."""
    entries = sorted(_entries(), key=lambda entry: entry[1])
    total = sum(size for _, _, size in entries)
    most = limit if total <= limit else limit - limit // _UNCOUNTED
    for number, (path, _, size) in enumerate(entries, 1):
        if total > (most if number < len(entries) else limit):  # the newest may need all of it
            remove_entry(path)
            total -= size
    return total


def _entries() -> Iterator[tuple[Path, int, int]]:
    """Yield (path, time of last use in ns, bytes) of each entry; another process may remove one meanwhile."""
    for suffix in (".bin", ".npz"):
        for path in home().glob(f"*/{_DIGEST}{suffix}"):
            with contextlib.suppress(OSError):
                status = path.stat()
                yield path, status.st_mtime_ns, status.st_size
