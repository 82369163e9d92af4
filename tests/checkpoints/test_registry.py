"""The registry file: what ships is sound, and every fault in one is named with its place."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.checkpoints.conftest import file_of, in_wheel, model
from vidsum.checkpoints import registry
from vidsum.errors import UsageError, WeightsError

HEX = "0123456789abcdef"


def test_registry_that_ships_has_the_models_of_the_extractors() -> None:
    assert {"mobilenet_v2", "i3d", "googlenet", "c3d", "clip", "transnetv2"} <= registry.builtin().keys()


def test_files_from_the_package_index_have_their_whole_hash_and_length() -> None:
    for entry in registry.builtin().values():
        for file in entry.files:
            only_urls = all(isinstance(source, registry.UrlSource) for source in file.sources)
            assert only_urls or (file.is_hash_whole and file.bytes), (entry.name, file.name)


def test_models_that_no_package_holds_say_what_to_do_instead() -> None:
    for entry in registry.builtin().values():
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


def _as_yaml(entry: registry.Entry) -> dict[str, Any]:
    files = []
    for file in entry.files:
        fields = {"name": file.name, "format": file.format, "sha256": file.sha256, "bytes": file.bytes}
        sources = [_source_as_yaml(source) for source in file.sources]
        files.append(
            {key: value for key, value in fields.items() if value is not None} | {"sources": sources}
        )
    fields = {"purpose": entry.purpose, "licence": entry.licence, "files": files, "instead": entry.instead}
    return {key: value for key, value in fields.items() if value is not None}


def _source_as_yaml(source: registry.Source) -> dict[str, Any]:
    if isinstance(source, registry.JoinedSource):
        return {"parts": [vars(part) for part in source.parts]}
    return dict(vars(source))


def _toy(**changes: Any) -> dict[str, Any]:
    return model({**file_of(b"toy", in_wheel()), **changes})


def _without(key: str) -> dict[str, Any]:
    toy = _toy()
    del toy["files"][0][key]
    return toy


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"Toy!": _toy()}, r"Toy!"),
        ({"toy": []}, r"toy: must be a mapping, not list"),
        ({"toy": _toy() | {"colour": "red"}}, r"toy: unknown colour"),
        ({"toy": model()}, r"toy\.files: an empty list"),
        ({"toy": model(file_of(b"a"), file_of(b"b"))}, r"two files have the same name"),
        ({"toy": _without("sha256")}, r"toy\.files\[0\]: lacks sha256"),
        ({"toy": _toy(sha256="1378be2")}, r"files\[0\]\.sha256"),
        ({"toy": _toy(sha256="A" * 64)}, r"files\[0\]\.sha256"),
        ({"toy": _toy(sha256=12345678)}, r"sha256: must be str, not 12345678"),
        ({"toy": _toy(bytes=0)}, r"bytes: must be positive"),
        ({"toy": _toy(bytes=True)}, r"bytes: must be int, not True"),
        ({"toy": _toy(format="onnx")}, r"files\[0\]\.format"),
        ({"toy": _toy(format="torch")}, r"\.safetensors"),
        ({"toy": _toy(name="weights.safetensors")}, r"\.safetensors"),
        ({"toy": _toy(name="../weights.bin")}, r"files\[0\]\.name"),
        ({"toy": _toy(name=".hidden")}, r"files\[0\]\.name"),
        ({"toy": _toy(sources=[])}, r"files\[0\]\.sources: an empty list"),
        ({"toy": _toy(sources=["here"])}, r"sources\[0\]: must be a mapping"),
        ({"toy": _toy(sources=[{"url": "file:///etc/passwd"}])}, r"sources\[0\]\.url"),
        ({"toy": _toy(sources=[{"parts": []}])}, r"sources\[0\]\.parts: an empty list"),
        ({"toy": _toy(sources=[in_wheel() | {"archive": "egg"}])}, r"sources\[0\]\.archive"),
        ({"toy": _toy(sources=[in_wheel() | {"version": "../1"}])}, r"sources\[0\]\.version"),
        ({"toy": _toy(sources=[in_wheel() | {"version": 1.0}])}, r"version: must be str, not 1\.0"),
    ],
)
def test_fault_is_named_with_its_place(broken: dict[str, Any], message: str) -> None:
    with pytest.raises(WeightsError, match=message):
        registry.parse(yaml.safe_dump({"models": broken}))


@pytest.mark.parametrize("text", ["", "[]", "models: 3", "{", "models: {}\nmore: 1"])
def test_text_that_is_no_registry(text: str) -> None:
    with pytest.raises(WeightsError, match="registry"):
        registry.parse(text)


def test_every_model_is_in_the_users_guide() -> None:
    page = Path(__file__).parents[2] / "docs" / "weights.md"
    row = r"^\| ((?:`[\w-]+`(?:, )?)+) \| .* \| ([\d.]+(?: to [\d.]+)?|unknown) \| (\S+) \|"
    rows = re.findall(row, page.read_text(), re.MULTILINE)
    listed = {name: cells for names, *cells in rows for name in re.findall(r"[\w-]+", names)}
    known = registry.builtin()
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
