"""SHA-256 of files, by which sources and weights are known again."""

import hashlib
from pathlib import Path

_CHUNK = 1 << 20


def hash_file(path: Path) -> str:
    """SHA-256 of a file's content, in hexadecimal digits; the file is never whole in memory."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
