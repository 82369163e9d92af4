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


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.safetensors"


def linear(_: Mapping[str, Any]) -> torch.nn.Linear:
    return torch.nn.Linear(1, 1, bias=False)


def test_weights_of_nan_are_refused_and_others_are_not() -> None:
    fine, odd = (_trained(tensors={"weight": torch.tensor([[number]])}) for number in (2.0, float("nan")))
    assert build_trained(fine, "fulltransnet", linear, "m.safetensors").weight.item() == 2
    with pytest.raises(InputError, match="NaN"):
        build_trained(odd, "fulltransnet", linear, "m.safetensors")


def test_model_that_is_built_does_not_train() -> None:
    trained = _trained(tensors={"weight": torch.ones(1, 1)})
    assert not build_trained(trained, "fulltransnet", linear, "m.safetensors").training


def test_checkpoint_of_another_model_is_refused() -> None:
    with pytest.raises(InputError, match="a checkpoint of fulltransnet, not of mrnet"):
        build_trained(_trained(), "mrnet", linear, "m.safetensors")


def test_weights_of_half_precision_are_used_in_single() -> None:
    trained = _trained(tensors={"weight": torch.ones(1, 1, dtype=torch.float16)})
    assert build_trained(trained, "fulltransnet", linear, "m.safetensors").weight.dtype == torch.float32


def test_checkpoint_in_a_missing_folder_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="no folder"):
        save_trained(tmp_path / "none" / "m.safetensors", _trained())


def test_checkpoint_that_does_not_fit_on_the_disk_leaves_no_file(path: Path) -> None:
    with files_up_to(64), pytest.raises(OutputError, match=r"m\.safetensors: cannot be written"):
        save_trained(path, _trained())
    assert not list(path.parent.iterdir())


def test_facts_of_a_checkpoint_are_read_back(path: Path) -> None:
    save_trained(path, _trained())
    read = read_trained(path)
    for name in ("model", "config", "features", "training"):
        assert getattr(read, name) == getattr(_trained(), name)


def test_tensors_of_a_checkpoint_are_read_back_with_their_types(path: Path) -> None:
    written = _trained()
    save_trained(path, written)
    read = read_trained(path)
    assert read.tensors.keys() == written.tensors.keys()
    for name, tensor in written.tensors.items():
        assert torch.equal(read.tensors[name], tensor)
        assert read.tensors[name].dtype == tensor.dtype


def test_same_checkpoint_has_the_same_bytes(path: Path) -> None:
    written = _trained()
    save_trained(path, written)
    save_trained(path.with_name("again"), written)
    assert path.with_name("again").read_bytes() == path.read_bytes()


def test_array_in_column_order_is_read_back(path: Path) -> None:
    columns = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    save_trained(path, Trained("vse", {}, {}, {}, {"x": columns}))
    assert np.array_equal(read_trained(path).tensors["x"], columns)


def test_facts_and_tensors_of_another_schema_are_read_back(path: Path) -> None:
    write_tensors(path, "vidsum.state/1", {"epoch": 3}, {"a": torch.zeros(2)})
    facts, tensors = read_tensors(path, "vidsum.state/1")
    assert (facts["epoch"], list(tensors)) == (3, ["a"])


def test_file_of_another_schema_is_no_checkpoint(path: Path) -> None:
    write_tensors(path, "vidsum.state/1", {"epoch": 3}, {"a": torch.zeros(2)})
    with pytest.raises(InputError, match=r"'vidsum\.state/1', not"):
        read_trained(path)


@pytest.mark.parametrize(("name", "message"), [("none", "no such file"), ("", "is not a file")])
def test_missing_checkpoint_or_folder_is_refused(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_trained(tmp_path / name)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not one", b"\xff" * 64, None])
def test_damaged_checkpoint_is_refused(path: Path, content: bytes | None) -> None:
    save_trained(path, _trained())
    path.write_bytes(path.read_bytes()[:-8] if content is None else content)
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
def test_checkpoint_of_others_is_refused(
    tmp_path: Path, metadata: dict[str, str] | None, message: str
) -> None:
    save_file({"a": torch.zeros(1)}, tmp_path / "m.safetensors", metadata=metadata)
    with pytest.raises(InputError, match=message):
        read_trained(tmp_path / "m.safetensors")


@pytest.mark.parametrize(("weight", "message"), [
    (torch.tensor([[1j]]), "do not fit together"),
    (torch.zeros(2, 2), "do not fit together"),
])  # fmt: skip
def test_weights_that_do_not_fit_their_network_are_refused(weight: torch.Tensor, message: str) -> None:
    trained = _trained(tensors={"weight": weight})
    with pytest.raises(InputError, match=message):
        build_trained(trained, "fulltransnet", linear, "m.safetensors")


@pytest.mark.parametrize("layers", [10**18, 10**400, "two", -1])
def test_sizes_that_no_network_has_are_refused(layers: Any) -> None:
    def make(config: Mapping[str, Any]) -> torch.nn.Module:
        return torch.nn.ModuleList([torch.nn.Linear(1, 1)] * config["layers"])

    with pytest.raises(InputError, match="do not fit together"):
        build_trained(_trained(config={"layers": layers}), "fulltransnet", make, "m.safetensors")
