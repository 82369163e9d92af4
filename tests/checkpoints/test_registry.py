"""The registry file: what ships is sound, and every fault in one is named with its place."""

import re
from pathlib import Path
from typing import get_args

from vidsum.checkpoints import registry

OUTSIDE = registry.UrlSource | registry.HubSource  # not on the package index


def test_registry_models_and_sources() -> None:
    extractors = {"mobilenet_v2", "i3d", "googlenet", "c3d", "clip"}
    assert extractors <= registry.builtin_entries().keys()
    for entry in registry.builtin_entries().values():
        for file in entry.files:
            is_outside = all(isinstance(source, OUTSIDE) for source in file.sources)
            assert is_outside or (file.is_hash_whole and file.bytes), (entry.name, file.name)
            assert file.sha256 or entry.is_on_hub
            assert re.fullmatch(r"[\w-][\w.-]*", file.name)
            assert re.fullmatch("[0-9a-f]{8,64}|", file.sha256), (entry.name, file.name)
            assert file.format in get_args(registry.Format)
            assert file.name.endswith(".safetensors") == (file.format not in ("onnx", "plain"))
            for source in file.sources:
                assert re.fullmatch("main|[0-9a-f]{40}", getattr(source, "revision", "main"))
                assert getattr(source, "url", "https://").startswith("https://")
        assert re.fullmatch("[a-z][a-z0-9_-]*", entry.name)
        assert len({file.name for file in entry.files}) == len(entry.files), "two files have the same name"
        sources = [source for file in entry.files for source in file.sources]
        assert entry.instead or not all(isinstance(source, OUTSIDE) for source in sources)


def test_page_lists_the_models() -> None:
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
