"""Published files become safetensors with the same names, shapes, types and values."""

import pickle
from contextlib import suppress
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnxruntime import InferenceSession
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
def test_convert_torch(source: Path, target: Path, wrap: object, is_zip: bool) -> None:
    torch.save(wrap(_shared()), source, _use_new_zipfile_serialization=is_zip)  # type: ignore[operator]
    convert(source, "torch", target)
    tensors = load_file(target)
    assert tensors.keys() == _shared().keys()
    for name, tensor in _shared().items():
        torch.testing.assert_close(tensors[name], tensor.detach(), rtol=0, atol=0)
    first = target.read_bytes()
    convert(source, "torch", target)
    assert target.read_bytes() == first


def test_convert_numpy_pickle(source: Path, target: Path) -> None:
    kernel = np.asfortranarray(np.arange(24, dtype=np.float32).reshape(2, 3, 4))
    source.write_bytes(pickle.dumps({"params": {"conv": kernel}, "mean": kernel[:, ::2, 0]}))
    convert(source, "numpy_pickle", target)
    tensors = load_file(target)
    np.testing.assert_array_equal(tensors["params/conv"].numpy(), kernel)
    np.testing.assert_array_equal(tensors["mean"].numpy(), kernel[:, ::2, 0])


@pytest.mark.parametrize("format", ["safetensors", "plain"])
def test_convert_without_change(source: Path, target: Path, format: str) -> None:
    save_file({"w": torch.ones(2)}, source)
    convert(source, format, target)  # type: ignore[arg-type]
    assert target.read_bytes() == source.read_bytes()


def test_convert_onnx_looks_rows_up_before_it_scales_them(source: Path, target: Path) -> None:
    table = np.arange(-20, 20, dtype=np.int8).reshape(10, 4)
    scales = np.linspace(0.1, 1, 10, dtype=np.float32)[:, None]
    save_lookup(source, {"table": table, "scales": scales})
    convert(source, "onnx", target)
    tokens = np.array([[3, 0, 9], [9, 9, 1]])
    expected = (table * scales)[tokens] + 1
    for path in (source, target):
        session = InferenceSession(path, providers=["CPUExecutionProvider"])
        np.testing.assert_allclose(session.run(None, {"tokens": tokens})[0], expected, rtol=1e-6)
    looked_up = [node.input[0] for node in onnx.load(target).graph.node if node.op_type == "Gather"]
    assert looked_up == ["table", "scales"]
    assert len(onnx.load(target).graph.node) == 5


def save_lookup(path: Path, constants: dict[str, np.ndarray]) -> None:
    """Write Gather(Cast(table) * scales, tokens) + 1 as an ONNX graph."""
    helper, float32 = onnx.helper, onnx.TensorProto.FLOAT
    nodes = [
        helper.make_node("Cast", ["table"], ["floats"], to=float32),
        helper.make_node("Mul", ["floats", "scales"], ["product"]),
        helper.make_node("Gather", ["product", "tokens"], ["rows"]),
        helper.make_node("Add", ["rows", "bias"], ["out"]),
    ]
    tokens = helper.make_tensor_value_info("tokens", onnx.TensorProto.INT64, ["B", "L"])
    out = helper.make_tensor_value_info("out", float32, None)
    arrays = {**constants, "bias": np.ones(1, np.float32)}
    tensors = [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = helper.make_graph(nodes, "lookup", [tokens], [out], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


@pytest.mark.parametrize("is_zip", [True, False])
def test_convert_damaged_torch(source: Path, target: Path, is_zip: bool) -> None:
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
