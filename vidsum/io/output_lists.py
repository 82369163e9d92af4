"""The files that vidsum wrote, as records list them: `outputs`, their SHA-256 by their relative path."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from vidsum.errors import InputError
from vidsum.io.provenance import is_sealed
from vidsum.io.text import read_json

Hashes = dict[str, set[str]]
"""The SHA-256 of files by their paths relative to a folder; a file that is being replaced has two."""


def outputs_in(records: Iterable[Path]) -> Hashes:
    """Return the outputs of the records among some JSON files of a folder; edited ones list nothing."""
    hashes = Hashes()
    for path in records:
        with suppress(OSError):
            status = path.stat()
            if path.is_file():
                for name, sha256 in _outputs_in(path, status.st_size, status.st_mtime_ns).items():
                    hashes.setdefault(name, set()).update(sha256)
    return hashes


def read_sealed(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file, if nobody edited it; else an empty one.

    Raises InputError: it is not a JSON file.
    """
    document = read_json(path)
    return document if isinstance(document, dict) and is_sealed(document) else {}


def outputs_of(document: Mapping[str, Any]) -> Hashes:
    """Return `outputs` of a document; empty where it has none."""
    outputs = document.get("outputs")
    if not isinstance(outputs, dict) or not str(document.get("schema")).startswith("vidsum."):
        return {}
    return {name: {sha256} for name, sha256 in outputs.items() if isinstance(sha256, str)}


@lru_cache(maxsize=100_000)
def _outputs_in(path: Path, size: int, mtime_ns: int) -> Hashes:
    with suppress(InputError):
        return outputs_of(read_sealed(path))
    return {}
