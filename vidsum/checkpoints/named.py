"""Checkpoints of trained models as people name them: known ones by their names, others by their paths."""

from pathlib import Path

from vidsum import checkpoints
from vidsum.checkpoints.registry import builtin
from vidsum.errors import InputError
from vidsum.provenance import of_file

BEST = "best.safetensors"
"""The checkpoint in the folder of a training run that validated best."""


def named_file(name: str) -> Path:
    """The file of a checkpoint.

    Args:
        name: a path, a name in the registry, or that of a published model that was added.

    Raises:
        WeightsError: one of the registry cannot be stored in the cache, or a published one was not added.
    """
    if name in builtin():
        return checkpoints.path_of(name)
    # with PyTorch, which what asks for a name of the registry may not need
    from vidsum.checkpoints.official import OFFICIAL, official_file

    return official_file(name) if name in OFFICIAL else Path(name)


def named_sha256(name: str) -> str:
    """SHA-256 of a checkpoint, for telling where a result comes from; `name` is that of `named_file`.

    Raises:
        InputError: there is no such file.
        WeightsError: it is a published model that was not added.
    """
    if name in builtin():
        return checkpoints.sha256_of(name)
    file = named_file(name)
    if not file.is_file():
        raise InputError(f"{name}: no such file")
    return str(of_file(file)["sha256"])
