"""Provenance of results, and the labels that name it in pictures and MP4s, to see what is up to date."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from vidsum.errors import InputError
from vidsum.io.file_names import missing_file


def hash_file(path: Path) -> str:
    """Return SHA-256 of a file's content as hexadecimal digits; the file is never whole in memory."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def hash_unchanged(path: Path) -> str:
    """Return `hash_file` of a file, once for each size, time of change and inode."""
    status = path.stat()
    return _hash_of(path, status.st_size, status.st_mtime_ns, status.st_ino)


def identify_file(path: Path) -> dict[str, Any]:
    """Return size and SHA-256 of a source file. Raises InputError where it cannot be read."""
    try:
        return {"bytes": path.stat().st_size, "sha256": hash_unchanged(path)}
    except FileNotFoundError as error:
        raise missing_file(path, "cannot be read (no such file)") from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"cannot be read ({reason})", subject=path) from error


def label_of(provenance: Mapping[str, Any], form: str = "") -> str:
    """Return the label of a file that holds no provenance block; `form` is `Encoding.tag` of an MP4."""
    return " ".join(filter(None, ["vidsum", form, digest_of(provenance)]))


def encoding_tag_in(label: str | None, provenance: Mapping[str, Any]) -> str | None:
    """Return the form in a label of a file that was made from `provenance`; None in any other."""
    if label is None or not is_label(label) or not label.endswith(digest_of(provenance)):
        return None
    return " ".join(label.split(" ")[1:-1])


def is_label(text: str) -> bool:
    """Return whether a text is the label of a file that vidsum wrote."""
    return re.fullmatch(r"vidsum (\S+ )?[0-9a-f]{32}", text) is not None


def digest_of(provenance: Mapping[str, Any]) -> str:
    """Return a short name of a provenance block: 32 hexadecimal digits."""
    return hashlib.sha256(json.dumps(provenance, sort_keys=True).encode()).hexdigest()[:32]


@lru_cache(maxsize=1024)
def _hash_of(path: Path, size: int, mtime_ns: int, inode: int) -> str:
    return hash_file(path)


def seal(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with the digest of the rest of it, by which edits are detected."""
    rest = {name: part for name, part in document.items() if name != "digest"}
    return {**document, "digest": digest_of(rest)}


def is_sealed(document: Mapping[str, Any]) -> bool:
    """Return whether a document, which anyone may have written, is as `seal` returned it."""
    try:
        return bool(document.get("digest") == seal(document)["digest"])
    except RecursionError:  # it is nested too deep
        return False


def flat(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """(path, value) of all that is not itself a mapping, or a list of them."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from flat(inner, (*path, name))
    elif isinstance(value, list) and any(isinstance(entry, Mapping) for entry in value):
        for number, entry in enumerate(value):
            yield from flat(entry, (*path, str(number)))
    else:
        yield path, value
