"""The published files that the shipped networks are made from."""

from dataclasses import replace
from pathlib import Path

from vidsum.checkpoints import registry
from vidsum.checkpoints.obtain import fetch_entry


def fetch_source(name: str) -> Path:
    """Return the file that a shipped network is made from (`made_from` in the registry), checked.

    It is kept in the cache of weights as `NAME-source`, PyTorch's as safetensors. Raises WeightsError: no
    source has it.
    """
    entry = registry.get(name)
    assert entry.made_from is not None, f"{name} is not made from a published file"
    source = replace(entry, name=f"{name}-source", files=(entry.made_from,), shipped=False, made_from=None)
    fetch_entry(source)
    return registry.path_of_entry(source)
