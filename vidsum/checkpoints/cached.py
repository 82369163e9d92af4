"""The cache of weights on this machine: its files, and whether they are still those that were checked.

Each entry has a folder, `$VIDSUM_HOME/weights/NAME/`, with its files and `record.json`: for each file the
SHA-256 of the published file, which was checked when it came in, and that of the file as it is stored.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_type_hints

from vidsum.checkpoints.registry import Entry, EntryFile
from vidsum.disk_cache import home
from vidsum.errors import InputError, WeightsError
from vidsum.provenance import hash_file
from vidsum.text_files import read_json

State = Literal["present", "missing", "bad"]
_RECORD = "record.json"


@dataclass(frozen=True)
class Record:
    """Facts about a stored file when it came in."""

    source_sha256: str
    """SHA-256 of the published file."""
    source: str
    """Its origin in words."""
    stored_sha256: str
    stored_bytes: int


@dataclass(frozen=True)
class EntryStatus:
    """The state of an entry of the registry on this machine."""

    entry: Entry
    state: State
    path: Path
    """The file, or the folder where there are several; it may not exist yet."""
    reason: str | None = None
    """The faults of a bad one, in one line."""


def weights_folder() -> Path:
    """The folder of all weights; it need not exist."""
    return home() / "weights"


def path_of_entry(entry: Entry) -> Path:
    """Path of an entry: its file, or its folder where it has several."""
    folder = weights_folder() / entry.name
    return folder / entry.files[0].name if len(entry.files) == 1 else folder


def read_records(entry: Entry) -> dict[str, Record]:
    """The records of an entry's files, by file name; none where they cannot be read."""
    try:
        texts = read_json(weights_folder() / entry.name / _RECORD)
        records = {name: Record(**values) for name, values in texts.items()}
    except (InputError, TypeError, AttributeError):
        return {}
    kinds = get_type_hints(Record)
    is_right = all(
        isinstance(value, kinds[key]) for each in records.values() for key, value in vars(each).items()
    )
    return records if is_right else {}


def write_records(folder: Path, records: Mapping[str, Record]) -> None:
    """Write an entry's records to its folder, whole or not at all."""
    part = folder / f".{_RECORD}.part"
    part.write_text(json.dumps({name: asdict(record) for name, record in records.items()}, indent=2) + "\n")
    part.replace(folder / _RECORD)


def status_of(entry: Entry, *, hashed: bool) -> EntryStatus:
    """The status of an entry by the sizes of its files, and by their SHA-256 if `hashed`."""
    states = _file_states(entry, hashed=hashed)
    path = path_of_entry(entry)
    if faults := [fault for _, fault in states.values() if fault is not None]:
        return EntryStatus(entry, "bad", path, "; ".join(faults))
    is_missing = ("missing", None) in states.values()
    return EntryStatus(entry, "missing" if is_missing else "present", path)


def unfit_files(entry: Entry) -> list[EntryFile]:
    """The files of an entry that are missing or do not have the recorded SHA-256."""
    return [file for file, (state, _) in _file_states(entry, hashed=True).items() if state != "present"]


def _file_states(entry: Entry, *, hashed: bool) -> dict[EntryFile, tuple[State, str | None]]:
    """(state, fault) of each stored file."""
    folder, records = weights_folder() / entry.name, read_records(entry)
    return {file: _state(folder / file.name, file, records.get(file.name), hashed) for file in entry.files}


def _state(path: Path, file: EntryFile, record: Record | None, hashed: bool) -> tuple[State, str | None]:
    # a file without a record never passed its check, and the registry may list another one by now
    if record is None or not file.has_hash(record.source_sha256) or not path.is_file():
        return "missing", None
    try:
        size = path.stat().st_size
        if size != record.stored_bytes:
            return "bad", f"{path}: has {size} bytes, not the recorded {record.stored_bytes}"
        if hashed and hash_file(path) != record.stored_sha256:
            return "bad", f"{path}: does not have the recorded SHA-256"
    except OSError as error:
        return "bad", f"{path}: cannot be read ({error.strerror})"
    return "present", None


def require_whole(entry: Entry) -> Path:
    """Path of an entry in the cache, after its files' SHA-256 have been checked; else WeightsError."""
    status = status_of(entry, hashed=True)
    if status.state == "present":
        return status.path
    reason = status.reason or f"{status.path}: not there"
    raise WeightsError(f"{entry.name}: {reason}", hint=f"vidsum weights pull {entry.name}")
