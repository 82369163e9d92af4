"""Checkpoints of our own training: round trips, and errors of other files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from tests.full_disk import files_up_to
from vidsum.checkpoints.trained import (
    Trained,
    build_trained,
    read_tensors,
    read_trained,
    save_trained,
    write_tensors,
)
from vidsum.errors import InputError, OutputError


def _trained(**changes: Any) -> Trained:
    shared = torch.arange(6, dtype=torch.float32)
    fields: dict[str, Any] = {
        "model": "fulltransnet",
        "config": {"d": 64, "attention": "local-global"},
        "features": {"extractor": "mobilenet_v2", "dim": 1280, "fps": 2.0},
        "training": {"seed": 0, "data": ["tvsum.h5"]},
        "tensors": {"a": shared.view(2, 3).t(), "b": shared, "half": torch.ones(2, dtype=torch.float16)},
    }
    return Trained(**{**fields, **changes})


def test_save_trained_errors(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="no folder"):
        save_trained(tmp_path / "none" / "m.safetensors", _trained())
    with files_up_to(64), pytest.raises(OutputError, match=r"m\.safetensors: cannot be written"):
        save_trained(tmp_path / "m.safetensors", _trained())
    assert not list(tmp_path.iterdir())
    written = _trained()
    save_trained(tmp_path / "m.safetensors", written)
    read = read_trained(tmp_path / "m.safetensors")
    for name in ("model", "config", "features", "training"):
        assert getattr(read, name) == getattr(written, name)
    assert read.tensors.keys() == written.tensors.keys()
    for name, tensor in written.tensors.items():
        assert torch.equal(read.tensors[name], tensor)
        assert read.tensors[name].dtype == tensor.dtype
    save_trained(tmp_path / "again", written)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m.safetensors").read_bytes()
    columns = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    save_trained(tmp_path / "vse", Trained("vse", {}, {}, {}, {"x": columns}))
    assert np.array_equal(read_trained(tmp_path / "vse").tensors["x"], columns)
    write_tensors(tmp_path / "s.safetensors", "vidsum.state/1", {"epoch": 3}, {"a": torch.zeros(2)})
    facts, tensors = read_tensors(tmp_path / "s.safetensors", "vidsum.state/1")
    assert facts["epoch"] == 3
    assert list(tensors) == ["a"]
    with pytest.raises(InputError, match=r"'vidsum\.state/1', not"):
        read_trained(tmp_path / "s.safetensors")
    path = tmp_path / "m.safetensors"
    for name, message in (("none", "no such file"), ("", "is not a file")):
        with pytest.raises(InputError, match=message):
            read_trained(tmp_path / name)
    save_trained(path, _trained())
    for content in (b"", b"PK\x03\x04 not one", b"\xff" * 64, path.read_bytes()[:-8]):
        path.write_bytes(content)
        with pytest.raises(InputError, match="cannot be read as safetensors"):
            read_trained(path)


@pytest.mark.parametrize(("metadata", "message"), [
    (None, "does not say of which model"),
    ({"format": "pt"}, "does not say of which model"),
    ({"vidsum": "{"}, "metadata: cannot be read as JSON"),
    ({"vidsum": "[1]"}, "is not a JSON object"),
    ({"vidsum": '{"schema": "vidsum.checkpoint/9"}'}, "'vidsum.checkpoint/9', not 'vidsum.checkpoint/1'"),
    ({"vidsum": '{"schema": "vidsum.checkpoint/1"}'}, "no model"),
    ({"vidsum": '{"schema": "vidsum.checkpoint/1", "model": "x", "config": 3}'}, "has no config"),
])  # fmt: skip
def test_read_trained_bad_metadata(tmp_path: Path, metadata: dict[str, str] | None, message: str) -> None:
    save_file({"a": torch.zeros(1)}, tmp_path / "m.safetensors", metadata=metadata)
    with pytest.raises(InputError, match=message):
        read_trained(tmp_path / "m.safetensors")


@pytest.mark.parametrize(("weight", "message"), [
    (torch.tensor([[float("nan")]]), "NaN"),
    (torch.tensor([[1j]]), "do not fit together"),
    (torch.zeros(2, 2), "do not fit together"),
])  # fmt: skip
def test_build_trained_bad_weights(weight: torch.Tensor, message: str) -> None:
    trained = _trained(tensors={"weight": weight})
    with pytest.raises(InputError, match=message):
        build_trained(trained, "fulltransnet", lambda _: torch.nn.Linear(1, 1, bias=False), "m.safetensors")


@pytest.mark.parametrize("layers", [10**18, 10**400, "two", -1])
def test_build_trained_bad_sizes(layers: Any) -> None:
    def make(config: Mapping[str, Any]) -> torch.nn.Module:
        return torch.nn.ModuleList([torch.nn.Linear(1, 1)] * config["layers"])

    with pytest.raises(InputError, match="do not fit together"):
        build_trained(_trained(config={"layers": layers}), "fulltransnet", make, "m.safetensors")
