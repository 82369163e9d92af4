"""Fixtures of the checkpoint tests: an empty cache, a server of their own, registries made up for a test."""

import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.checkpoints.server import Server, running_server
from vidsum.checkpoints import package_index, registry
from vidsum.io import network

UseRegistry = Callable[[dict[str, Any]], dict[str, registry.RegistryEntry]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty VIDSUM_HOME."""
    folder = tmp_path / "home"
    monkeypatch.setenv("VIDSUM_HOME", str(folder))
    monkeypatch.delenv("VIDSUM_OFFLINE", raising=False)
    return folder


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server, set up as the one package index that this process and its children know; no pauses."""
    monkeypatch.setattr(network, "PAUSE_S", 0.0)
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(package_index, "pip_settings", dict)
    with running_server() as running:
        monkeypatch.setenv("PIP_INDEX_URL", running.index_url)
        yield running


@pytest.fixture
def hub_server(home: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """A server in the place of the Hugging Face Hub, whose cache is in VIDSUM_HOME."""
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.setenv("HF_HUB_CACHE", str(home / "hub"))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    return server


@pytest.fixture
def use_registry(monkeypatch: pytest.MonkeyPatch) -> UseRegistry:
    def use(models: dict[str, Any]) -> dict[str, registry.RegistryEntry]:
        entries = registry.parse(yaml.safe_dump({"models": models}))
        monkeypatch.setattr(registry, "builtin_entries", lambda: entries)
        return entries

    return use


def model(*files: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A model of a registry, as YAML has it."""
    return {"purpose": "to be tested", "licence": "MIT", "files": list(files), **fields}


def file_of(
    content: bytes, *sources: dict[str, Any], name: str = "weights.bin", format: str = "plain"
) -> dict[str, Any]:
    """A file of a registry, as YAML has it, whose published content is `content`."""
    return {
        "name": name,
        "format": format,
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
        "sources": list(sources) or [{"url": "http://127.0.0.1:9/nothing"}],
    }


def in_wheel(member: str = "toy/weights.bin", package: str = "toy") -> dict[str, str]:
    """A source in version 1.0 of a package's wheel."""
    return {"package": package, "version": "1.0", "archive": "wheel", "member": member}


def child_environ() -> dict[str, str]:
    """This process's environment, for a Python process that is to import what this one can."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
