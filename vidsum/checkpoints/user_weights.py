"""The user's weights for a built-in network: a folder of the cache that names the network."""

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from vidsum.checkpoints.obtain import copy_file, lock_entry, store
from vidsum.checkpoints.registry import (
    USER_FILE,
    EntryStatus,
    Format,
    builtin_entries,
    make_user_entry,
    status_of,
    user_entries,
    user_entry,
    weights_folder,
)
from vidsum.errors import UsageError, unknown_name_error
from vidsum.io.provenance import hash_file


def add_user_weights(path: Path, name: str, network: str, check: Callable[[Path], None]) -> EntryStatus:
    """Store a file in the cache as the weights `name` of a network, recorded by its SHA-256.

    `check` gets the tensors as safetensors, and raises WeightsError where they do not fit. Raises UsageError:
    the name is taken or not allowed.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,63}", name):
        raise UsageError(f"a name has up to 64 of a-z, 0-9, _ and -, not {name!r}")
    if name in builtin_entries():
        raise UsageError(f"{name} is a name of vidsum's", hint="choose another name with --as")
    with lock_entry(name) as staging:
        raw = copy_file(path, staging)
        sha256, n_bytes = hash_file(raw), raw.stat().st_size
        entry = make_user_entry(name, network, sha256, n_bytes)
        if user_entry(name) not in (None, entry):
            raise UsageError(f"{name} has other weights already", hint=f"vidsum weights remove {name}")
        store(entry, replace(entry.files[0], format=_format_of(raw)), raw, "added by hand", check)
        facts = {"network": network, "sha256": sha256, "bytes": n_bytes}
        (weights_folder() / name / USER_FILE).write_text(json.dumps(facts) + "\n")
    return status_of(entry, hashed=False)


def remove_user_weights(name: str) -> Path:
    """Delete the user's weights `name`, and return their folder. Raises UsageError: there are none."""
    if user_entry(name) is None:
        raise unknown_name_error("weights of your own", name, user_entries())
    with lock_entry(name):
        shutil.rmtree(weights_folder() / name)
    return weights_folder() / name


def _format_of(path: Path) -> Format:
    with path.open("rb") as file:
        return "safetensors" if file.read(9)[8:] == b"{" else "torch"
