"""The network of MiniLM that a recipe makes: the numbers of the published one."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnxruntime import InferenceSession

from tests.conftest import real_weights
from vidsum.errors import WeightsError
from vidsum.weights.recipes.minilm import narrow_tables
from vidsum.weights.recipes.sources import fetch_source


def test_rows_are_looked_up_before_they_are_scaled(tmp_path: Path) -> None:
    source, target = tmp_path / "published.onnx", tmp_path / "narrow.onnx"
    table = np.arange(-20, 20, dtype=np.int8).reshape(10, 4)
    scales = np.linspace(0.1, 1, 10, dtype=np.float32)[:, None]
    save_lookup(source, {"table": table, "scales": scales})
    narrow_tables(source, target)
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


@pytest.mark.deep
@pytest.mark.weights
def test_shipped_network_is_made_by_the_recipe(tmp_path: Path) -> None:
    try:
        source = fetch_source("minilm")
    except WeightsError as error:
        pytest.skip(f"no weights of minilm: {error}")
    narrow_tables(source, tmp_path / "minilm.onnx")
    assert (tmp_path / "minilm.onnx").read_bytes() == (real_weights("minilm") / "minilm.onnx").read_bytes()
