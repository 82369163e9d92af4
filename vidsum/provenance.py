"""What a result was made from, so that it can be told whether an output is up to date."""

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from vidsum.errors import InputError
from vidsum.hashing import hash_file


def of_file(path: Path) -> dict[str, Any]:
    """Size and SHA-256 of a source file.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        status = path.stat()
        return {"bytes": status.st_size, "sha256": _hash_unchanged(path, status.st_size, status.st_mtime_ns)}
    except OSError as error:
        raise InputError(f"{path.name}: cannot be read ({(error.strerror or str(error)).lower()})") from error


def digest_of(provenance: Mapping[str, Any]) -> str:
    """One short name for a provenance block: 32 hexadecimal digits."""
    return hashlib.sha256(json.dumps(provenance, sort_keys=True).encode()).hexdigest()[:32]


@lru_cache(maxsize=1024)
def _hash_unchanged(path: Path, size: int, mtime_ns: int) -> str:
    """Hash of a file's content; asked for again in the same run it is not read again unless it changed."""
    return hash_file(path)
