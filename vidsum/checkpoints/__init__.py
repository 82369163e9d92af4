"""Pretrained weights: shipped, or fetched on first use; loaded only after their SHA-256 has been checked.

All functions raise UsageError for an unknown name, and WeightsError if weights cannot be fetched or read, or
changed since they were checked (docs/weights.md).
"""

import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vidsum.checkpoints import registry
from vidsum.checkpoints.registry import EntryStatus, path_of_entry, read_records, status_of
from vidsum.errors import UsageError, WeightsError
from vidsum.types import Progress

if TYPE_CHECKING:
    import numpy.typing as npt
    import torch


def load_state_dict(name: str) -> "dict[str, torch.Tensor]":
    """Return the tensors of a checkpoint, on the CPU. Raises UsageError where it has none."""
    from safetensors.torch import load_file

    return load_file(_tensors_of(name))


def load_arrays(name: str) -> "dict[str, npt.NDArray[Any]]":
    """Return the tensors of a checkpoint as NumPy arrays, without importing torch."""
    return dict(open_arrays(name))


def open_arrays(name: str) -> "Mapping[str, npt.NDArray[Any]]":
    """Return the same tensors, each of which is read when it is asked for."""
    from vidsum.io.arrays import TensorFile

    return TensorFile(_tensors_of(name))


def _tensors_of(name: str) -> Path:
    file = registry.get(name).files[0]
    if file.format == "plain":
        raise UsageError(f"{name} has no tensors: {file.name} is used as it is")
    path = path_of(name)
    return path / file.name if path.is_dir() else path


def path_of(name: str, progress: Progress | None = None) -> Path:
    """Return the path of a checkpoint's file, or of its folder if it has several, after checking SHA-256."""
    entry = registry.get(name)
    if status_of(entry, hashed=False).state == "missing":
        fetch(name, progress)
    status = status_of(entry, hashed=True)
    if status.state != "present":
        reason = status.reason or f"{status.path}: not there"
        raise WeightsError(reason, hint=entry.repair_command, subject=name)
    return status.path


def find(name: str) -> Path | None:
    """Return the path of a checkpoint if it is in the cache; fetch and hash nothing."""
    status = status_of(registry.get(name), hashed=False)
    return status.path if status.state == "present" else None


def sha256_of(name: str) -> str:
    """Return the SHA-256 that identifies a checkpoint in caches and records (`RegistryEntry.identity`).

    It is fetched if not all digits are known.
    """
    entry = registry.get(name)
    if entry.identity is not None:
        return entry.identity
    if status_of(entry, hashed=False).state == "missing":
        fetch(name)
    return read_records(entry)[entry.files[0].name].source_sha256


def fetch(name: str, progress: Progress | None = None) -> Path:
    """Fetch a checkpoint into the cache if it is missing or damaged; one process does, others wait."""
    # the HTTP libraries take 0.3 s to import, and most runs do not need them
    from vidsum.checkpoints.obtain import fetch_entry

    entry = registry.get(name)
    fetch_entry(entry, progress)
    return path_of_entry(entry)


def add(
    file: str | os.PathLike[str],
    name: str,
    networks: Collection[str] = (),
    check: Callable[[Path], None] | None = None,
) -> EntryStatus:
    """Copy a file of `name` into the cache by its SHA-256; see `vidsum.checkpoints.obtain.add_file`."""
    from vidsum.checkpoints.obtain import add_file

    return add_file(registry.get(name), Path(file), networks, check)


def verify(name: str) -> EntryStatus:
    """Return the status of a checkpoint, after the SHA-256 of its files has been computed."""
    return status_of(registry.get(name), hashed=True)


def entries() -> tuple[EntryStatus, ...]:
    """Return the status of every checkpoint of the registry by file sizes: quick, nothing is hashed."""
    all_entries = {**registry.user_entries(), **registry.builtin_entries()}
    return tuple(status_of(entry, hashed=False) for entry in all_entries.values())
