"""Checkpoints of trained models as people name them: those that ship by their names, others by their paths."""

from pathlib import Path

from vidsum import checkpoints
from vidsum.checkpoints.registry import builtin
from vidsum.errors import InputError
from vidsum.provenance import of_file


def named_file(name: str) -> Path:
    """The file of a checkpoint.

    Args:
        name: a path, or a name in the registry.

    Raises:
        WeightsError: one of the registry cannot be stored in the cache.
    """
    return checkpoints.path_of(name) if name in builtin() else Path(name)


def named_sha256(name: str) -> str:
    """SHA-256 of a checkpoint, for telling where a result comes from; `name` is that of `named_file`.

    Raises:
        InputError: there is no such file.
    """
    if name in builtin():
        return checkpoints.sha256_of(name)
    if not Path(name).is_file():
        raise InputError(f"{name}: no such file")
    return str(of_file(Path(name))["sha256"])
