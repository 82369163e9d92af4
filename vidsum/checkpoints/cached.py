"""The cache of weights on this machine: what is in it, and whether it is still what was checked.

Each entry has a folder, `$VIDSUM_HOME/weights/NAME/`, with its files and `record.json`: for each file the SHA-256
of the published file, which was checked when it came in, and that of the file as it is stored.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from vidsum.checkpoints.registry import Entry, EntryFile
from vidsum.errors import WeightsError
from vidsum.home import home

State = Literal["present", "missing", "bad"]
_RECORD = "record.json"
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Record:
    """What is known of one stored file since it was checked."""

    source_sha256: str
    """Of the published file."""
    source: str
    """Where it came from, in words."""
    stored_sha256: str
    stored_bytes: int


@dataclass(frozen=True)
class EntryStatus:
    """An entry of the registry and how it stands on this machine."""

    entry: Entry
    state: State
    path: Path
    """Where it is or would be: the file, or the folder where there are several."""
    reason: str | None = None
    """What is wrong with a bad one, in one line."""


def weights_folder() -> Path:
    """The folder of all weights; it need not exist."""
    return home() / "weights"


def place_of(entry: Entry) -> Path:
    """Path of an entry: its file, or its folder where it has several."""
    folder = weights_folder() / entry.name
    return folder / entry.files[0].name if len(entry.files) == 1 else folder


def hash_file(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def read_records(entry: Entry) -> dict[str, Record]:
    """The records of an entry's files, by file name; of a record that cannot be read, none.

    Files without a record count as missing: they were never checked, or not to the end.
    """
    try:
        text = (weights_folder() / entry.name / _RECORD).read_text("utf-8")
        return {name: Record(**fields) for name, fields in json.loads(text).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def write_records(folder: Path, records: Mapping[str, Record]) -> None:
    """Write an entry's records to its folder, whole or not at all."""
    part = folder / f".{_RECORD}.part"
    part.write_text(json.dumps({name: asdict(record) for name, record in records.items()}, indent=2) + "\n")
    part.replace(folder / _RECORD)


def status_of(entry: Entry, *, hashed: bool) -> EntryStatus:
    """How an entry stands: by the sizes of its files, or by their SHA-256 too if `hashed`."""
    records = read_records(entry)
    reasons = [_fault(entry, file, records.get(file.name), hashed) for file in entry.files]
    faults = [reason for reason in reasons if reason]
    if faults:
        return EntryStatus(entry, "bad", place_of(entry), "; ".join(faults))
    missing = any(is_missing(entry, file, records) for file in entry.files)
    return EntryStatus(entry, "missing" if missing else "present", place_of(entry))


def is_missing(entry: Entry, file: EntryFile, records: Mapping[str, Record]) -> bool:
    """Whether there is no checked copy of the file that the registry lists (it may list another since)."""
    record = records.get(file.name)
    is_there = (weights_folder() / entry.name / file.name).is_file()
    return record is None or not is_there or not file.has_hash(record.source_sha256)


def _fault(entry: Entry, file: EntryFile, record: Record | None, hashed: bool) -> str | None:
    """What has befallen a stored file since it was checked; None if nothing has or there is none."""
    path = weights_folder() / entry.name / file.name
    if record is None or is_missing(entry, file, {file.name: record}):
        return None
    try:
        if path.stat().st_size != record.stored_bytes:
            return f"{path}: has {path.stat().st_size} bytes, not the recorded {record.stored_bytes}"
        if hashed and hash_file(path) != record.stored_sha256:
            return f"{path}: does not have the recorded SHA-256"
    except OSError as error:
        return f"{path}: cannot be read ({error.strerror})"
    return None


def require_whole(entry: Entry) -> Path:
    """Path of an entry that is in the cache, after its files' SHA-256 have been checked.

    Raises:
        WeightsError: a file is missing or is not what was checked when it came in.
    """
    status = status_of(entry, hashed=True)
    if status.state == "present":
        return status.path
    reason = status.reason or f"{status.path}: not there"
    raise WeightsError(f"{entry.name}: {reason}", hint=f"vidsum weights pull {entry.name}")
