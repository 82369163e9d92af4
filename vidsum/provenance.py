"""What a result was made from, so that it can be told whether an output is up to date."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from vidsum.errors import InputError
from vidsum.types import Features
from vidsum.version import __version__

_CHUNK = 1 << 20


def hash_file(path: Path) -> str:
    """SHA-256 of a file's content as hexadecimal digits; the file is never whole in memory."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def of_file(path: Path) -> dict[str, Any]:
    """Size and SHA-256 of a source file. Raises InputError where it cannot be read."""
    try:
        status = path.stat()
        return {"bytes": status.st_size, "sha256": _hash_unchanged(path, status.st_size, status.st_mtime_ns)}
    except OSError as error:
        raise InputError(f"{path.name}: cannot be read ({(error.strerror or str(error)).lower()})") from error


def of_files(paths: Sequence[Path]) -> dict[str, Any]:
    """`of_file` of several files that make one source, such as a playlist and the files that it names."""
    parts = [of_file(path) for path in paths]
    if len(parts) == 1:
        return parts[0]
    hashes = "".join(part["sha256"] for part in parts)
    return {
        "bytes": sum(part["bytes"] for part in parts),
        "sha256": hashlib.sha256(hashes.encode()).hexdigest(),
    }


def of_features(features: Features) -> dict[str, Any]:
    """What features were made from; of features made elsewhere, their own hash."""
    if features.provenance:
        return dict(features.provenance)
    content = features.array.tobytes() + features.timestamps.tobytes()
    return {
        "vidsum": __version__,
        "extractor": features.extractor,
        "features": {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()},
    }


def label_of(provenance: Mapping[str, Any], *, copy: bool = False) -> str:
    """The label of a file that holds no provenance block; `copy` marks an MP4 that was not encoded."""
    return f"vidsum {'copy ' if copy else ''}{digest_of(provenance)}"


def digest_of(provenance: Mapping[str, Any]) -> str:
    """One short name for a provenance block: 32 hexadecimal digits."""
    return hashlib.sha256(json.dumps(provenance, sort_keys=True).encode()).hexdigest()[:32]


@lru_cache(maxsize=1024)
def _hash_unchanged(path: Path, size: int, mtime_ns: int) -> str:
    """`hash_file`, read again in the same run only if the file changed."""
    return hash_file(path)
