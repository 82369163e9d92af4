"""Weights of the user's own for a network of vidsum's: a folder of the cache that names its network."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from vidsum.checkpoints.obtain import copied, locked, store
from vidsum.checkpoints.registry import (
    OWN,
    EntryStatus,
    Format,
    builtin,
    describe_own,
    own_entry,
    own_weights,
    status_of,
    weights_folder,
)
from vidsum.errors import UsageError, unknown_name_error
from vidsum.provenance import hash_file


def add_own(path: Path, name: str, network: str, check: Callable[[Path], None]) -> EntryStatus:
    """Take a file into the cache as the weights `name` of a network, recorded by its SHA-256.

    `check` gets the tensors as safetensors, and raises WeightsError where they do not fit. Raises UsageError:
    the name is not free, or is none.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,63}", name):
        raise UsageError(f"a name has up to 64 of a-z, 0-9, _ and -, not {name!r}")
    if name in builtin():
        raise UsageError(f"{name} is a name of vidsum's", hint="choose another name with --as")
    with locked(name) as staging:
        raw = copied(path, staging)
        sha256, n_bytes = hash_file(raw), raw.stat().st_size
        entry = describe_own(name, network, sha256, n_bytes)
        if own_entry(name) not in (None, entry):
            raise UsageError(f"{name} has other weights already", hint=f"vidsum weights remove {name}")
        store(entry, replace(entry.files[0], format=_format_of(raw)), raw, "added by hand", check)
        facts = {"network": network, "sha256": sha256, "bytes": n_bytes}
        (weights_folder() / name / OWN).write_text(json.dumps(facts) + "\n")
    return status_of(entry, hashed=False)


def remove_own(name: str) -> Path:
    """Delete weights that `add_own` took, and return their folder. Raises UsageError: there are none."""
    if own_entry(name) is None:
        raise unknown_name_error("weights of your own", name, own_weights())
    with locked(name):
        shutil.rmtree(weights_folder() / name)
    return weights_folder() / name


def _format_of(path: Path) -> Format:
    with path.open("rb") as file:
        return "safetensors" if file.read(9)[8:] == b"{" else "torch"
