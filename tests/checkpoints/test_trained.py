"""Checkpoints of our own training: what is written is read again, and nothing else is taken for one."""

import json
import resource
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

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


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    written = _trained()
    save_trained(tmp_path / "m.safetensors", written)
    read = read_trained(tmp_path / "m.safetensors")
    for name in ("model", "config", "features", "training"):
        assert getattr(read, name) == getattr(written, name)
    assert read.tensors.keys() == written.tensors.keys()
    for name, tensor in written.tensors.items():
        assert torch.equal(read.tensors[name], tensor)
        assert read.tensors[name].dtype == tensor.dtype


def test_arrays_in_column_order_are_read_again(tmp_path: Path) -> None:
    columns = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    save_trained(path := tmp_path / "vse.safetensors", Trained("vse", {}, {}, {}, {"x": columns}))
    assert np.array_equal(read_trained(path).tensors["x"], columns)


def test_same_content_gives_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        save_trained(tmp_path / name, _trained())
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="no folder"):
        save_trained(tmp_path / "none" / "m.safetensors", _trained())


def test_a_file_that_does_not_fit_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, hard))
    try:
        with pytest.raises(OutputError, match=r"m\.safetensors: cannot be written"):
            save_trained(tmp_path / "m.safetensors", _trained())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not list(tmp_path.iterdir())


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_trained(tmp_path / "none.safetensors")
    with pytest.raises(InputError, match="is not a file"):
        read_trained(tmp_path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not one", b"\xff" * 64])
def test_another_kind_of_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "m.safetensors").write_bytes(content)
    with pytest.raises(InputError, match="cannot be read as safetensors"):
        read_trained(tmp_path / "m.safetensors")


def test_a_file_cut_short_is_refused(tmp_path: Path) -> None:
    save_trained(tmp_path / "m.safetensors", _trained())
    whole = (tmp_path / "m.safetensors").read_bytes()
    (tmp_path / "m.safetensors").write_bytes(whole[:-8])
    with pytest.raises(InputError, match="cannot be read as safetensors"):
        read_trained(tmp_path / "m.safetensors")


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (None, "does not say of which model"),
        ({"format": "pt"}, "does not say of which model"),
        ({"vidsum": "{"}, "metadata: cannot be read as JSON"),
        ({"vidsum": "[1]"}, "is not a JSON object"),
        ({"vidsum": '{"schema": "vidsum.checkpoint/9"}'}, "'vidsum.checkpoint/9', not 'vidsum.checkpoint/1'"),
        ({"vidsum": '{"schema": "vidsum.checkpoint/1"}'}, "no model"),
        (
            {"vidsum": json.dumps({"schema": "vidsum.checkpoint/1", "model": "x", "config": 3})},
            "has no config",
        ),
    ],
)
def test_tensors_without_our_metadata_are_refused(
    tmp_path: Path, metadata: dict[str, str] | None, message: str
) -> None:
    save_file({"a": torch.zeros(1)}, tmp_path / "m.safetensors", metadata=metadata)
    with pytest.raises(InputError, match=message):
        read_trained(tmp_path / "m.safetensors")


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (torch.tensor([[float("nan")]]), "NaN"),
        (torch.tensor([[1j]]), "do not fit together"),
        (torch.zeros(2, 2), "do not fit together"),
    ],
)
def test_weights_that_no_model_can_have_are_refused(weight: torch.Tensor, message: str) -> None:
    trained = _trained(tensors={"weight": weight})
    with pytest.raises(InputError, match=message):
        build_trained(
            trained, "fulltransnet", lambda config: torch.nn.Linear(1, 1, bias=False), "m.safetensors"
        )


@pytest.mark.parametrize("layers", [10**18, 10**400, "two", -1])
def test_sizes_that_no_model_has_are_refused(layers: Any) -> None:
    def make(config: Mapping[str, Any]) -> torch.nn.Module:
        return (
            torch.nn.Linear(1, 1) if config["layers"] == 1 else torch.nn.ModuleList([None] * config["layers"])
        )

    with pytest.raises(InputError, match="do not fit together"):
        build_trained(_trained(config={"layers": layers}), "fulltransnet", make, "m.safetensors")


def test_tensors_of_another_schema_are_kept_apart(tmp_path: Path) -> None:
    write_tensors(tmp_path / "s.safetensors", "vidsum.state/1", {"epoch": 3}, {"a": torch.zeros(2)})
    facts, tensors = read_tensors(tmp_path / "s.safetensors", "vidsum.state/1")
    assert facts["epoch"] == 3
    assert list(tensors) == ["a"]
    with pytest.raises(InputError, match=r"'vidsum\.state/1', not"):
        read_trained(tmp_path / "s.safetensors")
