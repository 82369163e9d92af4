"""A cache of features on disk: an npz file named by a hash of all that its numbers depend on."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vidsum.errors import InputError, OutputError, UsageError
from vidsum.io.cache import home
from vidsum.io.provenance import digest_of
from vidsum.results.features import Features, read_npz, write_npz

DEFAULT_LIMIT_BYTES = 2 * 1024**3


def folder() -> Path:
    return home() / "features"


def limit_bytes() -> int:
    """Return `$VIDSUM_CACHE_LIMIT` (MiB) or 2 GiB; 0 is off. Raises UsageError: no whole number."""
    text = os.environ.get("VIDSUM_CACHE_LIMIT", str(DEFAULT_LIMIT_BYTES // 1024**2))
    if not text.isdecimal():
        raise UsageError(f"VIDSUM_CACHE_LIMIT is {text!r}", hint="give a whole number of MiB, 0 for no cache")
    return int(text) * 1024**2


def get(provenance: Mapping[str, Any]) -> Features | None:
    """Return the features of an earlier run with the same provenance; unreadable ones are removed."""
    if limit_bytes() == 0:
        return None
    path = folder() / f"{digest_of(provenance)}.npz"
    if not path.is_file():
        return None
    try:
        features = read_npz(path)
    except InputError:
        _remove(path)
        return None
    with contextlib.suppress(OSError):  # a cache that may only be read has no order of use
        os.utime(path)
    return features


def put(features: Features) -> None:
    """Keep features under their provenance. A folder that cannot be written to keeps nothing."""
    limit = limit_bytes()
    if features.array.nbytes > limit:
        return
    path = folder() / f"{digest_of(features.provenance)}.npz"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_npz(features, path)
    except (OSError, OutputError):
        return
    _evict(limit)


def state() -> dict[str, Any]:
    """Return the state of the cache, for `vidsum info --cache`."""
    sizes = [size for _, _, size in _entries()]
    used = {"entries": len(sizes), "bytes": sum(sizes), "limit_bytes": limit_bytes()}
    return {"folder": str(folder()), **used}


def _evict(limit: int) -> None:
    entries = sorted(_entries(), key=lambda entry: entry[1])
    total = sum(size for _, _, size in entries)
    for path, _, size in entries:
        if total > limit:
            _remove(path)
            total -= size


def _entries() -> list[tuple[Path, int, int]]:
    """(path, time of last use in ns, bytes) of each entry; another process may remove one meanwhile."""
    entries = []
    for path in folder().glob(f"{'[0-9a-f]' * 32}.npz"):  # others are not ours
        with contextlib.suppress(OSError):
            status = path.stat()
            entries.append((path, status.st_mtime_ns, status.st_size))
    return entries


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
