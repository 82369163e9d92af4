"""The registry file: what ships is sound, and every fault in one is named with its place."""

import re
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.checkpoints.conftest import file_of, in_wheel, model
from vidsum.checkpoints import registry
from vidsum.errors import UsageError

HEX = "0123456789abcdef"


def test_registry_that_ships_has_the_models_of_the_extractors() -> None:
    assert {
        "mobilenet_v2",
        "i3d",
        "googlenet",
        "c3d",
        "clip",
        "transnetv2",
    } <= registry.builtin_entries().keys()


def test_files_from_the_package_index_have_their_whole_hash_and_length() -> None:
    for entry in registry.builtin_entries().values():
        for file in entry.files:
            only_urls = all(isinstance(source, registry.UrlSource) for source in file.sources)
            assert only_urls or (file.is_hash_whole and file.bytes), (entry.name, file.name)


def test_models_that_no_package_holds_say_what_to_do_instead() -> None:
    for entry in registry.builtin_entries().values():
        sources = [source for file in entry.files for source in file.sources]
        if all(isinstance(source, registry.UrlSource) for source in sources):
            assert entry.instead, entry.name


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match="resnet") as caught:
        registry.get("resnet")
    assert "mobilenet_v2" in (caught.value.hint or "")


names = st.from_regex(r"[a-z][a-z0-9_-]{0,12}", fullmatch=True)
words = st.from_regex(r"[a-z0-9][a-z0-9.-]{0,12}", fullmatch=True)
packages = st.fixed_dictionaries(
    {"package": words, "version": words, "archive": st.sampled_from(["wheel", "sdist"]), "member": words}
)
sources = st.one_of(
    packages,
    st.fixed_dictionaries({"url": words.map("https://{}".format)}),
    st.fixed_dictionaries({"parts": st.lists(packages, min_size=1, max_size=3)}),
)
files = st.fixed_dictionaries(
    {
        "name": words,
        "format": st.just("plain"),
        "sha256": st.text(HEX, min_size=8, max_size=64),
        "sources": st.lists(sources, min_size=1, max_size=3),
    },
    optional={"bytes": st.integers(1, 10**12)},
)
models = st.fixed_dictionaries(
    {
        "purpose": st.text(max_size=20),
        "licence": st.text(max_size=20),
        "files": st.lists(files, min_size=1, max_size=3, unique_by=lambda file: file["name"]),
    },
    optional={"instead": st.text(max_size=20)},
)


@settings(max_examples=25)
@given(st.dictionaries(names, models, max_size=3))
def test_what_is_written_is_what_is_read(written: dict[str, Any]) -> None:
    entries = registry.parse(yaml.safe_dump({"models": written}))
    assert {name: _as_yaml(entry) for name, entry in entries.items()} == written


def _as_yaml(entry: registry.RegistryEntry) -> dict[str, Any]:
    files = []
    for file in entry.files:
        fields = {"name": file.name, "format": file.format, "sha256": file.sha256, "bytes": file.bytes}
        sources = [_source_as_yaml(source) for source in file.sources]
        files.append(
            {key: value for key, value in fields.items() if value is not None} | {"sources": sources}
        )
    fields = {"purpose": entry.purpose, "licence": entry.licence, "files": files, "instead": entry.instead}
    return {key: value for key, value in fields.items() if value is not None}


def _source_as_yaml(source: registry.FileSource) -> dict[str, Any]:
    if isinstance(source, registry.JoinedSource):
        return {"parts": [vars(part) for part in source.parts]}
    return dict(vars(source))


def _toy(**changes: Any) -> dict[str, Any]:
    return model({**file_of(b"toy", in_wheel()), **changes})


def _without(key: str) -> dict[str, Any]:
    toy = _toy()
    del toy["files"][0][key]
    return toy


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
    PACKAGE,
    _exactly({"parts": {"type": "array", "items": PACKAGE, "minItems": 1}}),
    _exactly({"shipped": FILE_NAME}),
]
FILE = _exactly(
    {
        "name": FILE_NAME,
        "format": {"enum": ["torch", "torchscript", "numpy_pickle", "safetensors", "plain"]},
        "sha256": _text("[0-9a-f]{8,64}"),
        "sources": {"type": "array", "items": {"oneOf": SOURCES}, "minItems": 1},
        "bytes": {"type": "integer", "minimum": 1},
    },
    "bytes",
)
IN_SAFETENSORS = {
    "if": {"properties": {"format": {"const": "plain"}}},
    "then": {"properties": {"name": {"not": {"pattern": r"\.safetensors$"}}}},
    "else": {"properties": {"name": {"pattern": r"\.safetensors$"}}},
}
MODEL = _exactly(
    {
        "purpose": {"type": "string"},
        "licence": {"type": "string"},
        "files": {"type": "array", "items": {"allOf": [FILE, IN_SAFETENSORS]}, "minItems": 1},
        "instead": {"type": "string"},
    },
    "instead",
)
RULES = _exactly(
    {"models": {"type": "object", "propertyNames": _text("[a-z][a-z0-9_-]*"), "additionalProperties": MODEL}}
)
"""The format that docs/weights.md describes."""


def test_the_registry_that_ships_follows_its_rules() -> None:
    shipped = yaml.safe_load(resources.files("vidsum.weights").joinpath("registry.yaml").read_text("utf-8"))
    Draft202012Validator(RULES).validate(shipped)
    for entry in registry.builtin_entries().values():
        assert len({file.name for file in entry.files}) == len(entry.files), "two files have the same name"


@pytest.mark.parametrize(
    "broken",
    [
        {"Toy!": _toy()},
        {"toy": []},
        {"toy": _toy() | {"colour": "red"}},
        {"toy": model()},
        {"toy": _without("sha256")},
        {"toy": _toy(sha256="1378be2")},
        {"toy": _toy(sha256="A" * 64)},
        {"toy": _toy(sha256=12345678)},
        {"toy": _toy(bytes=0)},
        {"toy": _toy(bytes=True)},
        {"toy": _toy(format="onnx")},
        {"toy": _toy(format="torch")},
        {"toy": _toy(name="weights.safetensors")},
        {"toy": _toy(name="../weights.bin")},
        {"toy": _toy(name=".hidden")},
        {"toy": _toy(sources=[])},
        {"toy": _toy(sources=["here"])},
        {"toy": _toy(sources=[{"url": "file:///etc/passwd"}])},
        {"toy": _toy(sources=[{"parts": []}])},
        {"toy": _toy(sources=[in_wheel() | {"archive": "egg"}])},
        {"toy": _toy(sources=[in_wheel() | {"version": "../1"}])},
        {"toy": _toy(sources=[in_wheel() | {"version": 1.0}])},
    ],
)
def test_the_rules_refuse(broken: dict[str, Any]) -> None:
    assert not Draft202012Validator(RULES).is_valid({"models": broken})
    assert Draft202012Validator(RULES).is_valid({"models": {"toy": _toy()}})


def test_every_model_is_in_the_users_guide() -> None:
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
