"""Pretrained weights: fetched on first use, and loaded only after their SHA-256 has been checked.

They are kept in `$VIDSUM_HOME/weights` (default: the user's cache folder). `VIDSUM_OFFLINE=1` forbids
fetching. `docs/weights.md` tells where each comes from.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from vidsum.checkpoints import registry
from vidsum.checkpoints.cached import EntryStatus, State, place_of, read_records, require_whole, status_of
from vidsum.checkpoints.registry import Entry
from vidsum.errors import UsageError
from vidsum.types import Progress

if TYPE_CHECKING:
    import torch

__all__ = [
    "Entry",
    "EntryStatus",
    "State",
    "add",
    "entries",
    "fetch",
    "find",
    "load_state_dict",
    "path_of",
    "sha256_of",
    "verify",
    "verify_all",
]


def load_state_dict(name: str, progress: Progress | None = None) -> "dict[str, torch.Tensor]":
    """Tensors of a checkpoint, on the CPU; fetched on first use, read only after their SHA-256 is checked.

    Args:
        name: as in the registry, for example `mobilenet_v2`.
        progress: called while the weights are fetched.

    Raises:
        UsageError: no checkpoint has that name, or it holds no tensors.
        WeightsError: it cannot be fetched, or is not what was checked when it came in.
    """
    file = registry.get(name).files[0]
    if file.format == "plain":
        raise UsageError(f"{name} holds no tensors: {file.name} is used as it is")
    place = path_of(name, progress)
    from safetensors.torch import load_file

    return load_file(place / file.name if place.is_dir() else place)


def path_of(name: str, progress: Progress | None = None) -> Path:
    """Path of a checkpoint's file, or of its folder where it has several files; their SHA-256 are checked.

    Raises:
        UsageError: no checkpoint has that name.
        WeightsError: it cannot be fetched, or is not what was checked when it came in.
    """
    entry = registry.get(name)
    if status_of(entry, hashed=False).state == "missing":
        fetch(name, progress)
    return require_whole(entry)


def find(name: str) -> Path | None:
    """Path of a checkpoint (see `path_of`) if it is in the cache; nothing is fetched or hashed."""
    status = status_of(registry.get(name), hashed=False)
    return status.path if status.state == "present" else None


def sha256_of(name: str, progress: Progress | None = None) -> str:
    """SHA-256 of the (first) file of a checkpoint as it was published, for telling where a result comes from.

    Where the registry has only its first digits, the file is fetched if it is not there.

    Raises:
        UsageError: no checkpoint has that name.
        WeightsError: it cannot be fetched.
    """
    entry = registry.get(name)
    file = entry.files[0]
    if file.is_hash_whole:
        return file.sha256
    if status_of(entry, hashed=False).state == "missing":
        fetch(name, progress)
    return read_records(entry)[file.name].source_sha256


def fetch(name: str, progress: Progress | None = None) -> Path:
    """Bring a checkpoint into the cache unless it is there and whole; a damaged one is fetched anew.

    Safe to call from several processes at once: one fetches, the others wait for it.

    Raises:
        UsageError: no checkpoint has that name.
        WeightsError: fetching is forbidden, every source failed, or the cache cannot be written to.
    """
    # the HTTP libraries cost 0.3 s to import, and most runs need them not at all
    from vidsum.checkpoints.obtain import fetch_entry

    entry = registry.get(name)
    fetch_entry(entry, progress)
    return place_of(entry)


def add(file: str | os.PathLike[str], name: str) -> EntryStatus:
    """Take a file that you have into the cache as a file of the checkpoint `name`, if its SHA-256 fits.

    Raises:
        UsageError: no checkpoint has that name.
        WeightsError: the file cannot be read, or is not one of that checkpoint's.
    """
    from vidsum.checkpoints.obtain import add_file

    return add_file(registry.get(name), Path(file))


def verify(name: str) -> EntryStatus:
    """How a checkpoint stands, after the SHA-256 of its files has been computed."""
    return status_of(registry.get(name), hashed=True)


def verify_all() -> tuple[EntryStatus, ...]:
    """`verify` for every checkpoint of the registry."""
    return tuple(verify(name) for name in registry.builtin())


def entries() -> tuple[EntryStatus, ...]:
    """Every checkpoint of the registry and how it stands, judged by file sizes: quick, nothing is hashed."""
    return tuple(status_of(entry, hashed=False) for entry in registry.builtin().values())
