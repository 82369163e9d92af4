"""Checkpoints of trained models as people name them: the one that ships by its name, another by its path."""

from pathlib import Path

from vidsum import checkpoints
from vidsum.errors import InputError
from vidsum.provenance import of_file


def named_file(name: str, shipped: str) -> Path:
    """The file of a checkpoint.

    Args:
        name: a path, or the shipped one's name.
        shipped: the name in the registry of the one that ships.

    Raises:
        WeightsError: the shipped one cannot be stored in the cache.
    """
    return checkpoints.path_of(name) if name == shipped else Path(name)


def named_sha256(name: str, shipped: str) -> str:
    """SHA-256 of a checkpoint, for telling where a result comes from. Arguments are those of `named_file`.

    Raises:
        InputError: there is no such file.
    """
    if name == shipped:
        return checkpoints.sha256_of(name)
    if not Path(name).is_file():
        raise InputError(f"{name}: no such file")
    return str(of_file(Path(name))["sha256"])
