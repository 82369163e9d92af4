"""Published files become safetensors with the same names, shapes, types and values."""

import pickle
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from vidsum.checkpoints.obtain import convert
from vidsum.errors import WeightsError


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tmp_path / "published"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "kept.safetensors"


def _shared() -> dict[str, torch.Tensor]:
    base = torch.arange(12.0).reshape(3, 4)
    return {
        "base": base, "same": base, "column": base[:, 1], "turned": base.t(), "half": base.half(),
        "n": torch.tensor(3), "none": torch.zeros(0, 2), "parameter": torch.nn.Parameter(torch.ones(2, 3)),
    }  # fmt: skip


@pytest.mark.parametrize("is_zip", [True, False])
@pytest.mark.parametrize("wrap", [lambda state: state, lambda state: {"epoch": 3, "state_dict": state}])
def test_torch_file_keeps_its_tensors(source: Path, target: Path, wrap: object, is_zip: bool) -> None:
    torch.save(wrap(_shared()), source, _use_new_zipfile_serialization=is_zip)  # type: ignore[operator]
    convert(source, "torch", target)
    tensors = load_file(target)
    assert tensors.keys() == _shared().keys()
    for name, tensor in _shared().items():
        torch.testing.assert_close(tensors[name], tensor.detach(), rtol=0, atol=0)
    first = target.read_bytes()
    convert(source, "torch", target)
    assert target.read_bytes() == first


def test_pickled_arrays_of_any_order_are_converted(source: Path, target: Path) -> None:
    kernel = np.asfortranarray(np.arange(24, dtype=np.float32).reshape(2, 3, 4))
    source.write_bytes(pickle.dumps({"params": {"conv": kernel}, "mean": kernel[:, ::2, 0]}))
    convert(source, "numpy_pickle", target)
    tensors = load_file(target)
    np.testing.assert_array_equal(tensors["params/conv"].numpy(), kernel)
    np.testing.assert_array_equal(tensors["mean"].numpy(), kernel[:, ::2, 0])


@pytest.mark.parametrize("format", ["safetensors", "plain"])
def test_file_that_needs_no_conversion_is_copied(source: Path, target: Path, format: str) -> None:
    save_file({"w": torch.ones(2)}, source)
    convert(source, format, target)  # type: ignore[arg-type]
    assert target.read_bytes() == source.read_bytes()


@pytest.mark.parametrize("is_zip", [True, False])
def test_damaged_torch_file_is_an_error_of_ours(source: Path, target: Path, is_zip: bool) -> None:
    torch.save(_shared(), source, _use_new_zipfile_serialization=is_zip)
    whole = source.read_bytes()
    for place in range(0, len(whole), 37):
        for damaged in (whole[:place], whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :]):
            source.write_bytes(damaged)
            with suppress(WeightsError):
                convert(source, "torch", target)
    source.write_bytes(b"<html>not found</html>")
    with pytest.raises(WeightsError, match="not a torch file"):
        convert(source, "torch", target)
